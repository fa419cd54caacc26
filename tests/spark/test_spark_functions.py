"""Users' functions: columns, groups, whole tables; and what Spark does in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = [(1, "a", 10), (2, "a", 20), (3, "b", 5), (4, None, 7), (5, None, 8)]


@pytest.fixture(scope="module")
def t(spark: SparkSession) -> DataFrame:
    df = spark.createDataFrame(ROWS, "i int, k string, v int")
    df.createOrReplaceTempView("t")
    return spark.table("t")


def asked(df: DataFrame, row: Any) -> list[int]:
    lineage = Pipeline(df).backward(row)
    assert lineage.precise, lineage.reason
    return sorted(each["i"] for each in lineage["t"].collect())


def test_a_column_made_in_python(t: DataFrame) -> None:
    from pyspark.sql import functions as F

    doubled = F.udf(lambda x: x * 2, "int")
    assert asked(t.select(doubled("v").alias("w")), {"w": 40}) == [2]


def test_a_grouped_map_is_its_group(t: DataFrame) -> None:
    def smallest_last(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"total": [rows["v"].sum(), rows["v"].min()]})

    grouped = t.groupBy("k").applyInPandas(smallest_last, "total long")
    assert asked(grouped, {"total": 30}) == [1, 2]
    assert asked(grouped, {"total": 7}) == [4, 5]
    assert asked(grouped.where("total > 20"), (30,)) == [1, 2]


def test_a_grouped_map_that_takes_the_key(t: DataFrame) -> None:
    from pyspark.sql import functions as F

    def with_key(key: tuple[Any, ...], rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame([[key[0], len(rows)]])  # columns by position

    grouped = t.groupBy((F.col("v") % 2).alias("odd")).applyInPandas(with_key, "odd int, n long")
    assert asked(grouped, {"odd": 1}) == [3, 4]


def test_a_grouped_map_in_arrow(t: DataFrame) -> None:
    def count(rows: pa.Table) -> pa.Table:
        return pa.table({"n": pa.array([rows.num_rows], pa.int64())})

    assert asked(t.where("k is not null").groupBy("k").applyInArrow(count, "n long"), {"n": 1}) == [3]


def test_cogroups_are_the_groups_of_both(spark: SparkSession, t: DataFrame) -> None:
    other = spark.createDataFrame([(11, "a"), (12, "b"), (13, "b")], "j int, k string")

    def counts(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"n": [len(left)], "m": [len(right)]})

    both = t.groupBy("k").cogroup(other.groupBy("k")).applyInPandas(counts, "n long, m long")
    lineage = Pipeline(both, sources={"other": other}).backward({"n": 1, "m": 2})
    assert sorted(each["i"] for each in lineage["t"].collect()) == [3]
    assert sorted(each["j"] for each in lineage["other"].collect()) == [12, 13]


def test_an_aggregate_in_python(t: DataFrame) -> None:
    from pyspark.sql.pandas.functions import pandas_udf

    def spread(values: pd.Series) -> float:
        return float(values.max() - values.min())

    spread.__annotations__ = {"values": pd.Series, "return": float}
    make: Any = pandas_udf
    assert asked(t.groupBy("k").agg(make(spread, "double")("v").alias("s")), {"k": "a"}) == [1, 2]


def test_the_whole_input_is_a_superset_and_says_so(t: DataFrame) -> None:
    def same(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield from parts

    lineage = Pipeline(t.where("v < 10").mapInPandas(same, t.schema)).backward({"i": 4})
    assert not lineage.precise
    assert lineage.reason is not None
    assert "same" in lineage.reason
    assert sorted(each["i"] for each in lineage["t"].collect()) == [3, 4, 5]


def test_pandas_api_on_spark(t: DataFrame) -> None:
    frame = t.pandas_api().groupby("k").sum(numeric_only=True)
    lineage = Pipeline(frame).backward({"v": 30})
    assert lineage.precise
    assert sorted(each["i"] for each in lineage["t"].collect()) == [1, 2]
