"""Functions of groups that are tried on fewer rows, and runs that keep the lineage of what they gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import whence
from whence.spark.lineage import Lineage
from whence.spark.pipeline import Pipeline
from whence.spark.tracing.tried import MOST, search

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = [(1, "a", 10), (2, "a", 20), (3, "a", 5), (4, "b", 7), (5, "b", 8)]
TRIED = "replayed, functions tried on fewer rows"


@pytest.fixture(scope="module")
def t(spark: SparkSession) -> DataFrame:
    spark.createDataFrame(ROWS, "i int, k string, v int").createOrReplaceTempView("tried")
    return spark.table("tried")


def ids(lineage: Lineage) -> list[int]:
    return sorted(each["i"] for each in lineage["tried"].collect())


def test_rows_that_give_the_row_again_are_its_witnesses(t: DataFrame) -> None:
    p = Pipeline(t.groupBy("k").applyInPandas(lambda rows: rows.nlargest(2, "v"), t.schema))
    group, rows = p.backward({"i": 2}), p.backward({"i": 2}, witness="rows")
    assert (ids(group), group.how, group.precise) == ([1, 2, 3], "replayed", True)
    assert (ids(rows), rows.how, rows.precise) == ([2], TRIED, True)
    assert [row["i"] for row in p.forward("tried", {"i": 1}, witness="rows").collect()] == [1]


def test_the_witnesses_of_a_cogroup_are_of_its_own_side(spark: SparkSession, t: DataFrame) -> None:
    other = spark.createDataFrame([(11, "a"), (12, "b")], "j int, k string")

    def left_alone(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        return left[left["v"] > 6]

    both = t.groupBy("k").cogroup(other.groupBy("k")).applyInPandas(left_alone, t.schema)
    found = Pipeline(both, sources={"other": other}).backward({"i": 4}, witness="rows")
    assert ids(found) == [4]
    assert found["other"].collect() == []


def test_a_map_of_batches_is_tried_on_single_rows(t: DataFrame) -> None:
    def doubled(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for part in parts:
            yield part[part["v"] > 6].assign(v=lambda rows: rows["v"] * 2)

    found = Pipeline(t.mapInPandas(doubled, t.schema)).backward({"v": 40}, witness="rows")
    assert (ids(found), found.how) == ([2], TRIED)
    assert found.reason == "MapInPandas(doubled) is opaque: only single rows and batches were tried"

    def counted(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"n": [sum(len(part) for part in parts)]})

    found = Pipeline(t.coalesce(1).mapInPandas(counted, "n long")).backward({"n": 5}, witness="rows")
    assert ids(found) == [1, 2, 3, 4, 5]


def test_a_run_keeps_the_lineage_of_groups(spark: SparkSession, t: DataFrame, tmp_path: Path) -> None:
    t.coalesce(1).write.parquet(str(tmp_path / "tried"))
    log = whence.open(tmp_path / "log")
    most = {"a": 2}

    def largest() -> DataFrame:
        """The same pipeline, made anew."""

        def of_group(rows: pd.DataFrame) -> pd.DataFrame:
            return rows.nlargest(most.get(rows["k"].iloc[0], 1), "v")

        read = spark.read.parquet(str(tmp_path / "tried"))
        return read.groupBy("k").applyInPandas(of_group, read.schema)

    p = log.pipeline(largest(), name="largest")
    assert "not followed: the function of_group() holds most (a dict of 1)" in p.explain()
    assert len(p.run().collect()) == 3
    found = p.backward({"i": 5})
    assert (ids(found), found.how) == ([4, 5], "annotated"), "the function is not called again"
    assert log.pipeline(largest(), name="largest").backward({"i": 5}).how == "annotated", "known by its code"
    most["a"] = 1
    assert log.pipeline(largest(), name="largest").backward({"i": 5}).how == "replayed", "other data in its closure"


GROUP = pd.DataFrame({"k": ["a"] * 4, "v": [3, 1, 4, 1]})


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda rows: rows.nlargest(2, "v"), [[2], [0]]),
        (lambda rows: rows.sort_values("v").assign(w=lambda part: part["v"] * 2), [[1], [3], [0], [2]]),
        (lambda rows: rows.groupby("v").head(1), [[0], [1], [2]]),
        (lambda rows: rows.assign(c=rows["v"].cumsum()), [[0], None, None, None]),
        (lambda rows: rows.assign(d=rows["v"] - rows["v"].mean()), [None] * 4),
        (lambda rows: pd.DataFrame({"total": [rows["v"].sum(), rows["v"].min()]}), [None, None]),
        (lambda rows: rows.loc[[0]], [None]),  # it goes by labels: with others it fails
        (lambda rows: rows.assign(n=rows.index), [None] * 4),
        (lambda rows: rows.iloc[:0], []),
        (lambda rows: pd.concat([rows] * (MOST // 4 + 1)), [None] * (MOST + 4)),
    ],
)
def test_witnesses_of_a_group(function: Callable[[pd.DataFrame], pd.DataFrame], wanted: list[list[int] | None]) -> None:
    def run(parts: list[Any]) -> Any:
        return function(parts[0])

    given = GROUP.copy()
    result, found = search()(run, [given])
    assert [each if each is None else each[0] for each in found] == wanted
    pd.testing.assert_frame_equal(result, function(GROUP.copy()))
    pd.testing.assert_frame_equal(given, GROUP)


def test_a_map_of_arrow_is_tried_on_single_rows(t: DataFrame) -> None:
    one = t.coalesce(1)

    def larger(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            yield part.filter(pc.greater(part.column("v"), 6))

    def shares(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            whole = pc.sum(part.column("v"))
            yield part.set_column(2, "v", pc.cast(pc.subtract(whole, part.column("v")), pa.int32()))

    def total(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": [sum(part.num_rows for part in parts)]})

    def demanding(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            if part.num_rows < 5:
                raise ValueError("too few rows")
            yield part

    def asked(df: DataFrame, row: dict[str, Any]) -> list[int]:
        found = Pipeline(df).backward(row, witness="rows")
        assert found.how == TRIED
        assert "only single rows and batches were tried" in (found.reason or "")
        return ids(found)

    assert asked(one.mapInArrow(larger, one.schema), {"i": 2}) == [2]
    assert asked(one.mapInArrow(shares, one.schema), {"i": 2}) == [1, 2, 3, 4, 5], "its batch"
    assert asked(one.mapInArrow(total, "n long"), {"n": 5}) == [1, 2, 3, 4, 5], "its partition"
    assert asked(one.mapInArrow(demanding, one.schema), {"i": 2}) == [1, 2, 3, 4, 5], "it fails on single rows"
    assert ids(Pipeline(t.mapInArrow(larger, t.schema)).backward({"i": 2})) == [1, 2, 3, 4, 5], "the whole, not asked"


def test_a_grouped_map_of_arrow_is_tried_on_single_rows(t: DataFrame) -> None:
    def larger(rows: pa.Table) -> pa.Table:
        return rows.filter(pc.greater(rows.column("v"), 6))

    def largest(rows: pa.Table) -> pa.Table:
        return rows.sort_by([("v", "descending")]).slice(0, 1)

    found = Pipeline(t.groupBy("k").applyInArrow(larger, t.schema)).backward({"i": 1}, witness="rows")
    assert (ids(found), found.how, found.precise) == ([1], TRIED, True)
    found = Pipeline(t.groupBy("k").applyInArrow(largest, t.schema)).backward({"i": 2}, witness="rows")
    assert (ids(found), found.precise) == ([1, 2, 3], True), "one row alone gives itself, whatever it is"
