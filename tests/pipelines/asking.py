"""Asks about a pipeline, backward and forward, before and after a run, and compares with lineage written by hand."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.pipelines.counting import kinds, operators
from tests.pipelines.pipeline import Lineage, Piped
from tests.pipelines.tables import ROWS, Tables

from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Small tables: one partition, and no time spent on compiling.
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
STAGES = ("before a run", "after a run", "eager")


@dataclass
class Report:
    """What was found about one pipeline. Times in seconds."""

    name: str
    kind: str
    operators: int = 0
    kinds: tuple[str, ...] = ()
    faults: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)  # by stage, why an answer is a superset
    saved: bool = False  # a run saves something
    inference: float = 0.0
    plain: float = 0.0  # the pipeline as it is
    run: float = 0.0  # the pipeline with what a run saves
    question: float = 0.0  # after a run


@dataclass
class _Asked:
    """The rows of an output that are asked about, and their lineage as it was written by hand."""

    rows: list[dict[str, Any]]
    wanted: list[Lineage]
    most: int


def made(piped: Piped, spark: SparkSession, paths: dict[str, str]) -> Any:
    """The DataFrame of a pipeline."""
    from pyspark.sql import functions as F

    if piped.kind == "pandas":
        import pyspark.pandas as ps

        return piped.make(ps, SimpleNamespace(**{name: ps.read_parquet(path) for name, path in paths.items()}))
    frames = {name: spark.read.parquet(path) for name, path in paths.items()}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    return piped.make(spark, F, SimpleNamespace(**frames))


def asked(piped: Piped, spark: SparkSession, paths: dict[str, str], most: int) -> Report:
    """The lineage of `most` rows, and where the first of their source rows went, at every stage."""
    assert piped.expected is not None
    report = Report(piped.name, piped.kind)
    frame = made(piped, spark, paths)
    report.operators, report.kinds = operators(frame), tuple(sorted(kinds(frame)))
    start = time.perf_counter()
    p = Pipeline(frame)
    report.saved = bool(p.trace_plan.saved)
    report.inference = time.perf_counter() - start
    start = time.perf_counter()
    rows = [row.asDict() for row in p.analysis.df.collect()]
    report.plain = time.perf_counter() - start
    if not rows:
        report.faults.append("it has no rows, and shows nothing")
        return report
    tables = Tables()
    about = _Asked(rows, [piped.expected(tables, row) for row in rows], most)
    _compare(p, "before a run", about, report)
    start = time.perf_counter()
    p.run().collect()
    report.run = time.perf_counter() - start
    report.question = _compare(p, "after a run", about, report)
    eager = Pipeline(frame, mode="eager")
    eager.run()
    _compare(eager, "eager", about, report)
    if report.reasons and not piped.superset:
        report.faults.append(f"it is a superset: {report.reasons}")
    return report


def _compare(p: Pipeline, stage: str, about: _Asked, report: Report) -> float:
    """Backward and forward at one stage; the seconds that a question backward takes."""
    start = time.perf_counter()
    few = list(zip(about.rows, about.wanted, strict=True))[: about.most]
    for row, lineage in few:
        answer = p.backward(row)
        if answer.reason:
            report.reasons[stage] = answer.reason
        for source, expected in lineage.items():
            found = set(answer.arrow(source).column("id").to_pylist())
            if not (found == expected if answer.precise else found >= expected):
                report.faults.append(f"{stage}: {row} comes from {source} {sorted(expected)}, not {sorted(found)}")
    seconds = (time.perf_counter() - start) / len(few)
    report.faults += [f"{stage}: {fault}" for fault in _forward(p, stage, about, report)]
    return seconds


def _forward(p: Pipeline, stage: str, about: _Asked, report: Report) -> list[str]:
    """The rows that a source row reached are those whose lineage holds it."""
    source = next(name for name in about.wanted[0] if any(each[name] for each in about.wanted))
    first = min(min(each[source]) for each in about.wanted if each[source])
    (given,) = [row for row in ROWS[source] if row["id"] == first]
    reached = p.forward(source, given)
    if reached.reason:
        report.reasons[stage] = reached.reason
    pairs = zip(about.rows, about.wanted, strict=True)
    expected = sorted(repr(row) for row, each in pairs if first in each[source])
    found = sorted(repr(row.asDict()) for row in reached.collect())
    right = found == expected if reached.precise else set(found) >= set(expected)
    return [] if right else [f"{source} {first} reached {expected}, not {found}"]
