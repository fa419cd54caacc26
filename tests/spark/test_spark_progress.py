"""How far Spark's jobs are: the tasks of their stages, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import whence as wh
from whence.spark import progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_tasks_of_a_run_are_counted(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, tuple[int, int, str]] = {}

    @contextmanager
    def working(text: str, far: Callable[[], tuple[int, int, str]], beat: Any = None) -> Iterator[None]:
        yield
        seen[text] = far()

    monkeypatch.setattr(progress, "visible", lambda: True)
    monkeypatch.setattr(progress, "working", working)
    spark.range(20).write.parquet(str(tmp_path / "numbers"))
    before = spark.sparkContext.getLocalProperty(progress.GROUP)
    df = spark.read.parquet(str(tmp_path / "numbers")).groupBy((F.col("id") % 3).alias("rest")).count()
    with wh.open(tmp_path / "a.whence") as log:
        pipeline = log.pipeline(df, "rests")
        pipeline.run()
        pipeline.backward({"rest": 1}).arrow("numbers")
    done, total, text = seen["running rests"]
    assert done == total > 0
    assert text.startswith("running rests: stage ")
    assert set(seen) == {"running rests", "looking for source rows", "looking for the rows of numbers"}
    assert spark.sparkContext.getLocalProperty(progress.GROUP) == before
