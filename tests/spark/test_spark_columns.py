"""Functions of columns in pipelines: pandas_udf, SQL's, pandas API on Spark's; and answers that are large."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import whence
from whence.spark.catalyst.jvm import Jvm
from whence.spark.catalyst.shared import Compact
from whence.spark.pipeline import Pipeline
from whence.spark.sources.naming import view_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = [(1, " Oslo"), (2, "BERGEN "), (3, "oslo"), (4, None), (5, "Oslo")]


@pytest.fixture
def towns(spark: SparkSession, tmp_path: Path) -> DataFrame:
    path = str(tmp_path / "towns")
    spark.createDataFrame(ROWS, "i int, name string").coalesce(1).write.parquet(path)
    return spark.read.parquet(path)


def test_a_pandas_udf_is_answered_by_duckdb(towns: DataFrame, tmp_path: Path) -> None:
    from pyspark.sql.pandas.functions import pandas_udf

    def cleaned(name: pd.Series) -> pd.Series:
        return name.str.strip().str.lower().fillna("?")

    cleaned.__annotations__ = {"name": pd.Series, "return": pd.Series}
    make: Any = pandas_udf
    counted = towns.groupBy(make(cleaned, "string")("name").alias("town")).count()
    p = whence.open(tmp_path / "log").pipeline(counted, name="towns")
    assert "the function cleaned() is translated to " in p.explain()
    p.run()
    found = p.backward({"town": "oslo"}, engine="duckdb")
    assert found.precise
    assert sorted(row["i"] for row in found["towns"].collect()) == [1, 3, 5]
    assert [row["i"] for row in p.backward({"town": "?"}, engine="duckdb")["towns"].collect()] == [4]


def test_a_function_registered_for_sql_is_looked_into(spark: SparkSession, towns: DataFrame, tmp_path: Path) -> None:
    towns.createOrReplaceTempView("towns_of_sql")
    spark.udf.register("short", lambda name: name is not None and len(name) < 6, "boolean")
    df = spark.sql("select i, name from towns_of_sql where short(name)")
    p = whence.open(tmp_path / "log").pipeline(df)
    assert "is translated to " in p.explain()
    assert [row["i"] for row in p.backward({"i": 1})["towns_of_sql"].collect()] == [1]


def test_a_transformed_frame_of_pandas_api_is_row_by_row(towns: DataFrame) -> None:
    import pyspark.pandas as ps

    frame: Any = towns.pandas_api().set_index("i")
    with warnings.catch_warnings(), ps.option_context("compute.shortcut_limit", 2):  # fewer rows are no part of a plan
        warnings.simplefilter("ignore")  # it says that types are found by a run over some rows
        frame = frame.transform(lambda column: column.str.upper()).assign(kind=lambda each: each["name"].map(str))
    found = Pipeline(frame, sources={"towns": towns}).backward({"name": "OSLO"})
    assert found.precise, found.reason
    assert sorted(row["i"] for row in found["towns"].collect()) == [3, 5]


def test_spark_reads_a_large_answer_itself(towns: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    p = whence.open(tmp_path / "log").pipeline(towns.groupBy("name").count(), name="names")
    p.run()
    small = p.backward({"name": "Oslo"})["towns"]
    monkeypatch.setattr("whence.spark.tracing.results.MANY", 0)
    large = p.backward({"name": "Oslo"})["towns"]
    assert large.collect() == small.collect() == [(5, "Oslo")]
    leaves = [each._jdf.queryExecution().analyzed().collectLeaves().apply(0) for each in (small, large)]
    assert [leaf.getClass().getSimpleName() == "LogicalRelation" for leaf in leaves] == [False, True]


def test_only_views_are_written_as_text_to_find_their_names(spark: SparkSession, towns: DataFrame) -> None:
    """The text of 200 calls of withColumn has 20,000 columns, and took most of the time to read the plan."""
    from pyspark.sql import functions as F

    towns.createOrReplaceTempView("towns_by_name")
    wide = spark.table("towns_by_name")
    for place in range(5):
        wide = wide.withColumn(f"c{place}", F.col("i") + place)
    written: list[str] = []
    compact = Compact(Jvm(spark))

    def noted(java: Any) -> Any:
        written.append(java.nodeName())
        return compact.plan(java)

    names = view_names(wide._jdf.queryExecution().analyzed(), noted)
    assert written == ["View"]
    assert set(names.values()) == {"towns_by_name"}
    assert Pipeline(wide).sources == ("towns_by_name",)
