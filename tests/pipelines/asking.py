"""Asks about a pipeline, backward and forward, and compares with the lineage that was written by hand."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.pipelines.pipeline import Lineage, Piped
from tests.pipelines.tables import ROWS, Tables

from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Report:
    """What was found about one pipeline. Times in seconds."""

    name: str
    kind: str
    operators: int
    faults: list[str] = field(default_factory=list)
    reason: str = ""  # why an answer is a superset
    inference: float = 0.0
    question: float = 0.0


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
    """The lineage of `most` rows, and where the first of their source rows went."""
    assert piped.expected is not None
    report = Report(piped.name, piped.kind, len(piped.operators))
    frame = made(piped, spark, paths)
    start = time.perf_counter()
    p = Pipeline(frame)
    assert p.trace_plan is not None
    report.inference = time.perf_counter() - start
    rows = [row.asDict() for row in p.analysis.df.collect()]
    if not rows:
        report.faults.append("it has no rows, and shows nothing")
        return report
    tables = Tables()
    wanted = [piped.expected(tables, row) for row in rows]
    start = time.perf_counter()
    for row, lineage in list(zip(rows, wanted, strict=True))[:most]:
        answer = p.backward(row)
        report.reason = report.reason or answer.reason or ""
        for source, expected in lineage.items():
            found = set(answer.arrow(source).column("id").to_pylist())
            if not (found == expected if answer.precise else found >= expected):
                report.faults.append(f"{row} comes from {source} {sorted(expected)}, not {sorted(found)}")
    report.question = (time.perf_counter() - start) / min(most, len(rows))
    if report.reason and not piped.superset:
        report.faults.append(f"it is a superset: {report.reason}")
    report.faults += _forward(p, rows, wanted)
    return report


def _forward(p: Pipeline, rows: list[dict[str, Any]], wanted: list[Lineage]) -> list[str]:
    """The rows that a source row reached are those whose lineage holds it."""
    source = next(name for name in wanted[0] if any(each[name] for each in wanted))
    first = min(min(each[source]) for each in wanted if each[source])
    (given,) = [row for row in ROWS[source] if row["id"] == first]
    reached = p.forward(source, given)
    expected = sorted(repr(row) for row, each in zip(rows, wanted, strict=True) if first in each[source])
    found = sorted(repr(row.asDict()) for row in reached.collect())
    right = found == expected if reached.precise else set(found) >= set(expected)
    return [] if right else [f"{source} {first} reached {expected}, not {found}"]
