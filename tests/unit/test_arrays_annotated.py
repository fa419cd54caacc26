"""Runs on the tracked dtype where no rule covers a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.calls import captured
from whence.arrays.reuse import ReuseIndex
from whence.errors import NoRule
from whence.testing.shelf import Shelf


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
    assert not found.certain


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


def test_uncertified_lineage_is_used_once_others_confirmed_it(tmp_path: Path) -> None:
    with wh.open(tmp_path / "l") as log:
        tracked = log.track(by_rows)
        rng = np.random.default_rng(0)
        reused = []
        for _ in range(8):
            tracked(rng.random((3, 2)))
            reused.append(tracked.last.reused)
        # Traced three times, then looked at again at its first, second and fourth use.
        assert reused == [False, False, False, False, False, True, False, True]


def test_a_coincidence_is_found_out() -> None:
    memory = ReuseIndex(Shelf(), by_rows, "f")
    for value in (1.0, 2.0, 3.0):
        x = np.full((3, 2), value)
        memory.learn((x,), {}, captured(by_rows, (x,), {}, ("a",), "f", selection=False))
    assert memory.predict((x * 4,), {}) is None  # due
    memory.learn(
        (x * 4,), {}, captured(lambda a: a.flat[::1].reshape(3, 2) * 2, (x * 4,), {}, ("a",), "f", selection=False)
    )
    assert memory.predict((x * 5,), {}) is None
    assert memory.predict((x * 6,), {}) is None


LOOKING: list[Any] = [
    lambda a: a.flat[np.asarray(a.flat[:]) > 0], lambda a: a.flat[np.argsort(a.flat[:])], lambda a: np.sort(a.flat[:]),
    lambda a: a.flat[int(np.argmax(a.flat[:])) :], lambda a: a.flat[np.nonzero(a.flat[:])[0]],
    lambda a: np.unique(a.flat[:]),
    lambda a: a.flat[:] * 2 if a.flat[:].all() else a.flat[::-1], lambda a: a.flat[: len(str(a.flat[0]))] * 1,
    lambda a: np.interp(1.5, np.arange(6.0), a.flat[:]) * a.flat[:], lambda a: np.partition(a.flat[:], 2),
    lambda a: a.flat[: 1 + np.searchsorted(np.arange(3.0), 1.0)] + np.median(a.flat[:]),
]  # fmt: skip


@pytest.mark.parametrize("function", LOOKING)
def test_values_that_decide_are_noticed(function: Any) -> None:
    found = captured(function, (np.random.default_rng(0).random((3, 2)),), {}, ("a",), "f", selection=False)
    assert not found.certain  # it ran on the dtype
    assert found.values_matter
    assert not captured(by_rows, (np.ones((3, 2)),), {}, ("a",), "f", selection=False).values_matter


@pytest.mark.parametrize("x", [np.arange(4.0), np.arange(4)])
def test_what_no_run_can_follow_is_refused_by_name(x: Any) -> None:
    with pytest.raises(NoRule, match="histogramdd"):
        captured(lambda a: np.histogramdd(a), (x,), {}, ("a",), "f", selection=False)
