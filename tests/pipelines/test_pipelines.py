"""Pipelines like those of notebooks: whence against lineage that was written by hand, in pandas."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import tests.pipelines.pandas_pipelines
import tests.pipelines.spark_pipelines  # noqa: F401  # both fill the list
from tests.pipelines.pipeline import PIPELINES, Piped
from tests.pipelines.tables import ROWS, Tables, write

from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What pandas API on Spark advises is for others.
pytestmark = pytest.mark.filterwarnings("ignore")
EVERY = bool(os.environ.get("WHENCE_ALL_PIPELINES"))  # `make test-pipelines`
CHOSEN = PIPELINES if EVERY else PIPELINES[::3]
ASKED = 3  # rows of an output
assert {each.kind for each in PIPELINES} == {"spark", "sql", "pandas"}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write(tmp_path_factory.mktemp("tables"))


def made(piped: Piped, spark: SparkSession, paths: dict[str, str]) -> Any:
    from pyspark.sql import functions as F

    if piped.kind == "pandas":
        import pyspark.pandas as ps

        return piped.make(ps, SimpleNamespace(**{name: ps.read_parquet(path) for name, path in paths.items()}))
    frames = {name: spark.read.parquet(path) for name, path in paths.items()}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    return piped.make(spark, F, SimpleNamespace(**frames))


def of(answer: Any, source: str) -> set[int]:
    return set(answer.arrow(source).column("id").to_pylist())


@pytest.mark.parametrize("piped", CHOSEN, ids=lambda each: each.name)
def test_a_pipeline_like_those_of_notebooks(piped: Piped, spark: SparkSession, paths: dict[str, str]) -> None:
    assert piped.expected is not None
    frame = made(piped, spark, paths)
    p = Pipeline(frame)
    rows = [row.asDict() for row in p.analysis.df.collect()]
    assert rows, "a pipeline without rows shows nothing"
    tables = Tables()
    wanted = [piped.expected(tables, row) for row in rows]
    for row, lineage in list(zip(rows, wanted, strict=True))[:ASKED]:
        answer = p.backward(row)
        assert answer.precise or piped.superset, answer.reason
        for source, expected in lineage.items():
            found = of(answer, source)
            assert found == expected if answer.precise else found >= expected, (row, source)
    forward(piped, p, rows, wanted)


def forward(piped: Piped, p: Pipeline, rows: list[dict[str, Any]], wanted: list[dict[str, set[int]]]) -> None:
    """The rows that a source row reached are those whose lineage holds it."""
    source = next(name for name in wanted[0] if any(each[name] for each in wanted))
    asked = min(min(each[source]) for each in wanted if each[source])
    (given,) = [row for row in ROWS[source] if row["id"] == asked]
    reached = p.forward(source, given)
    expected = sorted(repr(row) for row, each in zip(rows, wanted, strict=True) if asked in each[source])
    found = sorted(repr(row.asDict()) for row in reached.collect())
    assert found == expected if reached.precise else set(found) >= set(expected)
