"""How far Spark's jobs are: tasks done of all tasks of their stages."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whence.progress import visible, working

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "spark.jobGroup.id"
WORDS = "spark.job.description"


@contextmanager
def watched(spark: SparkSession, text: str, beat: Callable[[], None] | None = None) -> Iterator[None]:
    """Jobs started within are shown as `text`, and cancelled on an interrupt; `beat` is called now and then."""
    context = spark.sparkContext
    before = [(key, context.getLocalProperty(key)) for key in (GROUP, WORDS)]
    group = f"whence-{secrets.token_hex(4)}"
    context.setJobGroup(group, f"whence: {text}", interruptOnCancel=True)
    try:
        with working(text, lambda: tasks(context, group), beat):
            yield
    except BaseException:
        if context._jsc is not None:
            context.cancelJobGroup(group)
        raise
    finally:
        if context._jsc is not None:
            for key, value in before:
                context.setLocalProperty(key, value)  # type: ignore[arg-type]  # None takes it away


@contextmanager
def seen(text: str) -> Iterator[None]:
    """The same of the active session where somebody looks; elsewhere nothing is set, and nothing is slower."""
    if not visible():
        yield
        return
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    with working(text) if spark is None else watched(spark, text):
        yield


def tasks(context: Any, group: str) -> tuple[int, int]:
    """How many tasks of the group's stages are done, and how many there are."""
    tracker = context.statusTracker()
    done = total = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for number in info.stageIds if info is not None else ():
            stage = tracker.getStageInfo(number)
            if stage is not None:
                done, total = done + stage.numCompletedTasks, total + stage.numTasks
    return done, total
