"""Pipelines put together at random: what is inferred is what ids show, and the lineage makes the row again."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from whence.rows.determinism.reasons import unpinned
from whence.rows.questions.restrict import sources
from whence.rows.questions.rows import Asked
from whence.spark.catalyst.frames import frame
from whence.spark.catalyst.plan import read
from whence.spark.pipeline import Pipeline
from whence.testing.rows import AnnotatedRow, annotated, answer_faults, faults, over_only
from whence.testing.strategies.pipelines import STEPS, Drawn, pipelines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUESTIONS = 4
ROWS = (("a", 1, 1, 0.5), ("a", 2, 1, 1.5), ("a", 2, None, float("nan")), ("b", None, 2, -0.0), (None, 4, 2, None))


@seed(int(os.environ["WHENCE_SEED"]))  # each example costs seconds: a few each day, others every day
@settings(max_examples=6, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(pipelines(), st.data())
def test_random_pipelines(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, drawn: Drawn, data: st.DataObject
) -> None:
    print(f"repeat this with WHENCE_SEED={os.environ['WHENCE_SEED']}")  # pytest shows it if the test fails
    random, witness = data.draw(st.randoms(use_true_random=False)), data.draw(st.sampled_from(["rows", "group"]))
    checked(spark, drawn, random, witness, tmp_path_factory.mktemp("drawn"))


@pytest.mark.parametrize("names", [sorted(STEPS)[start::8] for start in range(8)], ids=lambda names: names[0])
def test_each_step(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    """Every kind of step once, over the tables as they are: what random pipelines may leave out."""
    from random import Random

    for name in names:
        drawn = Drawn(ROWS, (*ROWS[2:], *ROWS[:2], ROWS[0]), ((name, 1),))
        checked(spark, drawn, Random(name), "rows", tmp_path_factory.mktemp("drawn"))


def test_a_run_goes_on_where_spark_renumbers_columns(spark: SparkSession, tmp_path: Path) -> None:
    steps = (("unpivot", 2), ("left join", 7), ("group by a fraction", 3))
    df = Drawn(ROWS, (*ROWS[2:], *ROWS[:2], ROWS[0]), steps).frame(spark, tmp_path)
    for save in ("auto", "always"):
        ran = Pipeline(df, save=save)
        assert shown(map(tuple, ran.run().collect())) == shown(map(tuple, df.collect()))
        assert ran.artifacts is not None
        assert not ran.artifacts.failures
        assert ran.artifacts.results


def checked(spark: SparkSession, drawn: Drawn, random: Any, witness: str, folder: Path) -> None:
    """One pipeline, and some questions about it: whole rows and parts of rows, over files or tables in memory."""
    df = drawn.frame(spark, random.choice([folder, folder, None]))
    plan = read(df)
    steady = not unpinned(plan.root)
    rows = annotated(plan, witness)
    if steady:
        assert shown(row.values for row in rows) == shown(map(tuple, df.collect())), "the output with ids is another"
    if not rows:
        return
    questions: list[Asked] = []
    for number in range(QUESTIONS):
        row = random.choice(rows)
        places = range(len(row.values))
        columns = places if number == 0 else sorted(random.sample(places, 1 + number % 3))
        questions.append(tuple((plan.root.output[i], row.values[i]) for i in columns))
    if not steady:
        return
    random.shuffle(questions)
    assert not faults(plan, rows, questions, witness)
    assert not answer_faults(Pipeline(df, witness=witness), plan, rows, questions[0])
    ran = Pipeline(df, witness=witness, save=random.choice(["auto", "always"]))
    assert shown(map(tuple, ran.run().collect())) == shown(row.values for row in rows), "it goes on from other rows"
    assert ran.artifacts is not None
    assert not ran.artifacts.failures
    if ran.artifacts.complete:
        assert not [fault for each in questions[:2] for fault in answer_faults(ran, plan, rows, each)]
    if drawn.monotone:
        row = random.choice(rows)
        made = frame(over_only(plan, row.ids), plan.jvm).collect()
        assert shown([row.values])[0] in shown(map(tuple, made)), "the lineage does not give the row again"


def shown(rows: Any) -> list[str]:
    """Rows in no order; zero is zero, whatever its sign."""
    return sorted(
        repr(tuple(0.0 if value == 0 and isinstance(value, float) else value for value in row)) for row in rows
    )


def test_forward_is_the_inverse(spark: SparkSession) -> None:
    """A source row reaches the output rows whose lineage holds it, or one that is equal to it."""
    for names in (("left join", "max and min"), ("union all, marked", "except all"), ("running sum", "in or")):
        drawn = Drawn(ROWS, (*ROWS[2:], ROWS[1]), tuple((name, 1) for name in names))
        df = drawn.frame(spark)
        rows = annotated(read(df))
        pipeline = Pipeline(df)
        for number, row in enumerate(ROWS[:2]):
            reached = pipeline.forward("rx", row).collect()
            uses = [source.occurrence for source in sources(pipeline.plan) if source.name == "rx"]
            assert shown(map(tuple, reached)) == shown(each.values for each in rows if held(each, uses, spark, number))


def held(row: AnnotatedRow, uses: list[int], spark: SparkSession, number: int) -> bool:
    ids = [each for each, *_ in spark.sql("select monotonically_increasing_id() i, * from rx").collect()]
    return ids[number] in set(chain.from_iterable(row.ids[use] for use in uses))
