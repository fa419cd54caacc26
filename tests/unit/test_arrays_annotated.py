"""Runs on the tracked dtype where no rule covers a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.calls import captured
from whence.errors import NoRule


def by_rows(a: Any) -> Any:
    return a.flat[::1].reshape(a.shape)[:, ::-1] * 2  # traced arrays have no .flat


def sorted_in_place(a: Any) -> Any:
    a.sort()
    return {"total": a.sum(), "parts": [a[:1] * 1]}


def test_what_has_no_rule_runs_on_the_dtype() -> None:
    x = np.random.default_rng(0).random((3, 2))
    found = captured(by_rows, (x,), {}, ("a",), "f", selection=False)
    assert type(found.result) is np.ndarray
    assert np.array_equal(found.result, x[:, ::-1] * 2)
    (edge,) = found.edges
    assert edge.relation.to_array().tolist() == [[i, j, i, 1 - j] for i in range(3) for j in range(2)]
    assert found.call_record is None


def test_writes_reach_the_callers_array() -> None:
    x = np.array([3.0, 1.0, 2.0])
    found = captured(sorted_in_place, (x,), {}, ("a",), "f", selection=False)
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert found.result["total"] == 6.0
    assert type(found.result["total"]) is np.float64
    assert found.written == (0,)
    last = found.outputs[-1]
    assert last.label == "a"
    edges = {edge.output: edge.relation for edge in found.edges}
    assert edges[len(found.outputs) - 1].to_array().tolist() == [[0, 1], [1, 2], [2, 0]]


def test_what_nobody_saw_is_never_reused(tmp_path: Path) -> None:
    with wh.open(tmp_path / "l") as log:
        tracked = log.track(by_rows)
        x = np.random.default_rng(0).random((3, 2))
        for _ in range(4):
            tracked(x)
            assert not tracked.last.reused
        assert log.views() == []


LOOKING: list[Any] = [
    lambda a: a.flat[np.asarray(a.flat[:]) > 0], lambda a: a.flat[np.argsort(a.flat[:])], lambda a: np.sort(a.flat[:]),
    lambda a: a.flat[int(np.argmax(a.flat[:])) :], lambda a: a.flat[np.nonzero(a.flat[:])[0]],
    lambda a: np.unique(a.flat[:]),
    lambda a: a.flat[:] * 2 if a.flat[:].all() else a.flat[::-1], lambda a: a.flat[: len(str(a.flat[0]))] * 1,
    lambda a: np.interp(1.5, np.arange(6.0), a.flat[:]) * a.flat[:], lambda a: np.partition(a.flat[:], 2),
    lambda a: a.flat[: 1 + np.searchsorted(np.arange(3.0), 1.0)] + np.median(a.flat[:]),
]  # fmt: skip


@pytest.mark.parametrize("function", LOOKING)
def test_values_may_decide(function: Any) -> None:
    x = np.random.default_rng(0).random((3, 2))
    found = captured(function, (x,), {}, ("a",), "f", selection=False)
    assert found.call_record is None  # it ran on the dtype
    assert np.array_equal(found.result, function(x))


@pytest.mark.parametrize("x", [np.arange(4.0), np.arange(4)])
def test_what_no_run_can_follow_is_refused_by_name(x: Any) -> None:
    with pytest.raises(NoRule, match="histogramdd"):
        captured(lambda a: np.histogramdd(a), (x,), {}, ("a",), "f", selection=False)
