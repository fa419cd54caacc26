"""Lineage given as a Spark frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import whence as wh
from whence.errors import BadCells, OutOfRange
from whence.spark.scale import asking, recording
from whence.testing import operations as ops

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_spark_frame(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(i, i, j) for i in range(3) for j in range(2)], "b0 long, a0 long, a1 long")
    with wh.open(tmp_path / "log.whence") as log:
        log.array("A", shape=(3, 2))
        log.array("B", shape=(3,))
        assert log.lineage("B", "A", frame).tuples == 6
        assert log.query(["B", "A"], [(1,)]).cells().tolist() == [[1, 0], [1, 1]]
        asked = frame.where("b0 > 0").select("b0")
        assert log.backward("B", asked, to="A") == log.backward("B", "1:3", to="A")
        assert log.forward("A", frame.where("b0 = 2").select("a0", "a1"))["B"].cells().tolist() == [[2]]
        with pytest.raises(BadCells, match="cells have 2 "):
            log.forward("A", asked)


def test_a_large_frame_is_parts_in_the_blobs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "LOCAL", 0)
    raw = ops.sort((3000,))
    frame = spark.createDataFrame(pa.table({"b": raw.tuples[:, 0], "a": raw.tuples[:, 1]}))
    with wh.open(tmp_path / "log.whence") as log:
        log.array("A", shape=3000)
        log.array("B", shape=3000)
        assert log.lineage("B", "A", frame).tuples == 3000
        whole = wh.compress(*raw)
        assert log.backward("B", [(17,)], to="A") == whole.backward([17])
        assert log.forward("A", [(17,)], to="B") == whole.forward([17])
        report = log.check()
        assert report.ok
        assert not report.notes  # no mark of the job, and nothing unused, is left
        assert log.collect().blobs == 0
        with pytest.raises(OutOfRange, match=r"the lineage of 'B' from 'A': output index \(3000,\)"):
            log.lineage("B", "A", frame.selectExpr("b + 1", "a"))
        assert not log.check().notes


def test_rows_by_number(spark: SparkSession) -> None:
    found = asking.selected(spark.createDataFrame([(4,), (2,), (3,)], "row int"), (9, 3), table=True)
    assert found == wh.Selection.parse("2:5,:", (9, 3))
