"""Expressions that nest deeply, and columns that are built up in many steps."""

from __future__ import annotations

import cProfile
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import whence
from whence.rows import Call, walk
from whence.rows.filtering import LARGEST
from whence.rows.pushdown import infer
from whence.spark.catalyst.jvm import Jvm
from whence.spark.catalyst.plan import read
from whence.spark.catalyst.shared import Compact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence import Log

    Make = Callable[[DataFrame, int], DataFrame]


@pytest.fixture(scope="module")
def numbers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("deep") / "numbers")
    spark.createDataFrame([(i, i % 7) for i in range(30)], "id long, x long").coalesce(1).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return whence.open(tmp_path / "log")


def nested(df: DataFrame, levels: int) -> DataFrame:
    """when ... otherwise(when ... otherwise(...))."""
    from pyspark.sql import functions as F

    value = F.lit(-1)
    for k in range(levels):
        value = F.when(F.col("x") == k, F.lit(k * 10)).otherwise(value)
    return df.select("id", value.alias("y"))


def replaced(df: DataFrame, levels: int) -> DataFrame:
    """ifnull(ifnull(...)): a function that Catalyst replaces by another."""
    from pyspark.sql import functions as F

    value = F.col("x")
    for k in range(levels):
        value = F.ifnull(value, F.lit(k))
    return df.select("id", value.alias("y"))


def reassigned(df: DataFrame, steps: int) -> DataFrame:
    """One column, made of itself again and again, each time of three uses of it."""
    from pyspark.sql import functions as F

    for k in range(steps):
        df = df.withColumn("x", F.when(F.col("x") > k % 5, F.col("x") + 1).otherwise(F.col("x")))
    return df


def added(df: DataFrame, steps: int) -> DataFrame:
    from pyspark.sql import functions as F

    for _ in range(steps):
        df = df.withColumn("x", F.col("x") + 1)
    return df


def widened(df: DataFrame, steps: int) -> DataFrame:
    from pyspark.sql import functions as F

    for k in range(steps):
        df = df.withColumn(f"c{k}", F.col("x") + k)
    return df


def same_as_eager(log: Log, df: DataFrame) -> None:
    """A row that is asked about before a run, and after one, has the lineage that eager mode has."""
    eager = log.pipeline(df, mode="eager")
    eager.run()
    asked = sorted(df.collect(), key=str)[3]
    wanted = sorted(map(str, eager.backward(asked)["numbers"].collect()))
    assert wanted
    lazy, kept = log.pipeline(df, save="never"), log.pipeline(df)
    kept.run()
    for pipeline in (lazy, kept):
        lineage = pipeline.backward(asked)
        assert lineage.precise
        assert sorted(map(str, lineage["numbers"].collect())) == wanted
    (row,) = eager.backward(asked)["numbers"].collect()
    assert asked in kept.forward("numbers", row).collect()


@pytest.mark.parametrize("make", [nested, replaced])
def test_the_text_of_a_plan_grows_with_the_nesting_and_no_faster(
    spark: SparkSession, numbers: DataFrame, make: Make
) -> None:
    def characters(levels: int) -> int:
        java = make(numbers, levels)._jdf.queryExecution().analyzed()
        return len(Compact(Jvm(spark)).plan(java).toJSON())

    def parts(levels: int) -> int:
        return sum(1 for _ in walk(read(make(numbers, levels)).root))

    assert characters(40) <= characters(20) <= 2 * characters(10)
    assert parts(40) - parts(20) == 2 * (parts(20) - parts(10))


def test_what_is_cut_out_reads_as_it_does_in_the_whole_text(numbers: DataFrame) -> None:
    from pyspark.sql import functions as F

    x = F.col("x")
    inner = F.when(x > 1, F.ifnull(x, F.lit(2))).when(x > 0, F.to_date(F.lit("2024-01-01")).cast("string").cast("long"))
    outer = numbers.groupBy("id").agg(F.sum(F.when(x > 2, x).otherwise(inner)).alias("y"))
    names = [part.name for part in walk(read(outer).root) if isinstance(part, Call)]
    assert names.count("CaseWhen") == 2
    assert {"Nvl", "ParseToDate", "Coalesce"} <= set(names)
    assert not any("__whence_cut" in str(part) for part in walk(read(outer).root))


@pytest.mark.parametrize(
    ("make", "size"), [(nested, 200), (replaced, 60), (reassigned, 10), (reassigned, 100), (added, 100)]
)
def test_deep_expressions_are_traced(log: Log, numbers: DataFrame, make: Make, size: int) -> None:
    same_as_eager(log, make(numbers, size))


def test_two_hundred_columns_one_after_the_other(log: Log, numbers: DataFrame) -> None:
    same_as_eager(log, widened(numbers, 200))


@pytest.mark.parametrize("make", [nested, reassigned, added])
def test_predicates_grow_no_faster_than_the_plan(numbers: DataFrame, make: Make) -> None:
    def parts(size: int) -> int:
        found = infer(read(make(numbers, size)).root)
        return sum(1 for each in found.restrict.values() for _ in walk(each))

    assert parts(40) <= 2 * parts(20) + LARGEST
    assert parts(80) <= 4 * parts(20) + LARGEST


def test_a_built_up_column_below_a_group_and_a_join(log: Log, numbers: DataFrame) -> None:
    from pyspark.sql import functions as F

    built = reassigned(numbers, 15)
    grouped = built.join(numbers.select("id", F.col("x").alias("old")), "id").groupBy("x").agg(F.sum("old").alias("s"))
    eager = log.pipeline(grouped, mode="eager")
    eager.run()
    lazy = log.pipeline(grouped, save="never")
    for row in grouped.collect()[:2]:
        wanted, found = eager.backward(row), lazy.backward(row)
        assert found.precise
        assert sorted(found["numbers"].collect()) == sorted(wanted["numbers"].collect())


def test_questions_about_wide_rows_take_as_many_steps_as_there_are_columns(log: Log, numbers: DataFrame) -> None:
    from pyspark.sql import functions as F

    def steps(columns: int) -> int:
        """The calls of Python functions that a question takes."""
        wide = numbers.select("id", *((F.col("x") + k).alias(f"c{k}") for k in range(columns))).filter("id > 3")
        asked = wide.collect()[0]
        pipeline = log.pipeline(wide, save="never")
        profile = cProfile.Profile()
        profile.enable()
        pipeline.backward(asked)["numbers"].collect()
        profile.disable()
        return sum(each.callcount for each in profile.getstats())

    steps(10)  # what is done once in a process
    assert steps(160) < 3 * steps(80)


def test_the_explanation_of_a_deep_plan_is_short(log: Log, numbers: DataFrame) -> None:
    assert len(log.pipeline(nested(numbers, 200)).explain()) < 10_000
    assert json.dumps(log.pipeline(reassigned(numbers, 100)).explain())
