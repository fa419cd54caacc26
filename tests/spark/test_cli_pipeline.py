"""`whence pipeline`, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests import commands

import whence as wh
from whence.cli._group import whence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUSTOMERS = "id,name,city\n1,ann,Oslo\n2,bob,\n3,cid,Oslo\n"
ORDERS = "id,customer,amount\n10,1,5.50\n11,1,4.00\n12,2,9.25\n13,3,1.00\n"
SPENT = """-- what each city; spends
create temporary view spending as
  select city, amount from orders join customers on customer = customers.id where city <> ';' or city is null;
select city, sum(amount) as spent from spending group by city;
drop view spending;
"""
BUILD = """
from pyspark.sql import functions as F
TIMES = 2
def twice(n):  # travels to Spark's workers, which cannot import this file
    return n * TIMES
def build(spark):
    print("building")
    orders = spark.read.csv({orders!r}, header=True, inferSchema=True)
    counts = orders.groupBy("customer").agg(F.count("*").alias("n"))
    return counts.withColumn("twice", F.udf(twice, "int")("n")), {{"bought": orders}}
"""


@pytest.fixture(autouse=True)
def shop(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    Path("customers.csv").write_text(CUSTOMERS)
    Path("orders.csv").write_text(ORDERS)
    Path("spent.sql").write_text(SPENT)
    Path("counts.py").write_text(BUILD.format(orders=str(tmp_path / "orders.csv")))
    return tmp_path


SOURCES = ("--source", "customers=customers.csv", "--source", "orders.csv")


run = partial(commands.run, "pipeline")
run_json = partial(commands.run_json, "pipeline")


def test_a_row_back_to_its_sources() -> None:
    found = run_json("spent.sql", *SOURCES, "--row", "city=Oslo", "--row", "spent=10.5")
    assert (found["precise"], found["how"]) == (True, "replayed")
    assert found["asked"] == [{"city": "Oslo", "spent": 10.5}]
    assert [row["id"] for row in found["sources"]["orders"]["rows"]] == [10, 11, 13]
    assert found["sources"]["customers"]["rows"] == [
        {"id": 1, "name": "ann", "city": "Oslo"},
        {"id": 3, "name": "cid", "city": "Oslo"},
    ]
    assert any(line.lstrip().startswith("Join inner on") for line in found["plan"])
    assert not list(Path().glob("*.whence")), "a question makes no log"


def test_as_a_person_sees_it() -> None:
    result = run("spent.sql", *SOURCES, "--null", "city", "--places", "--columns", "--limit", "1")
    assert result.exit_code == 0, result.output
    plan, columns, said, orders, customers = result.output.split("\n\n")
    assert plan.startswith("Aggregate by city")
    assert columns.splitlines()[-1].split()[:2] == ["spent", "orders.amount"]
    assert said == "The lineage of the row city = NULL: precise"
    assert customers.startswith("customers: 1 row\n")
    assert orders.splitlines()[1].split() == ["id", "customer", "amount", "_row"]
    assert orders.splitlines()[-1].split() == ["12", "2", "9.25", "2"]


def test_the_output_when_nothing_is_asked() -> None:
    result = run("spent.sql", *SOURCES, "--limit", "1")
    assert "\n\nThe output: 2 rows\n" in result.output
    assert result.output.endswith("... 1 row more (--limit)\n")


def test_a_source_row_forward_from_python() -> None:
    found = run_json("counts.py", "--forward", "bought", "--row", "id=11")
    assert (found["direction"], found["source"]) == ("forward", "bought")
    assert (found["precise"], found["reason"]) == (True, None)
    assert found["output"] == {"count": 1, "rows": [{"customer": 1, "n": 2, "twice": 4}]}


def test_forward_says_that_it_is_a_superset() -> None:
    Path("opaque.py").write_text(
        "def build(spark):\n"
        f"    orders = spark.read.csv({str(Path('orders.csv').resolve())!r}, header=True, inferSchema=True)\n"
        "    def same(parts):\n"
        "        yield from parts\n"
        "    return orders.mapInPandas(same, orders.schema), {'bought': orders}\n"
    )
    found = run_json("opaque.py", "--forward", "bought", "--row", "id=11")
    assert found["precise"] is False
    assert "same" in found["reason"]
    assert found["output"]["count"] == 4
    shown = run("opaque.py", "--forward", "bought", "--row", "id=11").output
    assert "This is a superset, because MapInPandas(same) is opaque" in shown


def test_many_rows_into_files_and_a_run_into_the_log() -> None:
    Path("rows.json").write_text('{"city": "Oslo"}\n{"city": null}\n')
    arguments = ("--rows", "rows.json", "--out", "made/lineage.csv", "--run", "--log", "shop.whence")
    found = run_json("spent.sql", *SOURCES, *arguments)
    assert (found["output"]["count"], found["how"]) == (2, "saved")
    assert sorted(found["written"]) == ["made/lineage-customers.csv", "made/lineage-orders.csv"]
    assert len(Path("made/lineage-orders.csv").read_text().splitlines()) == 5
    assert Path("shop.whence").is_dir()
    found = run_json("counts.py", "--row", "customer=1", "--out", "lineage.parquet")
    assert found["written"] == ["lineage.parquet"]
    with wh.open("shop.whence") as log:
        assert log.check().ok


def test_files_of_other_kinds(spark: SparkSession, shop: Path) -> None:
    Path("orders.json").write_text('[{"id": 1,\n "customer": 1, "amount": 2.5}]')
    spark.read.json(str(shop / "orders.json"), multiLine=True).write.partitionBy("customer").orc(str(shop / "ours"))
    for place in ("orders.json", "ours"):
        found = run_json("spent.sql", "--source", "customers=customers.csv", "--source", f"orders={place}")
        assert found["output"]["rows"] == [{"city": "Oslo", "spent": 2.5}]


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        (SPENT, ("--source", "orders.csv"), "spent.sql:3: there is no table or view 'customers': give its data with"),
        (SPENT, ("--source", "custmers=customers.csv"), "there is no table or view 'orders'"),
        ("select * from custmers", SOURCES, "there is no table or view 'custmers'; did you mean 'customers'?"),
        ("\nselect id,\n frm orders where", SOURCES, "spent.sql:3: Syntax error at or near"),
        ("select amnt from orders", SOURCES, "spent.sql:1: A column, variable, or function parameter with name `amnt`"),
        ("select cast(name as int) as c from customers", SOURCES, "The value 'ann' of the type \"STRING\" cannot be"),
        ("create table t as select 1; select * from t", SOURCES, "spent.sql:1: CreateTableAsSelect changes data"),
        ("with a as (select 1) insert into t select * from a", SOURCES, "InsertIntoStatement changes data"),
        ("select 1;\nselect 2", SOURCES, "spent.sql:2: this is a second query"),
        ("-- nothing\n;", SOURCES, "spent.sql has no query"),
        (SPENT, ("--source", "orders=gone.csv"), "there is no file or directory gone.csv"),
        (SPENT, ("--source", "orders=spent.sql"), "the format is not known"),
        (SPENT, (*SOURCES, "--row", "town=Oslo"), "there is no column 'town'; there are city, spent"),
        (SPENT, (*SOURCES, "--row", "spent=much"), "column 'spent' is of type double; 'much' is not"),
        (SPENT, (*SOURCES, "--row", "spent="), "for NULL, say --null spent"),
        (SPENT, (*SOURCES, "--row", "city=Rome"), "no row of the output is {city: 'Rome'}"),
        (SPENT, (*SOURCES, "--row", "city=Oslo", "--out", "a.xls"), "the file ends in one of .parquet, .csv, .json"),
        (SPENT, (*SOURCES, "--forward", "order", "--row", "id=1"), "there is no source 'order'; did you mean 'orders'"),
        (SPENT, (*SOURCES, "--forward", "orders"), "give a row of it"),
        (SPENT, ("--row", "city"), "--row city: write NAME=VALUE"),
        (SPENT, (*SOURCES, "--source", "new/orders.csv"), "--source gives orders twice: orders.csv and new/orders.csv"),
    ],
)
def test_a_mistake_is_one_sentence(script: str, arguments: tuple[str, ...], message: str) -> None:
    Path("spent.sql").write_text(script)
    result = run("spent.sql", *arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert "\tat " not in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("df = 1\n", "own.py has no function build(spark)"),
        ("def build(spark):\n    return 1 / 0\n", "own.py:2: ZeroDivisionError: division by zero"),
        ("def build(spark)\n", "own.py:1: SyntaxError"),
        ("def build(spark): return None\n", "build(spark) returned NoneType"),
        ("def build(spark): return 3\n", "a pipeline is a PySpark DataFrame, not int"),
        ("def build(spark):\n    return spark.table('ordrs')\n", "there is no table or view 'ordrs'; did you mean"),
    ],
)
def test_mistakes_in_python(code: str, message: str) -> None:
    Path("own.py").write_text(code)
    result = run("own.py", *SOURCES)
    assert result.exit_code == 1
    assert message in result.stderr


def test_the_demo_can_be_run_again() -> None:
    for _ in range(2):
        result = CliRunner().invoke(whence, ["demo", "--only", "rows"])
        assert result.exit_code == 0, result.output
        assert result.output.count(" the same ") == 5
    command = result.output.splitlines()[-1].partition("whence pipeline ")[2].split()
    found = run_json(*command)
    assert (found["precise"], found["how"]) == (True, "saved"), "the log has what a question needs"


def test_a_real_process_is_quiet(shop: Path) -> None:
    program = Path(sys.executable).with_name("whence")
    arguments = ("spent.sql", *SOURCES, "--row", "city=Oslo", "--json", "--conf", "spark.sql.shuffle.partitions=1")
    done = subprocess.run([program, "pipeline", *arguments], capture_output=True, text=True, check=False, timeout=500)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["sources"]["orders"]["count"] == 3
