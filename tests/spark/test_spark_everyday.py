"""What people write with DataFrames, over the files that people have: inferred lineage is what ids show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whence as wh

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from whence.log import Log

COLUMNS = (
    "id",
    "id % 5 as k",
    "cast(id % 13 as double) as v",
    "concat('n', id % 3) as name",
    "timestamp'2024-01-01' + make_interval(0, 0, 0, 0, id % 48) as ts",
    "array(id % 3, id % 4) as arr",
    "map('a', id % 2) as m",
    "named_struct('x', id % 4, 'y', 's') as st",
    "if(id % 7 = 0, null, id % 6) as nul",
)


class Data:
    """A table in a partitioned directory, the same in other formats, and one in memory."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        spark.range(120).selectExpr(*COLUMNS).repartition(2).write.partitionBy("name").parquet(
            str(folder / "t.parquet")
        )
        self.spark = spark
        self.t = spark.read.parquet(str(folder / "t.parquet"))
        plain = self.t.select("id", "k", "v", "name")
        plain.coalesce(1).write.option("header", True).csv(str(folder / "c.csv"))
        self.csv = spark.read.option("header", True).option("inferSchema", True).csv(str(folder / "c.csv"))
        self.t.select("id", "k", "arr", "st").write.json(str(folder / "j.json"))
        self.json = spark.read.json(str(folder / "j.json"))
        plain.write.partitionBy("k").orc(str(folder / "o.orc"))
        self.orc = spark.read.orc(str(folder / "o.orc"))
        self.u = spark.createDataFrame([(i, i % 5, f"w{i}") for i in range(8)], "uid int, k long, w string")


@pytest.fixture(scope="module")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(spark, tmp_path_factory.mktemp("everyday"))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Log]:
    with wh.open(tmp_path_factory.mktemp("log") / "p.whence") as opened:
        yield opened


def _functions() -> Any:
    from pyspark.sql import functions

    return functions


def _udf(data: Data) -> DataFrame:
    plus = _functions().udf(lambda a: None if a is None else int(a) + 1, "long")
    return data.t.withColumn("p", plus("nul")).groupBy("p").count()


def _grouped(data: Data) -> DataFrame:
    def centred(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(v=rows.v - rows.v.mean())

    return data.t.select("id", "k", "v").groupBy("k").applyInPandas(centred, "id long, k long, v double")


def _higher(data: Data) -> DataFrame:
    f = _functions()
    total = f.aggregate("arr", f.lit(0).cast("long"), lambda a, b: a + b).alias("s")
    return data.t.select("id", f.transform("arr", lambda x: x + 1).alias("more"), total).where("s = 3")


def _json_text(data: Data) -> DataFrame:
    f = _functions()
    return data.t.select(f.from_json(f.to_json("st"), "x int, y string").alias("z")).groupBy("z.x").count()


def _top_two(data: Data) -> DataFrame:
    from pyspark.sql import Window

    f = _functions()
    rank = f.rank().over(Window.partitionBy("k").orderBy(f.desc("v"))).alias("r")
    return data.t.select("id", "k", "v", rank).where("r <= 2")


def _lateral(data: Data) -> DataFrame:
    f = _functions()
    return data.t.where("id < 6").lateralJoin(data.u.where(f.col("k").outer() == f.col("k")).select("w"))


CASES: dict[str, Callable[[Data], DataFrame]] = {
    "a column of directories": lambda d: d.t.groupBy("name").sum("v"),
    "a filter on directories": lambda d: d.t.where("name = 'n1'").groupBy("k").count(),
    "CSV with a header": lambda d: d.csv.groupBy("k").avg("v"),
    "JSON with nesting": lambda d: d.json.where("st.x = 1").selectExpr("id", "st.x", "explode(arr)"),
    "ORC in directories": lambda d: d.orc.groupBy("name").agg({"v": "max", "*": "count"}),
    "cached": lambda d: d.t.where("id < 100").cache().groupBy("k").count(),
    "a Python function": _udf,
    "a function of groups": _grouped,
    "fill": lambda d: d.t.select("id", "nul").na.fill(0).groupBy("nul").count(),
    "drop nulls and take": lambda d: d.t.select("id", "nul").dropna().orderBy("id").limit(5),
    "replace": lambda d: d.t.select("name", "k").replace("n1", "nx").groupBy("name").count(),
    "describe": lambda d: d.t.select("v").describe(),
    "crosstab": lambda d: d.t.crosstab("k", "name"),
    "pivot": lambda d: d.t.groupBy("k").pivot("name").agg({"v": "sum", "id": "max"}),
    "hours": lambda d: (
        d.t.groupBy(_functions().window("ts", "6 hours")).sum("v").selectExpr("window.start", "`sum(v)`")
    ),
    "sessions": lambda d: d.t.where("id < 20").groupBy("k", _functions().session_window("ts", "1 hours")).count(),
    "functions of arrays": _higher,
    "text as JSON": _json_text,
    "stack": lambda d: d.t.selectExpr("id", "stack(2, 'k', double(k), 'v', v) as (n, val)"),
    "entries of maps": lambda d: d.t.selectExpr("id", "explode(m)"),
    "a field of a struct": lambda d: d.t.select(
        "id", _functions().col("st").withField("z", _functions().lit(1)).alias("s")
    ).where("s.x = 2"),
    "first and last": lambda d: d.t.groupBy("k").agg(
        _functions().first("nul", ignorenulls=True), _functions().last("v")
    ),
    "drop duplicates": lambda d: d.t.select("id", "k", "name").dropDuplicates(["k"]),
    "union by name": lambda d: d.t.select("id", "k").unionByName(d.u.select("w"), allowMissingColumns=True),
    "equal names on both sides": lambda d: d.t.select("id", "k").join(d.u, d.t.k == d.u.k),
    "full join": lambda d: (
        d.t.select("id", "k").join(d.u, "k", "full").groupBy("k").agg({"uid": "count", "id": "count"})
    ),
    "the best two of each": _top_two,
    "cube": lambda d: d.t.cube("k", "name").agg({"v": "sum"}),
    "parameters": lambda d: d.spark.sql("select k, sum(v) s from {t} where id > :x group by k", {"x": 20}, t=d.t),
    "a column of metadata": lambda d: d.t.select("_metadata.file_name", "v").groupBy("file_name").count(),
    "a collation": lambda d: d.t.selectExpr("name collate UNICODE_CI as n", "v").groupBy("n").count(),
    "a lateral join": _lateral,
    "a subquery of frames": lambda d: d.t.where(_functions().col("v") > d.t.agg({"v": "avg"}).scalar()).select(
        "id", "v"
    ),
    "partitions": lambda d: d.t.select("id", "k").repartition(4, "k").sortWithinPartitions("id").groupBy("k").count(),
}


@pytest.mark.parametrize("name", CASES)
def test_inferred_is_what_ids_show(data: Data, log: Log, name: str) -> None:
    df = CASES[name](data)
    eager = log.pipeline(df, mode="eager")
    output = eager.run()
    assert output.schema.simpleString() == df.schema.simpleString()
    rows = output.collect()
    assert sorted(map(repr, rows)) == sorted(map(repr, df.collect())) or name in ("first and last", "drop duplicates")
    row = rows[len(rows) // 2]
    expected = eager.backward(row)
    for save in ("auto", "never"):
        pipeline = log.pipeline(df, save=save)
        pipeline.run()
        found = pipeline.backward(row)
        assert found.precise, found.reason
        for source in expected:
            assert found.identities(source).equals(expected.identities(source)), save
            assert sorted(map(repr, found[source].collect())) == sorted(map(repr, expected[source].collect()))
        assert set(pipeline.columns()) == set(output.columns) or len(set(output.columns)) < len(output.columns)


def test_directories_with_any_name(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """Blanks, signs that are escaped in paths, nulls and days: told by directories, by both engines."""
    path = tmp_path / "with space & 100%" / "t.parquet"
    city = "case id % 4 when 0 then 'New York' when 1 then 'a/b=c%20é' when 2 then null else '' end as city"
    day, n = "date'2024-01-01' + cast(id % 3 as int) as day", "cast(id % 2 as int) as n"
    spark.range(60).selectExpr("id", city, day, n).repartition(2).write.partitionBy("city", "day", "n").parquet(
        str(path)
    )
    t = spark.read.parquet(str(path))
    for df in (
        t.groupBy("city").count(),
        t.where("day = date'2024-01-02' and n = 1").groupBy("city").agg({"id": "sum"}),
    ):
        eager = log.pipeline(df, mode="eager")
        pipeline = log.pipeline(df)
        pipeline.run()
        assert "not saved" not in pipeline.explain()
        for row in eager.run().collect():
            expected = eager.backward(row).identities("t")
            by_duckdb, by_spark = (pipeline.backward(row, engine=engine) for engine in ("duckdb", "spark"))
            assert by_duckdb.identities("t").equals(expected)
            assert by_spark.identities("t").equals(expected)
            rows = [each.pandas("t").sort_values("id").to_dict("records") for each in (by_duckdb, by_spark)]
            assert rows[0] == rows[1]
            assert len(rows[0]) == len(expected)


def test_a_source_with_a_collation(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """Text that differs is equal there: no engine may compare it in another way."""
    path = tmp_path / "c.parquet"
    spark.range(30).selectExpr("id", "if(id % 2 = 0, 'A', 'a') collate UTF8_LCASE as n").write.parquet(str(path))
    c = spark.read.parquet(str(path))
    for df in (c.groupBy("n").count(), c.where("n = 'a'").groupBy("n").agg({"id": "max"})):
        row = df.collect()[0]
        for save in ("auto", "always", "never"):
            pipeline = log.pipeline(df, save=save, witness="group")
            pipeline.run()
            found = pipeline.backward(row)
            assert found.precise
            assert sorted(each.id for each in found["c"].collect()) == list(range(30))
