"""The progress of Spark's jobs: stages, tasks and parts done."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from whence.progress import visible, working
from whence.spark.sessions.failures import spark_errors
from whence.words import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP = "spark.jobGroup.id"
WORDS = "spark.job.description"


class Count(Protocol):
    """A counter that is sent to tasks, which count the parts they write or read. Spark adds up the counts."""

    def add(self, term: int) -> None: ...


@dataclass(frozen=True, slots=True)
class JobsDone:
    """The progress of a group of jobs."""

    stages: int = 0
    all_stages: int = 0
    tasks: int = 0
    all_tasks: int = 0

    def text(self, what: str, parts: int) -> str:
        """The line that is shown.

        >>> JobsDone(1, 3, 20, 64).text("compressing 9 tuples", 12)
        'compressing 9 tuples: stage 2 of 3, 20 of 64 tasks, 12 parts'
        """
        if not self.all_stages:
            return what
        stage = f"stage {min(self.stages + 1, self.all_stages)} of {self.all_stages}"
        made = f", {counted(parts, 'part')}" if parts else ""
        return f"{what}: {stage}, {self.tasks:,} of {self.all_tasks:,} tasks{made}"


@contextmanager
def watched(spark: SparkSession, text: str, beat: Callable[[], None] | None = None) -> Iterator[Count]:
    """Show the progress of Spark jobs in this block as `text`, and cancel them on an interrupt. `beat` is called
    regularly.

    Yields the counter for the parts of tasks.
    """
    context = spark.sparkContext
    parts = context.accumulator(0)
    before = [(key, context.getLocalProperty(key)) for key in (GROUP, WORDS)]
    group = f"whence-{secrets.token_hex(4)}"
    context.setJobGroup(group, f"whence: {text}", interruptOnCancel=True)
    try:
        with working(text, lambda: shown(context, group, text, int(parts.value)), beat):
            yield parts
    except BaseException:
        with _while_it_runs():
            context.cancelJobGroup(group)
        raise
    finally:
        with _while_it_runs():
            for key, value in before:
                context.setLocalProperty(key, value)  # type: ignore[arg-type]  # None removes it


@contextmanager
def seen(text: str) -> Iterator[None]:
    """Like `watched`, for the active session, if progress is visible; otherwise do nothing."""
    if not visible():
        yield
        return
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    with working(text) if spark is None else watched(spark, text):
        yield


def shown(context: Any, group: str, text: str, parts: int) -> tuple[int, int, str]:
    """Tasks done, all tasks, and the line that is shown; the line is only the text if the session has ended."""
    done = JobsDone()
    with _while_it_runs():
        done = jobs_done(context, group)
    return done.tasks, done.all_tasks, done.text(text, parts)


def jobs_done(context: Any, group: str) -> JobsDone:
    """Count the stages and tasks of the group's jobs, and how many of them are done."""
    tracker = context.statusTracker()
    stages = [
        stage
        for job in tracker.getJobIdsForGroup(group)
        if (info := tracker.getJobInfo(job)) is not None
        for number in info.stageIds
        if (stage := tracker.getStageInfo(number)) is not None
    ]
    done = sum(stage.numCompletedTasks == stage.numTasks for stage in stages)
    return JobsDone(done, len(stages), sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages))


def _while_it_runs() -> suppress:
    """Suppress errors of a stopped session: it has no jobs to cancel, and they would hide the original error."""
    return suppress(AttributeError, *spark_errors())
