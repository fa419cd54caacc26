"""Cell questions compared with row questions about the same rows of TPC-H: the cost of a finer answer."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench import _tpch

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from whence.spark.pipeline import Pipeline


@dataclass(frozen=True)
class CellTimes:
    """Times of one query in seconds: which rows made a row, and which cells made its last column."""

    name: str
    rows: float
    cells: float
    how: str  # how the cell question was answered: "saved", "annotated", "replayed"

    @property
    def ratio(self) -> float:
        return self.cells / self.rows if self.rows else float("inf")


def cell_times(
    spark: SparkSession, place: Path, factor: float, queries: Iterable[str], questions: int = 3
) -> list[CellTimes]:
    """Return medians after a run of each query; the tables must be views of the session."""
    import whence as wh

    found = []
    for name in queries:
        with wh.open(place / f"{name}-cells.whence") as log:
            pipeline = log.pipeline(spark.sql(_tpch.query(name, factor)), name=name)
            rows = pipeline.run().collect()
            if rows:
                found.append(_asked(name, pipeline, rows[:: max(1, len(rows) // questions)][:questions]))
    return found


def _asked(name: str, pipeline: Pipeline, rows: list[Row]) -> CellTimes:
    last = pipeline.plan.output[-1].name
    _rows(pipeline, rows[0])  # warm up: files are opened and verified once
    _cells(pipeline, rows[0], last)
    of_rows, of_cells, how = [], [], ""
    for row in rows:
        start = time.perf_counter()
        _rows(pipeline, row)
        between = time.perf_counter()
        how = _cells(pipeline, row, last)
        of_rows.append(between - start)
        of_cells.append(time.perf_counter() - between)
    return CellTimes(name, statistics.median(of_rows), statistics.median(of_cells), how)


def _rows(pipeline: Pipeline, row: Row) -> None:
    lineage = pipeline.backward(row)
    for source in lineage:
        lineage.identities(source)


def _cells(pipeline: Pipeline, row: Row, column: str) -> str:
    lineage = pipeline.backward(row, columns=[column], lineage="value")
    for source in lineage:
        lineage.cells(source)
    return lineage.how
