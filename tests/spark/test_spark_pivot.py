"""Pivots: rows whose value is listed contribute; the others only where a group has no listed row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import whence as wh

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.log import Log

# The groups of g: listed values only, some of them, none of them, only nulls, values that are null where k is listed.
SALES = pd.DataFrame(
    {
        "id": range(1, 15),
        "g": ["x", "x", "x", "y", "y", "y", "z", "z", "n", "n", "v", "v", "v", "v"],
        "k": ["a", "b", "a", "a", "c", None, "c", "d", None, None, "a", "a", "c", "b"],
        "w": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, np.nan, np.nan, 13, 14],
        "s": ["p", "q", "r", "p", "t", "u", "p", "q", "r", "s", None, None, "p", "q"],
    }
)
LISTED = ["a", "b"]


def by_hand(group: pd.DataFrame, values: list[Any] = LISTED) -> list[int]:
    """The lineage of a pivoted row, for aggregates that all rows of a group have a part in."""
    within = group[group["k"].isin(values)]
    return sorted((within if len(within) else group)["id"].tolist())


def largest_by_hand(group: pd.DataFrame) -> list[int]:
    """The same for max: of each listed value, the rows that attain it."""
    found: list[int] = []
    for value in LISTED:
        rows = group[group["k"] == value]
        best = rows["s"].dropna().max() if rows["s"].notna().any() else None
        found += rows[rows["s"].isna() if best is None else rows["s"] == best]["id"].tolist()
    return sorted(found) or sorted(group["id"].tolist())


PIVOTS: dict[str, tuple[Callable[[Any], Any], Callable[[pd.DataFrame], list[int]]]] = {
    "sum": (lambda t: t.groupBy("g").pivot("k", LISTED).sum("w"), by_hand),
    "count": (lambda t: t.groupBy("g").pivot("k", LISTED).count(), by_hand),
    "two aggregates": (lambda t: t.groupBy("g").pivot("k", LISTED).agg({"w": "sum", "id": "avg"}), by_hand),
    "lists": (lambda t: t.groupBy("g").pivot("k", LISTED).agg({"s": "collect_list"}), by_hand),
    "the largest text": (lambda t: t.groupBy("g").pivot("k", LISTED).agg({"s": "max"}), largest_by_hand),
    "all values": (
        lambda t: t.groupBy("g").pivot("k").sum("w"),
        lambda group: by_hand(group, ["a", "b", "c", "d", None]),
    ),
    "a null in the list": (
        lambda t: t.groupBy("g").pivot("k", ["b", None]).sum("w"),
        lambda group: by_hand(group, ["b", None]),
    ),
    "numbers": (
        lambda t: t.withColumn("n", t.id % 3).groupBy("g").pivot("n", [0, 1]).sum("w"),
        lambda group: by_hand(group.assign(k=group["id"] % 3), [0, 1]),
    ),
    "filtered": (lambda t: t.groupBy("g").pivot("k", LISTED).sum("w").where("g < 'z'"), by_hand),
}


@pytest.fixture(scope="module")
def sales(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DataFrame]:
    path = str(tmp_path_factory.mktemp("pivot") / "sales.parquet")
    SALES.assign(w=SALES["w"].astype("Int64")).to_parquet(path)
    file = spark.read.parquet(path)
    rows = [tuple(row) for row in file.collect()]
    return {"file": file, "memory": spark.createDataFrame(rows, file.schema)}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with wh.open(tmp_path / "p.whence") as opened:
        yield opened


KINDS = [(name, "file") for name in PIVOTS] + [("sum", "memory"), ("the largest text", "memory")]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_the_lineage_is_what_is_written_by_hand(sales: dict[str, DataFrame], log: Log, name: str, kind: str) -> None:
    make, lineage = PIVOTS[name]
    df = make(sales[kind])
    expected = {str(g): lineage(group) for g, group in SALES.groupby("g")}
    groups = [row.g for row in df.select("g").collect()]
    assert set(groups) <= expected.keys()
    asked = [g for g in groups if g in "yzv"]  # groups with rows of both kinds, with none that is listed, of nulls
    for save, mode, ran in (
        ("auto", "lazy", True),
        ("always", "lazy", True),
        ("auto", "lazy", False),
        ("never", "lazy", False),
        ("auto", "eager", True),
    ):
        pipeline = log.pipeline(df, name=f"{name} {kind} {save}", save=save, mode=mode, sources={"sales": sales[kind]})
        if ran:
            pipeline.run()
        for g in asked:
            found = pipeline.backward({"g": g})
            assert found.precise, found.reason
            assert sorted(row.id for row in found["sales"].collect()) == expected[g], (save, mode, ran, g)
        for number in (4, 5):  # of a value that is listed, and of one that is not
            reached = pipeline.forward("sales", {"id": number})
            assert reached.precise
            assert [row.g for row in reached.collect()] == [g for g in groups if number in expected[g]]


def test_a_condition_in_an_aggregate_is_no_pivot(sales: dict[str, DataFrame], log: Log) -> None:
    from pyspark.sql import functions as F

    for text in (
        "collect_list(if(k <=> 'a', s, null))",
        "max(if(k <=> 'a', w, null))",
        "sum(w) filter (where k = 'a')",
    ):
        df = sales["file"].groupBy("g").agg(F.expr(text).alias("a"))
        found = log.pipeline(df, witness="group").backward({"g": "y"})
        assert found.precise
        assert sorted(row.id for row in found["sales"].collect()) == [4, 5, 6]


def test_pivot_in_sql(spark: SparkSession, sales: dict[str, DataFrame], log: Log) -> None:
    sales["file"].createOrReplaceTempView("pivoted")
    try:
        df = spark.sql("select * from (select g, k, w, id from pivoted) pivot (sum(w), max(id) for k in ('a', 'b'))")
    finally:
        spark.catalog.dropTempView("pivoted")
    pipeline = log.pipeline(df)
    pipeline.run()
    found = pipeline.backward({"g": "y"})
    assert found.precise
    assert [row.id for row in found["pivoted"].collect()] == [4]
