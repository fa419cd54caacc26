"""What may fail is computed only for the rows that the pipeline computes it for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whence

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TEXTS = [(1, "1", 1), (2, "bad", 2), (3, "3", 3), (4, "zz", 4), (5, "5", 5), (6, "6", 9)]
KEYS = [(1, "x", 0), (3, "y", 1), (5, "z", 2), (9, "w", 9)]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DataFrame]:
    path = tmp_path_factory.mktemp("guards")
    spark.createDataFrame(TEXTS, "id long, s string, k long").coalesce(1).write.parquet(str(path / "texts"))
    spark.createDataFrame(KEYS, "k long, v string, w long").coalesce(1).write.parquet(str(path / "keys"))
    return {name: spark.read.parquet(str(path / name)) for name in ("texts", "keys")}


def _functions() -> tuple[Any, Any]:
    from pyspark.sql import functions as F

    def is_number(s: str | None) -> bool:
        return s is not None and s.isdigit()

    def to_int(s: str) -> int:
        return int(s)

    return F.udf(is_number, "boolean", useArrow=False), F.udf(to_int, "int", useArrow=False)


def function_after_function(texts: DataFrame, keys: DataFrame) -> DataFrame:
    is_number, to_int = _functions()
    return texts.filter(is_number("s")).withColumn("n", to_int("s")).select("n")


def function_after_pattern(texts: DataFrame, keys: DataFrame) -> DataFrame:
    _, to_int = _functions()
    return texts.filter(texts.s.rlike("^[0-9]+$")).withColumn("n", to_int("s"))


def cast_after_function(texts: DataFrame, keys: DataFrame) -> DataFrame:
    is_number, _ = _functions()
    return texts.filter(is_number("s")).withColumn("n", texts.s.cast("int")).select("n")


def cast_after_join(texts: DataFrame, keys: DataFrame) -> DataFrame:
    return texts.join(keys, "k").withColumn("n", texts.s.cast("int")).select("n")


def function_after_join(texts: DataFrame, keys: DataFrame) -> DataFrame:
    _, to_int = _functions()
    return texts.join(keys, "k").withColumn("n", to_int("s")).select("n", "v")


def cast_after_semi_join(texts: DataFrame, keys: DataFrame) -> DataFrame:
    return texts.join(keys, "k", "leftsemi").withColumn("n", texts.s.cast("int")).select("n")


def division_after_anti_join(texts: DataFrame, keys: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return texts.join(keys, "k", "leftanti").withColumn("n", F.expr("10 / (k - 1)")).select("n")


def element_after_size(texts: DataFrame, keys: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    letters = texts.withColumn("a", F.split("s", "")).filter(F.size("a") > 1)
    return letters.withColumn("n", F.expr("element_at(a, 2)")).select("n")


def date_after_join(texts: DataFrame, keys: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return texts.join(keys, "k").withColumn("n", F.expr("cast(concat('2020-01-0', s) as date)")).select("n")


def group_after_function(texts: DataFrame, keys: DataFrame) -> DataFrame:
    is_number, to_int = _functions()
    return texts.filter(is_number("s")).withColumn("n", to_int("s") % 2).groupBy("n").count()


def cast_after_intersection(texts: DataFrame, keys: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    both = texts.select("s").intersect(keys.select(F.col("k").cast("string").alias("s")))
    return both.select(F.col("s").cast("int").alias("n"))


def overflow_after_join(texts: DataFrame, keys: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    matched = texts.join(keys, (texts.k == keys.k) & (keys.w < texts.id))
    return matched.select((F.lit(2**31 - 8) + keys.w.cast("int")).cast("int").alias("n"))


PIPELINES = (
    function_after_function,
    function_after_pattern,
    cast_after_function,
    cast_after_join,
    function_after_join,
    cast_after_semi_join,
    division_after_anti_join,
    element_after_size,
    date_after_join,
    group_after_function,
    cast_after_intersection,
    overflow_after_join,
)


@pytest.mark.parametrize("make", PIPELINES)
@pytest.mark.parametrize("save", ["never", "auto"])
def test_questions_fail_for_no_row_that_the_pipeline_left_out(
    tables: dict[str, DataFrame], tmp_path: Path, make: Callable[..., DataFrame], save: str
) -> None:
    df = make(**tables)
    rows = sorted(set(df.collect()), key=str)
    assert rows
    log = whence.open(tmp_path / "log")
    eager, lazy = log.pipeline(df, mode="eager"), log.pipeline(df, save=save)
    eager.run()
    if save != "never":
        lazy.run()
    for asked in (rows[0], rows):
        wanted, found = eager.backward(asked), lazy.backward(asked)
        assert found.precise
        for name in lazy.sources:
            assert sorted(map(str, found[name].collect())) == sorted(map(str, wanted[name].collect()))
    for name in lazy.sources:
        for row in tables[name].collect()[:2]:  # of the texts: a number, and one that is none
            reached = lazy.forward(name, row).collect()
            assert sorted(map(str, reached)) == sorted(map(str, eager.forward(name, row).collect()))
