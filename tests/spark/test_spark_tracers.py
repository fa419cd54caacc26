"""Which tracer answers, why the ones before it cannot, and that finding out changes and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import whence as wh
from whence.spark.running.find import find
from whence.spark.tracing.choose import TRACERS, tracer_for
from whence.spark.tracing.matching import Matcher
from whence.spark.tracing.tracer import Asking

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.log import Log
    from whence.spark.pipeline import Pipeline

SAVED, ANNOTATED, RECOMPUTED, REPLAYED = (each.__name__ for each in TRACERS)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with wh.open(tmp_path / "log.whence") as opened:
        yield opened


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> DataFrame:
    rows = [(1, "ann", 5), (2, "bob", 7), (3, "ann", 2)]
    spark.createDataFrame(rows, "id int, who string, amount int").coalesce(1).write.parquet(str(tmp_path / "orders"))
    return spark.read.parquet(str(tmp_path / "orders"))


def totals(orders: DataFrame) -> DataFrame:
    return orders.groupBy("who").agg({"amount": "sum"})


def chosen(pipeline: Pipeline, engine: str = "auto", witness: str = "rows") -> str:
    """The class of the tracer that answers."""
    subject = find(pipeline.analysis) if pipeline._subject is None else pipeline._subject
    return type(tracer_for(subject, Asking(Matcher(pipeline.analysis.jvm, engine), witness))).__name__


def test_each_tracer_answers_where_those_before_it_cannot(orders: DataFrame, log: Log) -> None:
    pipeline = log.pipeline(totals(orders))
    assert chosen(pipeline) == RECOMPUTED
    pipeline.run()
    assert chosen(pipeline) == SAVED
    assert chosen(log.pipeline(totals(orders))) == SAVED, "the log knows the run"
    assert chosen(log.pipeline(totals(orders), save="never")) == RECOMPUTED
    assert chosen(pipeline, witness="group") == REPLAYED
    eager = log.pipeline(totals(orders), mode="eager")
    assert chosen(eager) == REPLAYED
    eager.run()
    assert chosen(eager) == ANNOTATED
    assert chosen(eager, witness="group") == REPLAYED
    assert chosen(log.pipeline(orders.selectExpr("who", "uuid() as key"))) == REPLAYED


def test_explain_says_who_answers_and_why_not_the_others(orders: DataFrame, log: Log) -> None:
    pipeline = log.pipeline(totals(orders))
    before = pipeline.explain().splitlines()
    assert "a question is answered from the files, with DuckDB" in before
    assert "  not from what a run saved: no run of this pipeline over these files is known" in before
    pipeline.run()
    assert "a question is answered from what a run saved" in pipeline.explain().splitlines()
    keyed = log.pipeline(orders.selectExpr("who", "uuid() as key")).explain()
    assert "answered from a replay" in keyed
    assert "another run may give other rows" in keyed


def test_explain_runs_no_spark_job(spark: SparkSession, orders: DataFrame, log: Log) -> None:
    tied = orders.selectExpr("id", "sum(amount) over (order by who rows unbounded preceding) as total")
    pipeline = log.pipeline(tied)
    spark.sparkContext.setJobGroup("explaining", "explaining")
    try:
        assert "not reproducible" in pipeline.explain()
        assert pipeline.trace_plan.unavailable_reason
        assert not spark.sparkContext.statusTracker().getJobIdsForGroup("explaining")
        assert not pipeline.backward({"id": 1}).precise, "there are ties, and a job found them"
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("explaining")
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type] # None clears it


def test_finding_a_run_changes_nothing(orders: DataFrame, log: Log) -> None:
    timed = orders.selectExpr("id", "current_timestamp() as at")
    log.pipeline(timed).run()
    pipeline = log.pipeline(timed)
    before = pipeline.analysis
    one, other = find(before), find(before)
    assert one.analysis is not before
    assert one.analysis.time == other.analysis.time is not None
    assert before.time is None
    assert "currenttimestamp()" in str(before.plan)
    assert "currenttimestamp()" not in str(one.analysis.plan)
    assert pipeline.analysis is before
    assert pipeline.artifacts is None


def test_a_failed_run_leaves_the_run_before_it(
    orders: DataFrame, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = log.pipeline(totals(orders))
    pipeline.run()
    before = pipeline.artifacts

    def broken(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("whence.spark.running.execute.run_saving", broken)
    with pytest.raises(OSError, match="no space"):
        pipeline.run()
    assert pipeline.artifacts is before
    assert pipeline.backward({"who": "bob"}).precise
