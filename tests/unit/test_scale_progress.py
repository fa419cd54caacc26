"""How far a job is, as a terminal and a notebook show it."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from whence import progress
from whence.spark import progress as jobs


class Context:
    """What a Spark context says of two jobs: one has two stages, of which one is done, and one is not known yet."""

    def statusTracker(self) -> Any:
        stages = {
            1: SimpleNamespace(numCompletedTasks=4, numTasks=4),
            2: SimpleNamespace(numCompletedTasks=3, numTasks=10),
        }
        jobs = {7: SimpleNamespace(stageIds=[1, 2]), 8: None}
        return SimpleNamespace(
            getJobIdsForGroup=lambda group: list(jobs) if group == "g" else [],
            getJobInfo=jobs.get,
            getStageInfo=stages.get,
        )


def test_stages_and_tasks_are_counted() -> None:
    assert jobs.jobs_done(Context(), "g") == jobs.JobsDone(1, 2, 7, 14)
    assert jobs.jobs_done(Context(), "another") == jobs.JobsDone()


@pytest.mark.parametrize("where", ["terminal", "notebook"])
def test_what_is_drawn(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    if where == "notebook":
        shell = SimpleNamespace(kernel=object())
        monkeypatch.setitem(sys.modules, "IPython", cast("ModuleType", SimpleNamespace(get_ipython=lambda: shell)))
    else:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    drawn = shown(monkeypatch)
    assert "compressing 9 tuples: stage 2 of 2, 7 of 14 tasks, 3 parts" in drawn


def test_nothing_is_drawn_if_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "visible", lambda: False)
    assert not shown(monkeypatch)


def shown(monkeypatch: pytest.MonkeyPatch) -> str:
    """What is drawn until the second sign of life."""
    drawn, beaten, again = io.StringIO(), threading.Event(), threading.Event()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "BEAT", 0.0)
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=drawn, force_terminal=True, width=120))

    def beat() -> None:
        (again if beaten.is_set() else beaten).set()

    def far() -> tuple[int, int, str]:
        return jobs.shown(Context(), "g", "compressing 9 tuples", 3)

    with progress.working("compressing 9 tuples", far, beat):
        assert again.wait(60)
    return drawn.getvalue()


def test_of_blocks_in_one_another_the_innermost_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = io.StringIO()
    monkeypatch.setattr(progress, "visible", lambda: True)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "STEP", 0.01)
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=drawn, force_terminal=True, width=120))
    looked = {"outer": threading.Semaphore(0), "inner": threading.Semaphore(0)}

    def far(which: str) -> Callable[[], tuple[int, int, str]]:
        def found() -> tuple[int, int, str]:
            looked[which].release()
            return 1, 2, f"the {which} one"

        return found

    with progress.working("starts", far("outer")):
        assert looked["outer"].acquire(timeout=30)
        with progress.working("starts", far("inner")):
            assert looked["inner"].acquire(timeout=30)
            while looked["outer"].acquire(blocking=False):
                pass
            for _ in range(20):
                assert looked["inner"].acquire(timeout=30)
            assert not looked["outer"].acquire(blocking=False), "it waits until the inner one has ended"
        assert looked["outer"].acquire(timeout=30), "then it is drawn again"
    assert "the inner one" in drawn.getvalue()
