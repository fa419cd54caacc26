"""How far a job is, as a terminal and a notebook show it."""

from __future__ import annotations

import io
import sys
import threading
import types
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from whence.spark.scale import progress
from whence.spark.scale.progress import Far


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
    assert progress.how_far(Context(), "g") == Far(1, 2, 7, 14)
    assert progress.how_far(Context(), "another") == Far()


def shown(monkeypatch: pytest.MonkeyPatch, console: Console) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "console", lambda: console)
    stop, beaten = threading.Event(), threading.Event()
    monkeypatch.setattr(progress, "BEAT", 0.0)
    args = (Context(), "g", "compressing 9 tuples", SimpleNamespace(value=3), stop, beaten.set)
    thread = threading.Thread(target=progress._show, args=args)
    thread.start()
    assert beaten.wait(60)  # it has gone around once
    beaten.clear()
    assert beaten.wait(60)  # and what it drew then is there
    stop.set()
    thread.join()


@pytest.mark.parametrize("where", ["terminal", "notebook"])
def test_what_is_drawn(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    if where == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    else:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    drawn = io.StringIO()
    shown(monkeypatch, Console(file=drawn, force_terminal=True, width=120))
    assert "compressing 9 tuples: stage 2 of 2, 7 of 14 tasks, 3 parts" in drawn.getvalue()


def test_nothing_is_drawn_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "visible", lambda: False)
    drawn = io.StringIO()
    shown(monkeypatch, Console(file=drawn, force_terminal=True))
    assert not drawn.getvalue()
