"""How far a job is: stages, tasks and parts done, in the terminal and in notebooks, once it has taken a while."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from whence.spark.sessions.failures import spark_errors
from whence.words import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

PATIENCE = 2.0  # seconds before anything is shown
BEAT = 60.0  # seconds between two signs of life
GROUP = "spark.jobGroup.id"
WORDS = "spark.job.description"


class Count(Protocol):
    """What tasks count parts with, as they write or read them. It is sent to them: Spark adds up what they say."""

    def add(self, term: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Far:
    """How far a group of jobs is."""

    stages: int = 0  # that are done
    all_stages: int = 0
    tasks: int = 0
    all_tasks: int = 0

    def text(self, what: str, parts: int) -> str:
        """What is shown of it.

        >>> Far(1, 3, 20, 64).text("compressing 9 tuples", 12)
        'compressing 9 tuples: stage 2 of 3, 20 of 64 tasks, 12 parts'
        """
        if not self.all_stages:
            return what
        stage = f"stage {min(self.stages + 1, self.all_stages)} of {self.all_stages}"
        made = f", {counted(parts, 'part')}" if parts else ""
        return f"{what}: {stage}, {self.tasks:,} of {self.all_tasks:,} tasks{made}"


@contextmanager
def watched(spark: SparkSession, text: str, beat: Callable[[], None] | None = None) -> Iterator[Count]:
    """Jobs started within are shown as `text`, and cancelled on an interrupt; `beat` is called now and then.

    Gives what tasks count their parts with.
    """
    context = spark.sparkContext
    parts = context.accumulator(0)
    before = [(key, context.getLocalProperty(key)) for key in (GROUP, WORDS)]
    group = f"whence-{secrets.token_hex(4)}"
    context.setJobGroup(group, f"whence: {text}", interruptOnCancel=True)
    stop = threading.Event()
    shown = threading.Thread(target=_show, args=(context, group, text, parts, stop, beat), daemon=True)
    shown.start()
    try:
        yield parts
    except BaseException:
        with _while_it_runs():
            context.cancelJobGroup(group)
        raise
    finally:
        stop.set()
        shown.join()
        with _while_it_runs():
            for key, value in before:
                context.setLocalProperty(key, value)  # type: ignore[arg-type]  # None takes it away


def _while_it_runs() -> suppress:
    """A session that was stopped has no jobs to cancel and no properties to set; the error that matters is another."""
    return suppress(AttributeError, *spark_errors())


def _show(
    context: Any, group: str, text: str, parts: Any, stop: threading.Event, beat: Callable[[], None] | None
) -> None:
    if stop.wait(PATIENCE):
        return
    waited, step = PATIENCE, 0.5 if visible() else BEAT
    if visible():
        from rich.progress import Progress

        with Progress(console=console(), transient=True) as progress:
            task = progress.add_task(text, total=None)
            while not stop.wait(step):
                waited = _beaten(waited + step, beat)
                far = None
                with _while_it_runs():
                    far = how_far(context, group)
                if far is None:
                    return
                shown = far.text(text, int(parts.value))
                progress.update(task, description=shown, completed=far.tasks, total=far.all_tasks or None)
        return
    while not stop.wait(step):
        waited = _beaten(waited + step, beat)


def console() -> Console:
    """Where it is drawn: a terminal's standard error; a notebook shows it below the cell."""
    from rich.console import Console

    return Console(stderr=True)


def _beaten(waited: float, beat: Callable[[], None] | None) -> float:
    if beat is None or waited < BEAT:
        return waited
    beat()
    return 0.0


def visible() -> bool:
    """Whether someone sees what is drawn: a terminal, or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def how_far(context: Any, group: str) -> Far:
    """How many stages and tasks of the group's jobs are done, and how many there are."""
    tracker = context.statusTracker()
    stages = [
        stage
        for job in tracker.getJobIdsForGroup(group)
        if (info := tracker.getJobInfo(job)) is not None
        for number in info.stageIds
        if (stage := tracker.getStageInfo(number)) is not None
    ]
    done = sum(stage.numCompletedTasks == stage.numTasks for stage in stages)
    return Far(done, len(stages), sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages))
