"""Pipelines like those of notebooks: whence against lineage that was written by hand, in pandas."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.pipelines.all_pipelines import PIPELINES
from tests.pipelines.asking import asked, made
from tests.pipelines.counting import TABLE_7, kinds, operators
from tests.pipelines.pipeline import Piped
from tests.pipelines.tables import write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What pandas API on Spark advises is for others.
pytestmark = pytest.mark.filterwarnings("ignore")
EVERY = bool(os.environ.get("WHENCE_ALL_PIPELINES"))  # `make test-pipelines`
# One of each kind of operator, in PySpark, SQL and pandas API on Spark.
DOZEN = {
    "a fantasy league of more than fifty operators",
    "a cohort table",
    "a function of fourteen branches",
    "a survey of buyers who never clicked",
    "ages imputed with the mean of the city",
    "orders beside the visits of a person",
    "turnstiles, what an hour added",
    "dropped duplicates",
    "scorers of a league",
    "prices and pieces, one below the other",
    "cities that are spelt alike",
    "prices as shares of a position",
}
CHOSEN = [each for each in PIPELINES if EVERY or each.name in DOZEN]
ROWS = 3 if EVERY else 1  # of an output


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write(tmp_path_factory.mktemp("tables"))


def test_there_are_seventy_two_half_of_them_in_pandas() -> None:
    assert len({each.name for each in PIPELINES}) == len(PIPELINES) == 72
    assert sum(each.kind == "pandas" for each in PIPELINES) == 36
    assert all(each.expected is not None for each in PIPELINES)
    assert {each.name for each in PIPELINES} >= DOZEN


@pytest.mark.skipif(not EVERY, reason="it takes a minute to make them all: make test-pipelines")
def test_they_have_as_many_of_each_kind_as_predtrace_counts(spark: SparkSession, paths: dict[str, str]) -> None:
    counted: Counter[str] = Counter()
    sizes = []
    for piped in PIPELINES:
        frame = made(piped, spark, paths)
        counted.update(kinds(frame))
        sizes.append(operators(frame))
    assert {kind: count for kind, count in TABLE_7.items() if counted[kind] < count} == {}
    assert sum(size >= 50 for size in sizes) >= 3


@pytest.mark.parametrize("piped", CHOSEN, ids=lambda each: each.name)
def test_a_pipeline_like_those_of_notebooks(piped: Piped, spark: SparkSession, paths: dict[str, str]) -> None:
    assert asked(piped, spark, paths, ROWS).faults == []
