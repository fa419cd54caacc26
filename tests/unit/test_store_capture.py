"""Captures that need more than a log to see: chunks, progress bars, Spark."""

from __future__ import annotations

import functools
import io
import os
import pty
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence import progress
from whence.errors import BadCells
from whence.store.recording import capture
from whence.store.recording.capture import relation_from


def test_a_callable_is_gathered_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "CHUNK", 7)
    called: list[tuple[int, ...]] = []

    def neighbours(index: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        called.append(index)
        i, j = index
        return ((a, b) for a, b in ((i - 1, j), (i, j), (i + 1, j)) if 0 <= a < 5)

    relation = relation_from(neighbours, "B", (5, 4), "A", (5, 4))
    assert called == list(np.ndindex(5, 4))
    expected = [(i, j, a, j) for i in range(5) for j in range(4) for a in (i - 1, i, i + 1) if 0 <= a < 5]
    assert relation.to_array().tolist() == [list(row) for row in sorted(expected)]


def test_indices_are_python_integers() -> None:
    seen: list[tuple[int, ...]] = []

    def capture(index: tuple[int, ...]) -> list[int]:
        seen.append(index)
        return [0]

    relation_from(capture, "B", (2,), "A", (3,))
    assert seen == [(0,), (1,)]
    assert all(type(part) is int for index in seen for part in index)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], []),
        ([1, 2], [[0, 1], [0, 2]]),
        ([np.int16(1)], [[0, 1]]),
        ([(1,), (2,)], [[0, 1], [0, 2]]),
        (range(3), [[0, 0], [0, 1], [0, 2]]),
        ({2}, [[0, 2]]),
        (np.array([1, 2], dtype=np.uint8), [[0, 1], [0, 2]]),
        (np.array([[1], [2]]), [[0, 1], [0, 2]]),
        (np.empty((0, 1), dtype=np.int64), []),
        (wh.Selection.from_cells([(1,)], shape=(3,)), [[0, 1]]),
        ([1, 1, 1], [[0, 1]]),
    ],
)
def test_what_a_callable_may_return_for_an_input_with_one_axis(found: Any, expected: list[list[int]]) -> None:
    assert relation_from(lambda index: found, "B", (1,), "A", (3,)).to_array().tolist() == expected


@pytest.mark.parametrize("found", [None, 1, "1", [True], [1.0], [None], [(1, 2)], [[1], [1, 2]], np.ones((1, 1))])
def test_what_a_callable_may_not_return(found: Any) -> None:
    with pytest.raises(BadCells, match=r"lineage of 'B' from 'A': for the output cell \(0,\), expected"):
        relation_from(lambda index: found, "B", (1,), "A", (3,))


def test_the_only_cell_of_a_scalar() -> None:
    assert relation_from(lambda index: [()], "B", (2,), "A", ()).count() == 2
    assert relation_from(lambda index: [], "B", (2,), "A", ()).count() == 0
    assert relation_from(lambda index: [(1,)], "B", (), "A", (3,)).to_array().tolist() == [[1]]
    with pytest.raises(BadCells):
        relation_from(lambda index: [(0,)], "B", (2,), "A", ())


def test_tuples_of_two_scalars() -> None:
    assert relation_from([()], "B", (), "A", ()).count() == 1
    assert relation_from([], "B", (), "A", ()).count() == 0


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """The standard error is a terminal; at the end, the list holds what was written to it."""
    here, there = pty.openpty()
    written: list[bytes] = []

    def read_on() -> None:
        with suppress(OSError):  # how Linux says that the other side is closed
            while data := os.read(here, 4096):
                written.append(data)

    watcher = threading.Thread(target=read_on)
    watcher.start()
    with monkeypatch.context() as patch, open(there, "w", closefd=True) as screen:
        patch.setattr(sys, "stderr", screen)
        patch.setenv("TERM", "xterm")
        yield written
    watcher.join()
    os.close(here)


def _capture(patience: float, monkeypatch: pytest.MonkeyPatch, until: Callable[[], bool] = lambda: True) -> None:
    """A capture that waits at its last cell until something is so."""
    monkeypatch.setattr(progress, "PATIENCE", patience)

    def same(index: tuple[int, ...]) -> list[tuple[int, ...]]:
        late = time.monotonic() + 60
        while index == (39, 29) and not until() and time.monotonic() < late:
            time.sleep(0.01)
        return [index]

    relation = relation_from(same, "out", (40, 30), "in", (40, 30))
    assert relation == wh.Relation.identity((40, 30))


def _has(written: list[bytes], text: bytes) -> bool:
    return text in b"".join(written)


def test_a_slow_capture_shows_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as written:
        _capture(0.0, monkeypatch, functools.partial(_has, written, b"out <- in"))
    assert b"out <- in" in b"".join(written)


def test_a_progress_bar_has_no_colours_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted in (True, False):
        if wanted:
            monkeypatch.delenv("NO_COLOR", raising=False)
        else:
            monkeypatch.setenv("NO_COLOR", "1")
        with terminal(monkeypatch) as written:
            _capture(0.0, monkeypatch, functools.partial(_has, written, b"%"))
        colours = re.findall(rb"\x1b\[[0-9;]*3[0-9;]*m", b"".join(written))
        assert bool(colours) == wanted, written


def test_a_quick_capture_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as written:
        _capture(3600.0, monkeypatch)
    assert written == []


def test_no_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    _capture(0.0, monkeypatch)
    assert quiet.getvalue() == ""
