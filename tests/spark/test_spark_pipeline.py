"""The pipeline as users hold it: names, rows in many forms, formats of files, bad input."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whence as wh
from whence.errors import BadType, NoSuchRow, NotTraceable, SourceChanged, UnknownName
from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = [(1, "ann", Decimal("9.50")), (2, "bob", Decimal("1.25")), (3, "ann", Decimal("0.50")), (4, None, None)]


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> Path:
    path = tmp_path / "orders.parquet"
    df = spark.createDataFrame(ORDERS, "id int, who string, price decimal(9,2)")
    df.repartition(2, "id").write.parquet(str(path))
    return path


def test_through_the_log(spark: SparkSession, orders: Path, tmp_path: Path) -> None:
    df = spark.read.parquet(str(orders)).groupBy("who").sum("price")
    with wh.open(tmp_path / "log") as log:
        pipeline = log.pipeline(df, name="spent")
        assert pipeline.run().count() == 3
        lineage = pipeline.backward({"who": "ann"})
        assert list(lineage) == ["orders"]
        assert lineage.precise
        assert lineage.reason is None
        assert lineage["orders"].columns == ["id", "who", "price"]
        assert sorted(lineage["orders"].collect()) == [ORDERS[0], ORDERS[2]]
        reached = pipeline.forward("orders", {"id": 3})
        assert [row["who"] for row in reached.collect()] == ["ann"]
        assert (reached.precise, reached.reason, reached.count()) == (True, None, 1)
        assert reached.columns == reached.schema.names == reached.dataframe().columns == list(df.columns)
        assert reached.toPandas()["who"].tolist() == ["ann"]
        reached.show(1)
        assert "precise" in repr(reached)
    places = lineage.identified("orders").select("id", "_file", "_row").collect()
    for each, file, row in places:
        assert spark.read.parquet(file).collect()[row]["id"] == each
    assert "Aggregate by who" in pipeline.explain()
    assert "precise" in repr(lineage)


@pytest.mark.parametrize("form", ["csv", "json", "orc", "parquet"])
def test_files(spark: SparkSession, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"things.{form}"
    spark.createDataFrame([(n, n % 3) for n in range(10)], "n int, m int").repartition(3).write.format(form).save(
        str(path)
    )
    df = spark.read.format(form).schema("n int, m int").load(str(path)).where("n > 1").groupBy("m").count()
    lineage = Pipeline(df).backward({"m": 1})
    assert sorted(row["n"] for row in lineage["things"].collect()) == [4, 7]


def test_names(spark: SparkSession, orders: Path) -> None:
    read = spark.read.parquet(str(orders))
    made = spark.createDataFrame([(1, "x")], "id int, tag string")
    joined = read.join(made, "id")
    assert Pipeline(joined).sources == ("orders", "source_1")
    assert Pipeline(joined, sources={"tags": made, "bought": read}).sources == ("bought", "tags")
    read.createOrReplaceTempView("seen")
    assert Pipeline(spark.sql("select * from seen s join seen t using (id)")).sources == ("seen",)
    read.where("price > 1").createOrReplaceTempView("dear")
    assert Pipeline(spark.sql("select * from dear")).sources == ("orders",)
    made.write.mode("overwrite").saveAsTable("kept_tags")
    assert Pipeline(spark.table("kept_tags")).sources == ("kept_tags",)
    with pytest.raises(BadType, match="computed"):
        Pipeline(joined, sources={"x": read.where("id > 1")})


def test_rows_in_many_forms(spark: SparkSession, orders: Path) -> None:
    df = spark.read.parquet(str(orders)).select("id", "who", "price")
    pipeline = Pipeline(df)

    def asked(row: Any) -> list[int]:
        return sorted(each["id"] for each in pipeline.backward(row)["orders"].collect())

    assert asked({"who": "ann", "price": Decimal("0.50")}) == [3]
    assert asked({"WHO": "ann"}) == [1, 3]
    assert asked({"price": 9.5}) == [1]
    assert asked({"who": None}) == [4]
    assert asked(ORDERS[1]) == [2]
    assert asked([{"id": 1}, {"who": "bob"}]) == [1, 2]
    assert asked(df.where("id >= 3")) == [3, 4]
    assert asked([{"id": n % 4 + 1, "who": w} for n in range(200) for w in ("ann", "bob")]) == [1, 2, 3]


def test_types(spark: SparkSession) -> None:
    when = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)
    rows = [
        (1, date(2024, 2, 29), when, float("nan"), [1, None], {"a": 1}, (1, "x"), b"\x00\x01"),
        (2, None, None, 0.5, None, None, None, None),
    ]
    schema = (
        "i int, d date, t timestamp, f double, xs array<int>, m map<string,int>, s struct<a:int,b:string>, b binary"
    )
    spark.createDataFrame(rows, schema).createOrReplaceTempView("typed")
    pipeline = Pipeline(spark.table("typed"))

    def asked(row: Any) -> list[int]:
        return sorted(each["i"] for each in pipeline.backward(row)["typed"].collect())

    assert asked({"d": date(2024, 2, 29)}) == asked({"d": "2024-02-29"}) == [1]
    assert asked({"t": when}) == [1]
    assert asked({"f": float("nan")}) == [1]
    assert asked({"b": b"\x00\x01"}) == [1]
    assert asked({"xs": [1, None]}) == asked({"s": (1, "x")}) == [1]
    assert asked({"xs": None, "i": 2}) == [2]
    assert asked({"m": {"a": 1}}) == [1]


def test_columns_that_share_a_name(spark: SparkSession, orders: Path) -> None:
    df = spark.read.parquet(str(orders))
    twice = df.alias("a").join(df.alias("b"), "who").select("a.id", "b.id")
    pipeline = Pipeline(twice)
    with pytest.raises(BadType, match="2 columns are called 'id'"):
        pipeline.backward({"id": 1})
    first, second = pipeline.backward((1, 3)).occurrences["orders"]
    assert [[row["id"] for row in each.collect()] for each in (first, second)] == [[1], [3]]
    assert list(pipeline.columns()) == ["id", "id#2"]


def test_columns(spark: SparkSession, orders: Path) -> None:
    spark.read.parquet(str(orders)).createOrReplaceTempView("o")
    columns = Pipeline(spark.sql("select who, sum(price) * 2 as p from o where id > 1 group by who")).columns()
    assert columns["p"].direct == {("o", "price")}
    assert columns["p"].through == {("o", "who"), ("o", "id")}
    assert columns["who"].direct == {("o", "who")}


def test_what_changes_from_run_to_run_is_said(spark: SparkSession, orders: Path) -> None:
    df = spark.read.parquet(str(orders))
    some = Pipeline(df.limit(2).groupBy().count())
    lineage = some.backward({"count": 2})
    assert not lineage.precise
    assert "Limit 2" in str(lineage.reason)
    kept = Pipeline(df.limit(2).groupBy().count(), mode="eager")
    kept.run()
    assert kept.backward({"count": 2}).precise


def test_lineage_too_large_to_hold_stays_with_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.range(3000).createOrReplaceTempView("many")
    spark.range(3).createOrReplaceTempView("few")
    df = spark.sql("select id % 2 as m, count(*) c from many a where id not in (select id from few) group by 1")
    counts = []
    for limit in (200_000, 0):
        monkeypatch.setattr("whence.spark.lineage.COLLECTED", limit)
        lineage = Pipeline(df).backward({"m": 1})
        counts.append((lineage["many"].count(), lineage["many"].where("id % 2 = 1").count(), lineage["few"].count()))
    assert counts == [(1499, 1499, 0)] * 2


def test_bad_rows(spark: SparkSession, orders: Path) -> None:
    pipeline = Pipeline(spark.read.parquet(str(orders)))
    with pytest.raises(NoSuchRow, match="no row of the output is {id: 99}"):
        pipeline.backward({"id": 99})
    with pytest.raises(UnknownName, match="did you mean 'price'"):
        pipeline.backward({"pric": 1})
    bad: list[Any] = [{"id": "one"}, {"id": 2**31}, {"price": "much"}, {}, (1, 2), 5, "ann", [], {"who": 3}, {3: 1}]
    for row in bad:
        with pytest.raises(BadType):
            pipeline.backward(row)
    with pytest.raises(UnknownName, match="source"):
        pipeline.forward("customers", {"id": 1})
    with pytest.raises(NoSuchRow, match="source 'orders'"):
        pipeline.forward("orders", {"id": 99})
    with pytest.raises(UnknownName):
        pipeline.backward({"id": 1})["customers"]


def test_bad_frames(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadType, match="not list"):
        Pipeline([1, 2])
    stream = spark.readStream.format("rate").load()
    with pytest.raises(NotTraceable, match="streaming"):
        Pipeline(stream)
    with pytest.raises(BadType, match="mode is one of"):
        Pipeline(spark.range(1), mode="lasy")
    with pytest.raises(BadType, match="witness is one of"):
        Pipeline(spark.range(1), witness="all")


def test_an_operator_that_is_not_known_is_named(spark: SparkSession) -> None:
    nested = spark.sql("with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select * from r")
    with pytest.raises(NotTraceable, match=r"UnionLoop|WithCTE|Recursi"):
        Pipeline(nested)


def test_a_source_that_changed_or_is_gone(spark: SparkSession, orders: Path) -> None:
    import shutil

    pipeline = Pipeline(spark.read.parquet(str(orders)))
    assert pipeline.backward({"id": 1})["orders"].count() == 1
    spark.createDataFrame([(9, "eve", None)], "id int, who string, price decimal(9,2)").write.mode("append").parquet(
        str(orders)
    )
    with pytest.raises(SourceChanged, match="'orders' has changed"):
        pipeline.backward({"id": 1})
    shutil.rmtree(orders)
    with pytest.raises(SourceChanged, match="'orders' is gone"):
        pipeline.forward("orders", {"id": 1})


def test_a_stopped_session() -> None:
    """In a process of its own: stopping the session here would stop it for all tests."""
    code = """
from whence.errors import Closed
from whence.spark.pipeline import Pipeline
from whence.spark import local_session
spark = local_session("local[1]", **{"spark.driver.host": "127.0.0.1"})
df = spark.range(3)
spark.stop()
try:
    Pipeline(df)
except Closed as error:
    assert "stopped" in str(error)
else:
    raise AssertionError("no error")
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
