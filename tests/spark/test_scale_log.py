"""Tuples in Spark frames as lineage in a log: blobs at a URL, two jobs at once, parts that are damaged."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whence as wh
from whence.errors import BadCells, Damaged, NoLineage, OutOfRange
from whence.spark.scale import compressing, frames, recording

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIDE = 3000
ROWS = np.arange(SIDE)
WHOLE = wh.compress(np.stack([ROWS, (ROWS * ROWS * 7919 + 17 * ROWS) % SIDE], axis=1), SIDE, SIDE)


@pytest.fixture(autouse=True)
def by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even these few tuples are compressed by tasks, in three parts."""
    monkeypatch.setattr(recording, "LOCAL", 0)
    monkeypatch.setattr(recording, "on_spark", in_three)


def in_three(given: frames.Numbered, out_shape: Any, in_shape: Any, place: Any, **more: Any) -> Any:
    return compressing.on_spark(given, out_shape, in_shape, place, 3, **more)


def framed(spark: SparkSession, factor: int = 17) -> DataFrame:
    return spark.range(SIDE).selectExpr("id b", f"(id * id * 7919 + {factor} * id) % {SIDE} a")


def opened(path: Path, blobs: str | None = None) -> wh.Log:
    log = wh.open(path, blobs=blobs)
    log.array("A", SIDE)
    log.array("B", SIDE)
    return log


def test_blobs_at_a_url_are_read_by_a_program_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/blobs"
    with opened(tmp_path / "log.whence", url) as log:
        log.lineage("B", "A", framed(spark))
    asked = (
        "import sys, whence as wh\n"
        f"log = wh.open({str(tmp_path / 'log.whence')!r}, blobs={url!r})\n"
        "print(log.backward('B', [5], to='A').cells().tolist(), log.check().ok, 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == [f"{WHOLE.backward([5]).cells().tolist()} True False"]


def test_two_jobs_that_write_the_same_relation(spark: SparkSession, tmp_path: Path) -> None:
    tuples = [framed(spark), framed(spark), framed(spark, 19)]
    with opened(tmp_path / "log.whence"):
        logs = [wh.open(tmp_path / "log.whence") for _ in tuples]
    with ThreadPoolExecutor(3) as jobs:
        done = list(jobs.map(lambda log, frame: log.lineage("B", "A", frame), logs, tuples))
    assert done[0].hash == done[1].hash != done[2].hash
    for log in logs:
        log.close()
    with wh.open(tmp_path / "log.whence") as log:
        report = log.check()
        assert report.ok, str(report)
        assert not report.notes  # no job left its mark
        other = wh.compress(framed(spark, 19), SIDE, SIDE, engine="local")
        assert log.backward("B", [5], to="A") == WHOLE.backward([5]) | other.backward([5])


def test_a_part_that_is_damaged_or_missing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "log.whence"
    with opened(path) as log:
        log.lineage("B", "A", framed(spark))
    blobs = sorted((path / "blobs").glob("??/*"), key=lambda file: file.stat().st_size)
    (part, data) = (blobs[-1], blobs[-1].read_bytes())
    part.chmod(0o644)
    part.write_bytes(data[: len(data) // 2] + bytes(4) + data[len(data) // 2 + 4 :])
    with wh.open(path) as log:
        with pytest.raises(Damaged, match=r"of part \d of the lineage of 'B' from 'A' is damaged; restore the file"):
            log.backward("B", wh.Selection.all((SIDE,)), to="A")
        assert not log.check().ok
    part.unlink()
    with wh.open(path) as log:
        with pytest.raises(Damaged, match=r"part \d of the lineage of 'B' from 'A': its blob .* is missing from"):
            log.backward("B", wh.Selection.all((SIDE,)), to="A")
        log.lineage("B", "A", framed(spark))  # the remedy that the error names
        assert log.backward("B", [5], to="A") == WHOLE.backward([5])
        assert log.check().ok


def test_bad_frames_leave_nothing(spark: SparkSession, tmp_path: Path) -> None:
    with opened(tmp_path / "log.whence") as log:
        with pytest.raises(OutOfRange, match="the lineage of 'B' from 'A': input index .* is outside shape"):
            log.lineage("B", "A", framed(spark).selectExpr("b", "a + 3000"))
        with pytest.raises(BadCells, match="the lineage of 'B' from 'A': column 'a' has 3000 missing values"):
            log.lineage("B", "A", framed(spark).selectExpr("b", "cast(null as long) a"))
        with pytest.raises(NoLineage):
            log.backward("B", [5], to="A")
        assert not list((tmp_path / "log.whence" / "blobs").glob("??/*"))
