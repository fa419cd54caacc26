"""Runs that are asked later: by a program that has neither the pipeline's code nor Spark, with the same answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

import whence as wh
from whence.testing.strategies.pipelines import Drawn, pipelines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.spark.pipeline import Pipeline

QUERIES = Path(__file__).with_name("queries")
NUMBERS = [path.stem for path in sorted(QUERIES.glob("q*.sql"))]
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


def told(rows: Any) -> list[str]:
    """Rows as text, in an order."""
    return sorted(map(str, rows.to_pylist()))


def asked_later(log: wh.Log, rows: int = 1) -> Any:
    """What a later program says of the first rows of all runs of a log."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("later.py")), log.where, str(rows)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def asked_now(pipeline: Pipeline, rows: list[Any], number: int) -> dict[str, Any]:
    """The same from the pipeline itself."""
    lineage = pipeline.backward(tuple(rows[number]))
    found: dict[str, Any] = {"precise": lineage.precise, "backward": {}, "forward": {}}
    for name in lineage:
        which, held = lineage.identities(name), lineage.arrow(name)
        found["backward"][name] = [told(which), told(held)]
        if which.num_rows and which.num_columns == 2:
            reached = told(pipeline.forward(name, held.slice(0, 1).to_pylist()[0]).arrow())
            found["forward"][name] = reached
    return found


def same(now: dict[str, Any], later: dict[str, Any]) -> None:
    assert later["backward"] == now["backward"]
    assert later["precise"] == now["precise"]
    assert later["forward"].keys() == now["forward"].keys()
    for name, (by_number, by_value) in later["forward"].items():
        assert by_value == now["forward"][name]
        assert set(by_number) <= set(by_value), "a row is one of those that are equal to it"
        assert by_number


# --- TPC-H


@pytest.fixture(scope="module")
def tpch_answers(
    spark: SparkSession, tpch_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Any, Any]]:
    """For each query: what the pipeline says of its first row, and what a later program says."""
    for table in TABLES:
        spark.read.parquet(str(tpch_files / f"{table}.parquet")).createOrReplaceTempView(table)
    now: dict[str, Any] = {}
    with wh.open(tmp_path_factory.mktemp("later") / "tpch.whence") as log:
        for number in NUMBERS:
            pipeline = log.pipeline(spark.sql((QUERIES / f"{number}.sql").read_text()), name=number)
            rows = pipeline.run().collect()
            now[number] = asked_now(pipeline, rows, 0) if rows else None
        names = {str(run.id): run.pipeline for run in log.runs()}
        later = {names[number]: found for number, found in asked_later(log).items()}
    return {number: (now[number], later[number]) for number in NUMBERS}


@pytest.mark.parametrize("number", NUMBERS)
def test_tpch_is_asked_later_without_spark(tpch_answers: dict[str, tuple[Any, Any]], number: str) -> None:
    """DuckDB suffices for every query."""
    now, later = tpch_answers[number]
    assert now is not None
    same(now, later["answers"]["0"])


# --- anything else


@seed(int(os.environ["WHENCE_SEED"]))
@settings(max_examples=5, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(pipelines())
def test_random_pipelines_are_asked_later(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, drawn: Drawn
) -> None:
    """The same answer, or an error that says what it takes."""
    folder = tmp_path_factory.mktemp("drawn")
    with wh.open(folder / "a.whence") as log:
        pipeline = log.pipeline(drawn.frame(spark, folder), name="drawn")
        rows = pipeline.run().collect()
        (later,) = asked_later(log, 3).values()
        assert later["columns"] == list(pipeline.run().columns)
        for number, found in later["answers"].items():
            if not isinstance(found, str):
                same(asked_now(pipeline, rows, int(number)), found)
