"""Materialized runs know the cells of every row: what the log stores is what the interpreter of cells says.

Each pipeline takes seconds, so a few are tried. `python tests/spark/test_spark_materialized.py` tries every kind of
step, and all of TPC-H.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import whence as wh
from whence.relation.table_cells import TableRelation
from whence.rows.determinism.reasons import unpinned
from whence.rows.questions.restrict import sources
from whence.rows.tree import walk
from whence.spark.tables.held import held_table
from whence.testing.strategies.pipelines import STEPS, Drawn, pipelines
from whence.testing.table_cells.spark import differences, interpreted, tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.spark.pipeline import Pipeline

ROWS = (("a", 1, 1, 0.5), ("a", 2, 1, 1.5), ("a", 2, None, float("nan")), ("b", None, 2, -0.0), (None, 4, 2, None))
LINEAGES: tuple[Literal["value", "value+selection"], ...] = ("value", "value+selection")
TRIED = ("case", "max and min", "semi join", "group by")


@pytest.mark.parametrize("step", TRIED)
def test_the_cells_of_a_step(spark: SparkSession, tmp_path: Path, step: str) -> None:
    drawn = Drawn(ROWS, (*ROWS[2:], *ROWS[:2], ROWS[0]), ((step, 1),))
    checked(drawn.frame(spark, tmp_path), tmp_path / "log.whence", every=True)


@seed(int(os.environ.get("WHENCE_SEED", "0")))  # each example costs seconds: a few each day, others every day
@settings(max_examples=2, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(pipelines(4), st.booleans())
def test_random_pipelines(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, drawn: Drawn, files: bool
) -> None:
    print(f"repeat this with WHENCE_SEED={os.environ.get('WHENCE_SEED')}")  # pytest shows it if the test fails
    folder = tmp_path_factory.mktemp("drawn")
    checked(drawn.frame(spark, folder if files else None), folder / "log.whence")


def checked(df: DataFrame, place: Path, *, every: bool = False) -> tuple[str, ...]:
    """Compare all stored cells of a pipeline with the interpreter's; what was not stored, and why."""
    with wh.open(place) as log:
        pipeline = log.pipeline(df, name="made")
        if any(type(part).__name__ == "Sample" for part in walk(pipeline.plan)) or unpinned(pipeline.plan):
            return ("another run may give other rows",)
        missing = pipeline.materialize().missing
        compared(log, pipeline, LINEAGES if every else [each for each in LINEAGES if not _lacks(missing, each)])
        assert log.check().ok, log.check()
    return missing


def _lacks(missing: tuple[str, ...], lineage: str) -> bool:
    return any(each.startswith(f"the cells by {lineage} are not stored") for each in missing)


def compared(log: wh.Log, pipeline: Pipeline, lineages: Sequence[str]) -> None:
    """Each cell of the output in both directions, as the log stores it and as the interpreter says."""
    plan, store = pipeline.plan, log._store
    read, _ = tables(plan, pipeline.analysis.jvm)
    names = {each.occurrence: each.name for each in sources(plan)}
    columns = {each.name: [attr.name for attr in each.columns] for each in sources(plan)}
    output = held_table(store, "made")
    rows = output.arrow(np.arange(output.shape[0]))
    values = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    relations = {each.input: store.reader.boxes(each.hash) for each in log.show("made").derived_from if each.hash}
    for lineage in lineages:
        found = []
        for row, of_row in enumerate(values):
            cells = []
            for column in range(len(plan.output)):
                of_column = set()
                for name, relation in relations.items():
                    assert isinstance(relation, TableRelation)
                    asked = wh.Selection.of([(row, column)], relation.out_shape)
                    for number, place in relation.traced_cells(asked, "backward", lineage).selection.cells().tolist():
                        of_column.add((name, number, columns[name][place]))
                        there = wh.Selection.of([(number, place)], relation.in_shape)
                        assert (row, column) in relation.traced_cells(there, "forward", lineage).selection
                cells.append(frozenset(of_column))
            found.append((of_row, tuple(cells)))
        expected = [
            (of_row, tuple(frozenset((names[use], at, name) for use, at, name in cells) for cells in lineages))
            for of_row, lineages in interpreted(plan, read, lineage)
        ]
        assert not differences(expected, found), lineage  # type: ignore[arg-type] # sources by name, not by use


def test_cells_are_asked_without_spark_and_files(spark: SparkSession, tmp_path: Path) -> None:
    """With a `max` among the operators and some columns handed over: from the array to cells of a file that is gone."""
    from pyspark.sql import functions as F

    file = tmp_path / "orders.parquet"
    pd.DataFrame({"customer": [n % 3 for n in range(9)], "amount": [float(n) for n in range(9)]}).to_parquet(file)
    grouped = spark.read.parquet(str(file)).groupBy("customer")
    df = grouped.agg(F.sum("amount").alias("total"), F.max("amount").alias("most"))
    with wh.open(tmp_path / "log.whence") as log:
        pipeline = log.pipeline(df, name="totals")
        X = pipeline.to_numpy(["total", "most"], name="X")
        row = X[:, 1].tolist().index(8.0)
        asked = {lineage: log.backward("X", [(row, 1)], lineage=lineage) for lineage in LINEAGES}
        stored = pipeline.materialize()
        assert not stored.missing
        assert stored.bytes_per_row < 1000
        held = {lineage: log.backward("X", [(row, 1)], lineage=lineage) for lineage in LINEAGES}
        assert {each: found["orders"] for each, found in held.items()} == {
            each: found["orders"] for each, found in asked.items()
        }
        assert pipeline.to_numpy(["most"], name="Y").shape == (3, 1)  # the run is recorded again: no cells get lost
    file.unlink()
    with wh.open(tmp_path / "log.whence") as log:
        found = log.backward("X", [(row, 1)], lineage="value")
        assert found["orders"].cells().tolist() == [[8, 1]]
        assert found.precise
        assert "cells" in {step.how for step in found.steps}
        assert log.forward("orders", [(8, 1)], lineage="value")["X"].cells().tolist() == [[row, 0], [row, 1]]
        mixed = wh.Selection.parse(f"{row},:", (3, 3)) | wh.Selection.parse("0:3,2", (3, 3))
        assert log.backward("totals", mixed)["orders"].count == 14


if __name__ == "__main__":
    from whence.spark import local_session

    sys.path.insert(0, str(Path(__file__).parent))
    from test_spark_cells_tpch import (  # type: ignore[import-not-found] # it lies beside this file
        ALL,
        QUERIES,
        TABLES,
        made,
    )  # fmt: skip

    session = local_session("local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"})
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        names = sys.argv[1:] or [*sorted(STEPS), *ALL]
        if set(names) & set(ALL):
            (root / "tpch").mkdir()
            made(root / "tpch")
            for table in TABLES:
                session.read.parquet(str(root / "tpch" / f"{table}.parquet")).createOrReplaceTempView(table)
        for at, name in enumerate(names):
            (root / str(at)).mkdir()
            if name in ALL:
                frame = session.sql((QUERIES / f"{name}.sql").read_text())
            else:
                frame = Drawn(ROWS, (*ROWS[2:], *ROWS[:2], ROWS[0]), ((name, 1),)).frame(session, root / str(at))
            print(name, checked(frame, root / str(at) / "log.whence") or "agrees", flush=True)
    session.stop()
