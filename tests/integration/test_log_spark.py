"""Lineage given as a Spark frame."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from whence import store

needs_spark = pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None, reason="PySpark is not installed: pip install 'whence[spark]'"
)


@needs_spark
@pytest.mark.filterwarnings("ignore")  # what Spark and its Java warn of is theirs
def test_a_spark_frame(tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.createDataFrame([(i, i, j) for i in range(3) for j in range(2)], "b0 long, a0 long, a1 long")
        with store.open(tmp_path / "log.whence") as log:
            log.array("A", shape=(3, 2))
            log.array("B", shape=(3,))
            assert log.lineage("B", "A", frame).tuples == 6
            assert log.query(["B", "A"], [(1,)]).cells().tolist() == [[1, 0], [1, 1]]
    finally:
        spark.stop()
