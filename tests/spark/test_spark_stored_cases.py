"""Runs that are asked later: pinned runs, users' functions, other formats, and all that can be missing by then."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whence as wh
from whence.errors import (
    BadType,
    Damaged,
    FutureVersion,
    MissingExtra,
    NoSuchRow,
    NotTraceable,
    OutOfRange,
    SourceChanged,
    UnknownName,
)
from whence.spark.stored import StoredRun
from whence.spark.stored.session import SessionOnDemand
from whence.store.catalog import schema as t
from whence.testing.stored import written_over

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.spark.pipeline import Pipeline


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "later.whence") as log:
        yield log


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No session for stored runs: they are asked as in a program without pyspark."""

    def missing(_: object) -> None:
        raise MissingExtra("this question needs Spark, says the test")

    monkeypatch.setattr(SessionOnDemand, "real", property(missing))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    orders = pa.table(
        {"id": pa.array(range(12), pa.int64()), "who": list("abcabcabcabc"), "price": [each * 5 for each in range(12)]}
    )
    pq.write_table(orders, tmp_path / "orders.parquet")
    pq.write_table(pa.table({"name": list("abcd"), "city": ["Oslo", "Bergen", "Oslo", None]}), tmp_path / "who.parquet")
    return tmp_path


@pytest.fixture
def views(spark: SparkSession, shop: Path) -> Path:
    spark.read.parquet(str(shop / "orders.parquet")).createOrReplaceTempView("orders")
    spark.read.parquet(str(shop / "who.parquet")).createOrReplaceTempView("who")
    return shop


TOTALS = "select city, sum(price) as total, count(*) as n from orders join who on who = name group by city"


def later(log: wh.Log) -> StoredRun:
    """The last run, as another program finds it."""
    return log.runs()[-1]


def told(rows: Any) -> list[str]:
    return sorted(map(str, rows.to_pylist()))


def same(pipeline: Pipeline, run: StoredRun, row: Any) -> None:
    """Both ways, and whole rows."""
    now, then = pipeline.backward(row), run.backward(row)
    assert (now.precise, now.rows, list(now)) == (then.precise, then.rows, list(then))
    for name in now:
        assert told(then.identities(name)) == told(now.identities(name))
        assert told(then.arrow(name)) == told(now.arrow(name))
        for each in now.arrow(name).slice(0, 1).to_pylist():
            reached, known = run.forward(name, each), pipeline.forward(name, each)
            assert reached.precise == known.precise
            assert reached.count() == known.count()
            assert sorted(map(str, reached.arrow().to_pylist())) == sorted(map(str, known.arrow().to_pylist()))


# --- what it is and what it says


def test_a_run_is_listed_and_asked(spark: SparkSession, views: Path, log: wh.Log, alone: None) -> None:
    pipeline = log.pipeline(spark.sql(TOTALS), name="totals")
    rows = pipeline.run().collect()
    run = later(log)
    assert (run.pipeline, set(run.sources), run.columns, run.rows) == (
        "totals",
        {"orders", "who"},
        ("city", "total", "n"),
        2,
    )
    assert "totals    orders, who  2" in repr(log.runs())
    assert "<td>totals</td>" in log.runs()._repr_html_()
    assert run.output_rows([1, 0]).to_pylist() == [rows[1].asDict(), rows[0].asDict()]
    for row in rows:
        same(pipeline, run, row)
    assert run.backward({"city": "Oslo"}).pandas("who")["name"].tolist() == ["a", "c"]
    together = run.backward(numbers=[0, 1])
    assert together.rows == 2
    assert len(together.arrow("orders")) == 12
    assert run.forward("orders", numbers=[3]).pandas()["city"].tolist() == ["Oslo"]
    assert str(run) == "run 1 of totals"


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        (lambda run: run.backward({"town": "Oslo"}), UnknownName, "no column 'town'"),
        (lambda run: run.backward({"city": "Rome"}), NoSuchRow, "Rome"),
        (lambda run: run.backward({"city": 3}), BadType, "3 is not a value of it"),
        (lambda run: run.backward(), BadType, "by numbers="),
        (lambda run: run.backward({"n": 1}, numbers=[1]), BadType, "by numbers="),
        (lambda run: run.backward(numbers=[2]), OutOfRange, "no row 2"),
        (lambda run: run.backward(numbers=[-1]), OutOfRange, "no row -1"),
        (lambda run: run.backward(numbers="all"), BadType, "must be integers"),
        (lambda run: run.backward(numbers=[]), BadType, "no rows were given"),
        (lambda run: run.output_rows([7]), OutOfRange, "no row 7"),
        (lambda run: run.forward("order", {"id": 1}), UnknownName, "did you mean 'orders'"),
        (lambda run: run.forward("orders", {"id": 99}), NoSuchRow, "99"),
        (lambda run: run.forward("orders", numbers=[12]), OutOfRange, "no row 12"),
        (lambda run: run.backward({"n": 4}, engine="pandas"), BadType, "engine is one of"),
    ],
)
def test_bad_questions(
    spark: SparkSession, views: Path, log: wh.Log, alone: None, question: Any, error: type[Exception], message: str
) -> None:
    log.pipeline(spark.sql(TOTALS), name="totals").run()
    with pytest.raises(error, match=message):
        question(later(log))


def test_many_rows_are_asked_at_once(spark: SparkSession, tmp_path: Path, log: wh.Log, alone: None) -> None:
    pq.write_table(pa.table({"a": pa.array(range(500), pa.int64())}), tmp_path / "many.parquet")
    log.pipeline(spark.read.parquet(str(tmp_path / "many.parquet")).selectExpr("a + 1 as b"), name="many").run()
    lineage = later(log).backward(numbers=range(0, 500, 2))
    assert sorted(lineage.arrow("many").column("a").to_pylist()) == list(range(0, 500, 2))
    by_value = later(log).backward([{"b": each + 1} for each in range(0, 500, 2)])
    assert (by_value.rows, told(by_value.arrow("many"))) == (250, told(lineage.arrow("many")))
    assert later(log).forward("many", [{"a": each} for each in range(300)]).count() == 300


def test_an_output_with_lists_is_asked_by_number(spark: SparkSession, views: Path, log: wh.Log, alone: None) -> None:
    df = spark.sql("select who, array(who) as list, who, sum(price) as s from orders group by who order by who")
    pipeline = log.pipeline(df, name="lists")
    rows = pipeline.run().collect()
    run = later(log)
    assert run.columns == ("who", "list", "who", "s")
    lineage = run.backward(numbers=[1])
    assert told(lineage.arrow("orders")) == told(pipeline.backward(tuple(rows[1])).arrow("orders"))
    assert sorted(lineage.arrow("orders").column("id").to_pylist()) == [1, 4, 7, 10]


# --- pinned runs


def test_a_run_with_row_ids_is_asked_without_spark(spark: SparkSession, views: Path, log: wh.Log, alone: None) -> None:
    df = spark.sql("select who, city from orders join who on who = name")
    pipeline = log.pipeline(df, name="ids")
    rows = pipeline.run(row_ids=True).collect()
    run = later(log)
    assert run.columns == ("who", "city", "_row_id")
    assert run.output_rows([5]).to_pylist() == [rows[5].asDict()]
    for row in rows[:3]:
        same(pipeline, run, row)
    same(pipeline, run, {"city": "Oslo"})
    assert told(run.backward(numbers=[4]).arrow("orders")) == told(pipeline.backward(rows[4]).arrow("orders"))
    with pytest.raises(NoSuchRow, match="Rome"):
        run.backward({"city": "Rome"})
    with pytest.raises(NoSuchRow, match="99"):
        run.forward("orders", {"id": 99})


def test_values_of_chance_are_asked_without_spark(spark: SparkSession, views: Path, log: wh.Log, alone: None) -> None:
    df = spark.sql("select who, m, uuid() as u from (select who, max(price) as m from orders group by who)")
    pipeline = log.pipeline(df, name="chance")
    rows = pipeline.run().collect()
    for row in rows:
        same(pipeline, later(log), {"u": row["u"]})


def test_the_time_of_the_run_is_in_the_plan(spark: SparkSession, views: Path, log: wh.Log, alone: None) -> None:
    df = spark.sql("select who, count(*) as n, current_timestamp() as at from orders where price > 5 group by who")
    pipeline = log.pipeline(df, name="clock")
    rows = pipeline.run().collect()
    for row in rows:
        same(pipeline, later(log), {"who": row["who"], "at": row["at"].astimezone()})


# --- what the log does not hold


def test_functions_of_users(spark: SparkSession, views: Path, log: wh.Log, alone: None) -> None:
    from pyspark.sql.functions import udf

    shout = udf(lambda text: str(int.from_bytes(text.encode("utf-16"), "big") % 7), "string")
    df = spark.table("who").select("name", shout("city").alias("loud")).where("name < 'd'")
    pipeline = log.pipeline(df, name="loud")
    row = pipeline.run().collect()[0]
    run = later(log)
    assert run.output_rows(0).to_pylist() == [row.asDict()]
    then, now = run.backward(row), pipeline.backward(row)
    assert told(then.arrow("who")) == told(now.arrow("who")), "the name alone tells the row apart"
    assert not then.precise
    assert "a Python function, whose code the log does not hold" in str(then.reason)
    assert told(run.forward("who", {"name": "a"}).arrow()) == told(pipeline.forward("who", {"name": "a"}).arrow())


def test_a_function_that_tells_rows_apart_leaves_a_superset(
    spark: SparkSession, views: Path, log: wh.Log, alone: None
) -> None:
    from pyspark.sql.functions import udf

    big = udf(lambda price: len(list(range(price))) > 20, "boolean")
    df = spark.table("orders").where(big("price")).groupBy("who").count()
    pipeline = log.pipeline(df, name="big", save="always")
    row = pipeline.run().collect()[0]
    then, now = later(log).backward(row), pipeline.backward(row)
    assert now.precise
    assert not then.precise
    assert set(told(now.arrow("orders"))) < set(told(then.arrow("orders")))


def test_a_function_that_is_looked_into_needs_no_code(
    spark: SparkSession, views: Path, log: wh.Log, alone: None
) -> None:
    from pyspark.sql.functions import udf

    big = udf(lambda price: price > 20, "boolean")
    df = spark.table("orders").where(big("price")).groupBy("who").count()
    pipeline = log.pipeline(df, name="looked into", save="always")
    row = pipeline.run().collect()[0]
    then, now = later(log).backward(row), pipeline.backward(row)
    assert (then.precise, told(then.arrow("orders"))) == (now.precise, told(now.arrow("orders")))


def test_functions_that_the_log_knows_by_name_only(spark: SparkSession, views: Path, log: wh.Log, alone: None) -> None:
    df = spark.sql("select name, soundex(city) as c from who where crc32(cast(name as binary)) > 0")
    pipeline = log.pipeline(df, name="named")
    row = pipeline.run().collect()[0]
    then, now = later(log).backward(row), pipeline.backward(row)
    assert told(then.arrow("who")) == told(now.arrow("who"))
    assert now.precise
    assert not then.precise
    assert "Spark's SoundEx" in str(then.reason)


def test_groups_of_users_are_known_without_their_code(
    spark: SparkSession, views: Path, log: wh.Log, alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = "id long, who string, price long"
    df = spark.table("orders").groupBy("who").applyInPandas(lambda rows: rows.head(1), schema)
    pipeline = log.pipeline(df, name="grouped")
    rows = pipeline.run().collect()
    run = later(log)
    assert run.output_rows(0).to_pylist() == [rows[0].asDict()]
    found = run.backward(numbers=[0]).arrow("orders").to_pylist()
    assert [row["who"] for row in found] == [rows[0].who] * 4
    monkeypatch.setattr("whence.spark.running.execute.FEW_ROWS", 0)
    pipeline.run()
    with pytest.raises(NotTraceable, match=r"has to run again .* whose code the log does not hold"):
        later(log).backward(numbers=[0])


def test_data_in_memory(spark: SparkSession, log: wh.Log, alone: None) -> None:
    df = spark.createDataFrame([(1, "a"), (2, "b")], "n long, s string")
    log.pipeline(df.where("n > 0"), name="memory").run()
    run = later(log)
    assert run.output_rows([0]).to_pylist() == [{"n": 1, "s": "a"}]
    with pytest.raises(NotTraceable, match="its rows were in memory"):
        run.backward({"n": 1}).arrow(run.sources[0])
    with pytest.raises(NotTraceable, match="its rows were in memory"):
        run.forward(run.sources[0], {"n": 1})


def test_another_format_needs_spark(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    (shop / "people.csv").write_text("name;age\nann;30\nbob;40\ncat;40\n")
    df = spark.read.csv(str(shop / "people.csv"), header=True, sep=";", inferSchema=True)
    pipeline = log.pipeline(df.groupBy("age").count(), name="ages")
    rows = pipeline.run().collect()
    run = later(log)
    for row in rows:
        now, then = pipeline.backward(row), run.backward(row)
        assert told(then.arrow("people")) == told(now.arrow("people"))
        assert told(then.identities("people")) == told(now.identities("people"))
        assert told(then["people"].toArrow()) == told(now["people"].toArrow())
    assert run.source_rows("people") is None
    with pytest.raises(NotTraceable, match="have no numbers"):
        run.source_numbers(run.backward(rows[0]), "people")
    assert run.forward("people", {"name": "bob"}).collect() == pipeline.forward("people", {"name": "bob"}).collect()


def test_spark_makes_functions_of_a_stored_plan_anew(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    (shop / "people.csv").write_text("name,age\nAnn,30\nbob,40\nCat,40\nann,\n")
    spark.read.csv(str(shop / "people.csv"), header=True).createOrReplaceTempView("people")
    df = spark.sql(
        "select lower(name) as low, case when cast(age as int) + 1 > 35 then 'old' when age is null then null "
        "else 'young' end as what, substring(name, 1, 2) as sub from people where name like '%n%' or length(name) = 3"
    )
    pipeline = log.pipeline(df, name="functions")
    rows = pipeline.run().collect()
    run = later(log)
    assert len(rows) == 4
    for row in rows:
        now, then = pipeline.backward(row), run.backward(row)
        assert (then.precise, told(then.arrow("people"))) == (now.precise, told(now.arrow("people")))


def test_spark_runs_a_stored_plan_again(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    """A limit between equal rows: nothing that a run saves tells them apart."""
    (shop / "people.csv").write_text("name,age\nAnn,30\nbob,40\nCat,40\nann,\n")
    spark.read.csv(str(shop / "people.csv"), header=True, inferSchema=True).createOrReplaceTempView("people")
    df = spark.sql("select age, sum(age) as s from (select age from people order by age desc limit 1) group by age")
    pipeline = log.pipeline(df, name="again")
    (row,) = pipeline.run().collect()
    now, then = pipeline.backward(row), later(log).backward(row)
    assert (then.how, then.precise) == (now.how, now.precise)
    assert told(then.arrow("people")) == told(now.arrow("people"))
    assert told(later(log).backward(numbers=[0]).arrow("people")) == told(now.arrow("people"))


def test_another_format_without_spark_says_what_is_needed(
    spark: SparkSession, shop: Path, log: wh.Log, alone: None
) -> None:
    (shop / "people.csv").write_text("name,age\nann,30\nbob,40\n")
    df = spark.read.csv(str(shop / "people.csv"), header=True, inferSchema=True)
    log.pipeline(df.groupBy("age").count(), name="ages").run()
    with pytest.raises(MissingExtra, match="needs Spark"):
        later(log).backward({"age": 40}).arrow("people")


@pytest.mark.parametrize("engine", ["auto", "duckdb", "spark"])
def test_partitions_and_several_files(spark: SparkSession, shop: Path, log: wh.Log, engine: str) -> None:
    orders = spark.read.parquet(str(shop / "orders.parquet")).repartition(2)
    orders.write.partitionBy("who").parquet(str(shop / "by who"))
    df = spark.read.parquet(str(shop / "by who")).groupBy("who").sum("price")
    pipeline = log.pipeline(df, name="parts")
    row = next(each for each in pipeline.run().collect() if each["who"] == "b")
    now, then = pipeline.backward(row), later(log).backward(row, engine=engine)
    assert told(then.identities("by who")) == told(now.identities("by who"))
    assert told(then.arrow("by who")) == told(now.arrow("by who"))
    run = later(log)
    assert run.source_rows("by who") == 12
    numbers = run.source_numbers(then, "by who").to_pylist()
    assert len(numbers) == 4
    reached = run.forward("by who", numbers=numbers[1:], engine="duckdb")
    assert reached.arrow().to_pylist() == [row.asDict()]
    assert run.output_rows(run.reached_numbers(reached)).to_pylist() == [row.asDict()]


def test_an_output_that_was_too_large_to_save(
    spark: SparkSession, views: Path, log: wh.Log, alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whence.spark.running.outputs.MOST_ROWS", 2)
    pipeline = log.pipeline(spark.sql("select id, who, city from orders join who on who = name"), name="large")
    pipeline.run()
    run = later(log)
    assert run.rows is None
    with pytest.raises(NotTraceable, match="was not saved"):
        run.output_rows([0])
    lineage = run.backward({"id": 4})
    assert lineage.arrow("who").to_pylist() == [{"name": "b", "city": "Bergen"}]


# --- what changed since


@pytest.fixture
def totals(spark: SparkSession, views: Path, log: wh.Log) -> StoredRun:
    log.pipeline(spark.sql(TOTALS), name="totals", save="always").run()
    return later(log)


def test_a_source_that_changed(totals: StoredRun, shop: Path, alone: None) -> None:
    pq.write_table(pa.table({"name": ["a"], "city": ["Rome"]}), shop / "who.parquet")
    lineage = totals.backward({"city": "Oslo"})
    assert len(lineage.arrow("orders")) == 8, "the answer for the other source is still known"
    with pytest.raises(SourceChanged, match=r"'who' has changed since the run of .*Restore the file"):
        lineage.arrow("who")
    with pytest.raises(SourceChanged, match="'who' has changed"):
        totals.forward("who", {"name": "a"})
    assert totals.output_rows([0]).num_rows == 1


def test_a_source_that_is_gone(totals: StoredRun, shop: Path, alone: None) -> None:
    (shop / "orders.parquet").unlink()
    lineage = totals.backward({"city": "Bergen"})
    assert lineage.arrow("who").to_pylist() == [{"name": "b", "city": "Bergen"}]
    with pytest.raises(SourceChanged, match="'orders' is gone"):
        lineage.identities("orders")


def test_a_source_that_answers_are_computed_from(
    spark: SparkSession, views: Path, log: wh.Log, shop: Path, alone: None
) -> None:
    log.pipeline(spark.sql(TOTALS), name="totals").run()
    os.utime(shop / "who.parquet", (0, 0))
    with pytest.raises(SourceChanged, match="'who' has changed"):
        later(log).backward({"city": "Oslo"})


def test_a_blob_that_is_gone(totals: StoredRun, log: wh.Log) -> None:
    for each in totals.record.files:
        (path,) = Path(log.where).rglob(f"*{each[2:]}*")
        path.unlink()
    with pytest.raises(Damaged, match="the plan of the run"):
        later(log).backward({"city": "Oslo"})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda document: {**document, "version": 2}, FutureVersion, "newer whence"),
        (lambda document: {**document, "plan": {**document["plan"], "version": 9}}, FutureVersion, "newer whence"),
        (lambda document: {**document, "format": "x"}, Damaged, "not a stored run"),
        (lambda document: b"not json", Damaged, "not JSON"),
        (lambda document: b"[" * 100_000, Damaged, "not JSON"),
        (lambda document: {**document, "settings": {}}, Damaged, "settings"),
        (lambda document: {**document, "reads": 3}, Damaged, "sources of the stored run"),
        (lambda document: {**document, "reads": [{}]}, Damaged, "source 0 of the stored run is damaged"),
        (
            lambda document: {**document, "reads": [{**document["reads"][0], "format": "jdbc"}]},
            Damaged,
            "does not read: 'jdbc'",
        ),
        (
            lambda document: {**document, "reads": [{**document["reads"][0], "options": {"user": "x"}}]},
            Damaged,
            "options that whence does not pass",
        ),
        (lambda document: {**document, "reads": []}, Damaged, "does not say how source 'orders' was read"),
    ],
)
def test_a_stored_plan_that_is_newer_damaged_or_hostile(
    totals: StoredRun, log: wh.Log, alone: None, change: Any, error: Any, message: str
) -> None:
    run = written_over(log, change)
    with pytest.raises(error, match=message):
        run.backward({"city": "Oslo"}).arrow("who")
    assert (run.pipeline, set(run.sources)) == ("totals", {"orders", "who"})


def test_a_hostile_function_is_not_run_by_spark(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    (shop / "people.csv").write_text("name,age\nann,30\nbob,40\n")
    df: DataFrame = spark.read.csv(str(shop / "people.csv"), header=True, inferSchema=True)
    log.pipeline(df.where("upper(name) <> 'X'"), name="ages").run()

    def change(document: Any) -> Any:
        for node in document["plan"]["nodes"]:
            if node["node"] == "call" and node["name"] == "Upper":
                node["name"] = "reflect"
        return document

    lineage = written_over(log, change).backward({"age": 40})
    assert not lineage.precise
    assert "it calls Spark's reflect" in str(lineage.reason)
    assert lineage.arrow("people").to_pylist() == [{"name": "bob", "age": 40}]


@pytest.mark.parametrize(
    "change",
    [
        {"saved": [{"place": [-1], "columns": [9], "files": [0], "rows": 1}]},
        {"saved": [{"place": [-1], "columns": [0], "files": [99], "rows": 1}]},
        {"saved": [{"place": [-1]}]},
        {"sources": {"orders": [["a", "b", "c"]], "who": []}},
        {"sources": []},
        {"plan": {"file": 77}},
    ],
)
def test_a_record_that_is_damaged(totals: StoredRun, log: wh.Log, alone: None, change: dict[str, Any]) -> None:
    with log._store.database.write() as connection:
        connection.execute(t.runs.update().values(document={**totals.record.document, **change}))
    with pytest.raises(Damaged, match="the record of run 1 of totals"):
        later(log).backward({"city": "Oslo"})


def test_a_run_of_an_older_whence_says_so(totals: StoredRun, log: wh.Log) -> None:
    document = {name: value for name, value in totals.record.document.items() if name != "plan"}
    with log._store.database.write() as connection:
        connection.execute(t.runs.update().values(document=document))
    with pytest.raises(NotTraceable, match="older whence"):
        later(log).backward({"city": "Oslo"})
    assert "totals" in repr(log.runs())


def test_a_log_that_was_copied_is_asked_where_it_is(
    totals: StoredRun, log: wh.Log, tmp_path: Path, alone: None
) -> None:
    log.close()
    shutil.copytree(log.where, tmp_path / "copy.whence")
    with wh.open(tmp_path / "copy.whence") as copy:
        assert copy.runs()[-1].backward({"city": "Oslo"}).arrow("who").num_rows == 2
