"""Cell questions about pipelines put together at random: the answers are what the interpreter of cells says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from whence.rows.determinism.reasons import unpinned
from whence.spark.pipeline import Pipeline
from whence.testing.strategies.pipelines import STEPS, Drawn, pipelines
from whence.testing.table_cells.answers import Judge
from whence.testing.table_cells.spark import differences, interpreted, rewritten, tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = (("a", 1, 1, 0.5), ("a", 2, 1, 1.5), ("a", 2, None, float("nan")), ("b", None, 2, -0.0), (None, 4, 2, None))
LINEAGES = ("value", "value+selection")


@seed(int(os.environ["WHENCE_SEED"]))  # each example costs seconds: a few each day, others every day
@settings(max_examples=3, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(pipelines(5), st.randoms(use_true_random=False))
def test_random_pipelines(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, drawn: Drawn, random: Any
) -> None:
    print(f"repeat this with WHENCE_SEED={os.environ['WHENCE_SEED']}")  # pytest shows it if the test fails
    checked(spark, drawn, random, tmp_path_factory.mktemp("drawn"))


@pytest.mark.parametrize("names", [sorted(STEPS)[start::8] for start in range(8)], ids=lambda names: names[0])
def test_each_step(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    """Every kind of step once: all cells of all rows."""
    for name in names:
        if name == "sample":
            continue  # the interpreter draws no samples
        drawn = Drawn(ROWS, (*ROWS[2:], *ROWS[:2], ROWS[0]), ((name, 1),))
        pipeline = Pipeline(drawn.frame(spark, tmp_path_factory.mktemp("drawn")))
        plan, jvm = pipeline.plan, pipeline.analysis.jvm
        rows, numbers = tables(plan, jvm)
        for lineage in LINEAGES:
            found, _ = rewritten(plan, jvm, numbers, lineage)
            assert not differences(interpreted(plan, rows, lineage), found), f"{name}, {lineage}"


def checked(spark: SparkSession, drawn: Drawn, random: Any, folder: Path) -> None:
    """One pipeline in three states, and questions in both directions about each."""
    df = drawn.frame(spark, random.choice([folder, folder, None]))
    asked = Pipeline(df)
    if any(name == "sample" for name, _ in drawn.steps) or unpinned(asked.plan):
        return
    judge = Judge.of(asked.plan, asked.analysis.jvm)
    ran, eager = Pipeline(df, save=random.choice(["auto", "always"])), Pipeline(df, mode="eager")
    if judge.rows:
        ran.run()
        eager.run()
    names = [attr.name for attr in asked.plan.output]
    for pipeline in (asked, ran, eager):
        lineage, engine = random.choice(LINEAGES), random.choice(["auto", "auto", "spark"])
        columns = random.sample(names, random.choice([1, 1, 2]))
        if judge.rows:
            row = random.choice(judge.rows)
            known = random.sample(names, random.choice([1, 2, 4]))
            question = {name: row.cells[judge._attr(name)].value for name in known}
            faults = judge.backward_faults(pipeline, question, columns, lineage, engine=engine)
            assert not faults, faults
        source = random.choice(sorted(judge.places))
        if judge.tables[source]:
            number, own = random.randrange(len(judge.tables[source])), random.sample("kvwx", 2)
            faults = judge.forward_faults(pipeline, source, number, own, lineage, engine=engine)
            assert not faults, faults
