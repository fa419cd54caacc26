"""The awkward details of real tables: odd keys, odd names, nested values, time zones, very many rows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from whence.errors import BadType
from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAN = float("nan")


def asked(df: DataFrame, row: Any, source: str = "t") -> list[int]:
    """The first columns of the lineage's rows."""
    lineage = Pipeline(df).backward(row)
    assert lineage.precise, lineage.reason
    return sorted(each[0] for each in lineage[source].collect())


def test_nan_and_both_zeros_in_keys(spark: SparkSession) -> None:
    rows = [(1, NAN), (2, NAN), (3, 0.0), (4, -0.0), (5, None)]
    spark.createDataFrame(rows, "i int, f double").createOrReplaceTempView("t")
    groups = spark.sql("select f, count(*) n from t group by f")
    assert asked(groups, {"f": NAN}) == [1, 2]
    assert asked(groups, {"f": 0.0}) == asked(groups, {"f": -0.0}) == [3, 4]
    assert asked(groups, {"f": None}) == [5]
    assert asked(spark.sql("select a.i, b.i j from t a join t b on a.f = b.f"), {"i": 1}) == [1, 2]
    assert asked(spark.sql("select a.i, b.i j from t a join t b on a.f = b.f"), {"i": 4, "j": 3}) == [3, 4]
    assert asked(spark.sql("select distinct f from t"), {"f": 0.0}) == [3, 4]


def test_names_that_differ_in_case(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.caseSensitive")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        spark.createDataFrame([(1, 10), (2, 20)], "a int, A int").createOrReplaceTempView("t")
        df = spark.sql("select A as b, a as B from t")
        assert asked(df, {"b": 10}) == [1]
        assert asked(df, {"B": 2}) == [2]
    finally:
        spark.conf.set("spark.sql.caseSensitive", before or "false")


def test_columns_renamed_and_used_again(spark: SparkSession) -> None:
    spark.createDataFrame([(1, 10, 5), (2, 20, 6), (3, 10, 7)], "i int, v int, w int").createOrReplaceTempView("t")
    t = spark.table("t")
    swapped = t.withColumnRenamed("v", "u").withColumnRenamed("w", "v").withColumnRenamed("u", "w")
    assert asked(swapped, {"v": 6, "w": 20}) == [2]
    again = t.withColumn("v", t["v"] + 1).withColumn("v", t["w"]).withColumn("w", t["i"]).drop("i")
    assert asked(again, {"v": 7, "w": 3}) == [3]
    assert asked(t.select("v", t["v"].alias("u"), "v").toDF("a", "b", "c"), {"b": 10}) == [1, 3]


def test_names_with_spaces_dots_and_quotes(spark: SparkSession) -> None:
    odd = ["a.b", "it's", 'say "x"', "`tick`", "größe"]
    df = spark.createDataFrame([(1, 2, 3, 4, 5)], [*odd])
    df.createOrReplaceTempView("t")
    pipeline = Pipeline(spark.table("t").groupBy(*(f"`{name.replace('`', '``')}`" for name in odd)).count())
    lineage = pipeline.backward(dict(zip(odd, range(1, 6), strict=True)))
    assert lineage["t"].count() == 1
    assert lineage["t"].columns == odd


def test_nested_values(spark: SparkSession) -> None:
    rows = [(1, (1, "x"), {"a": 1, "b": 2}, [(1, "p"), (2, "q")]), (2, (1, "y"), {"a": 3}, []), (3, None, None, None)]
    schema = "i int, s struct<n:int,t:string>, m map<string,int>, xs array<struct<n:int,t:string>>"
    spark.createDataFrame(rows, schema).createOrReplaceTempView("t")
    assert asked(spark.sql("select s.n, count(*) c from t group by s.n"), {"n": 1}) == [1, 2]
    assert asked(spark.sql("select s, count(*) c from t group by s"), {"s": (1, "y")}) == [2]
    assert asked(
        spark.sql("select key, value from t lateral view explode(m) as key, value"), {"key": "a", "value": 3}
    ) == [2]
    assert asked(spark.sql("select n, t from t lateral view inline(xs) as n, t"), {"t": "q"}) == [1]
    assert asked(spark.sql("select x.n from t lateral view explode(xs) as x"), {"n": 2}) == [1]
    assert asked(spark.sql("select m['a'] as a from t"), {"a": 3}) == [2]
    assert asked(spark.sql("select transform(xs, x -> x.n) ns from t"), {"ns": [1, 2]}) == [1]


def test_timestamps_and_time_zones(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    zone = timezone(timedelta(hours=9))
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        spark.sql("""select * from values (1, timestamp '2024-03-10 01:30:00', timestamp_ntz '2024-03-10 02:30:00'),
            (2, timestamp '2024-03-10 03:30:00', timestamp_ntz '2024-03-10 03:30:00') as t(i, at, local)""").write.mode(
            "overwrite"
        ).saveAsTable("moments")
        hours = spark.sql("select hour(at) h, count(*) n, max(at) at from moments group by hour(at)")
        assert asked(hours, {"h": 3}, "moments") == [2]
        # the gap of summer time lies between the two: an hour, though the clock says two
        assert asked(hours, {"at": datetime(2024, 3, 10, 15, 30, tzinfo=zone)}, "moments") == [1]
        assert asked(hours, {"at": datetime(2024, 3, 10, 16, 30, tzinfo=zone)}, "moments") == [2]
        locals_ = spark.sql("select local, count(*) n from moments group by local")
        assert asked(locals_, {"local": datetime(2024, 3, 10, 2, 30)}, "moments") == [1]
        with pytest.raises(BadType):
            Pipeline(hours).backward({"at": "yesterday"})
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")


def test_decimals_of_another_scale(spark: SparkSession) -> None:
    from decimal import Decimal

    spark.sql("select * from values (1, 1.10BD), (2, 1.1BD), (3, 2.00BD) as t(i, d)").createOrReplaceTempView("t")
    sums = spark.sql("select d, sum(d) s from t group by d")
    assert asked(sums, {"d": Decimal("1.1")}) == asked(sums, {"d": "1.100"}) == [1, 2]
    assert asked(sums, {"s": Decimal("2.2")}) == [1, 2]
    assert asked(sums, {"s": 2}) == [3]


def test_a_million_rows(spark: SparkSession) -> None:
    spark.range(1_000_000).selectExpr("id", "id % 2 as m").createOrReplaceTempView("t")
    lineage = Pipeline(spark.sql("select m, count(*) n from t group by m")).backward({"m": 1})
    (name,) = lineage
    assert lineage[name].count() == 500_000
    assert lineage[name].where("id % 2 = 0").count() == 0
    assert lineage.precise


def test_a_condition_is_asked_before_what_it_guards(spark: SparkSession) -> None:
    """In ANSI mode a division by zero is an error: of rows that the pipeline never divided, no one may ask."""
    spark.createDataFrame([(1, 4), (2, 0), (3, 2)], "i int, v int").createOrReplaceTempView("t")
    df = spark.sql("select i, 8 / v as q from t where v <> 0")
    assert asked(df, {"q": 4.0}) == [3]
    text = spark.sql("select cast(s as int) n from values (1, '7'), (2, 'x') as t(i, s) where i < 2")
    assert Pipeline(text).backward({"n": 7}).precise
