"""How far a job is: tasks done of all tasks, in the terminal and in notebooks, once it has taken a while."""

from __future__ import annotations

import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 2.0  # seconds before anything is shown
BEAT = 60.0  # seconds between two signs of life
GROUP = "spark.jobGroup.id"
WORDS = "spark.job.description"


@contextmanager
def watched(spark: SparkSession, text: str, beat: Callable[[], None] | None = None) -> Iterator[None]:
    """Jobs started within are shown as `text`, and cancelled on an interrupt; `beat` is called now and then."""
    context = spark.sparkContext
    before = [(key, context.getLocalProperty(key)) for key in (GROUP, WORDS)]
    group = f"whence-{secrets.token_hex(4)}"
    context.setJobGroup(group, f"whence: {text}", interruptOnCancel=True)
    stop = threading.Event()
    shown = threading.Thread(target=_show, args=(context, group, text, stop, beat), daemon=True)
    shown.start()
    try:
        yield
    except BaseException:
        if context._jsc is not None:
            context.cancelJobGroup(group)
        raise
    finally:
        stop.set()
        shown.join()
        if context._jsc is not None:
            for key, value in before:
                context.setLocalProperty(key, value)  # type: ignore[arg-type]  # None takes it away


def _show(context: Any, group: str, text: str, stop: threading.Event, beat: Callable[[], None] | None) -> None:
    if stop.wait(PATIENCE):
        return
    waited, step = PATIENCE, 0.5 if visible() else BEAT
    if visible():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(text, total=None)
            while not stop.wait(step):
                waited = _beaten(waited + step, beat)
                done, total = tasks(context, group)
                progress.update(task, completed=done, total=total or None)
        return
    while not stop.wait(step):
        waited = _beaten(waited + step, beat)


def _beaten(waited: float, beat: Callable[[], None] | None) -> float:
    if beat is None or waited < BEAT:
        return waited
    beat()
    return 0.0


def visible() -> bool:
    """Whether someone sees what is drawn: a terminal, or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


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
