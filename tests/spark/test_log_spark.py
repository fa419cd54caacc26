"""Lineage given as a Spark frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import whence as wh

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_spark_frame(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(i, i, j) for i in range(3) for j in range(2)], "b0 long, a0 long, a1 long")
    with wh.open(tmp_path / "log.whence") as log:
        log.array("A", shape=(3, 2))
        log.array("B", shape=(3,))
        assert log.lineage("B", "A", frame).tuples == 6
        assert log.query(["B", "A"], [(1,)]).cells().tolist() == [[1, 0], [1, 1]]
