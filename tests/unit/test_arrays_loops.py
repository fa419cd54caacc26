"""Loops over cells: done again on tracked cells where that is safe, and followed write by write where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence.arrays.recording import loops
from whence.arrays.recording.calls import captured
from whence.testing.influence import influences

SEEN: list[int] = []


def running(x: Any) -> Any:
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = 0.9 * out[i - 1] + 0.1 * x[i]
    return out


def counting(x: Any) -> Any:
    SEEN.append(len(x))
    return running(x)


def every_other(x: Any) -> Any:
    out = np.zeros_like(x)
    for i in range(0, len(x), 2):
        out[i] = x[i] + x[i - 1]
    return out


def lineage(function: Any, x: Any) -> Any:
    found = captured(function, (x,), {}, ("x",), "f", selection=False)
    return np.unique(np.concatenate([each.relation.to_array() for each in found.edges]), axis=0).tolist()


@pytest.mark.parametrize("function", [running, every_other])
@pytest.mark.parametrize("side", [6, 120])
def test_both_ways_find_the_same(function: Any, side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).random(side)
    first = lineage(function, x)
    monkeypatch.setattr(loops, "edges_by_cells", lambda *_: pytest.fail("only where there are many writes"))
    monkeypatch.setattr("whence.arrays.recording.calls.MANY_WRITES", 1 << 30)
    assert lineage(function, x) == first


def test_a_long_loop_is_one_row() -> None:
    found = captured(running, (np.ones(300),), {}, ("x",), "f", selection=False)
    (edge,) = found.edges
    assert len(edge.relation) == 1
    assert edge.relation.backward([(200,)]).slices() == [(slice(0, 201),)]


def test_a_function_with_effects_runs_once() -> None:
    SEEN.clear()
    lineage(counting, np.ones(80))
    assert SEEN == [80]


def test_lineage_that_is_too_much_is_a_superset_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def imputed(x: Any) -> Any:
        missing = x < 0.5
        means = np.where(missing, 0.0, x).sum(axis=0) / (~missing).sum(axis=0)
        return np.where(missing, means, x)

    x = np.random.default_rng(1).random((60, 3))
    exact = lineage(imputed, x)
    monkeypatch.setattr("whence.relation.compose.MOST_TUPLES", 100)
    found = captured(imputed, (x,), {}, ("x",), "f", selection=False, unknown="whole")
    assert np.array_equal(found.result, imputed(x))
    assert "would join" in found.guessed
    (edge,) = found.edges
    assert edge.relation.count() == x.size**2 > len(exact)


def test_with_selection_too_if_nothing_was_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that decides nothing by values is done again on cells, whatever was asked for."""
    x = np.random.default_rng(0).random(200)
    calls: list[bool] = []
    own = loops.edges_by_cells

    def noted(call: Any, outputs: Any, selects: bool) -> Any:
        calls.append(selects)
        return own(call, outputs, selects)

    monkeypatch.setattr("whence.arrays.recording.calls.edges_by_cells", noted)
    found = captured(running, (x,), {}, ("x",), "f", selection=True)
    tuples = np.unique(np.concatenate([each.relation.to_array() for each in found.edges]), axis=0).tolist()
    assert tuples == [[i, j] for i in range(200) for j in range(i + 1)]

    def masked(x: Any) -> Any:
        out = np.zeros_like(x)
        for i in range(len(x)):
            out[i] = x[x > 0.5][0] + x[i]
        return out

    found = captured(masked, (x[:60],), {}, ("x",), "f", selection=True)
    assert calls == [False, True]
    assert {each.kind for each in found.edges} == {"value", "selection"}


def from_empty(x: Any) -> Any:
    out = np.empty(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = 0.9 * out[i - 1] + 0.1 * x[i]
    return out


def weighted(x: Any) -> Any:
    weights, places = np.linspace(0.5, 1, len(x)), np.zeros(len(x), int)
    out = np.full((len(x) // 2, 2), 1.5)
    for i in range(len(x) // 2):
        places[i] = len(x) - 1 - i
        out[i, 0] = weights[i] * x[places[i]] * out[i, 1]
        out[i, 1] += x[2 * i]
    return out


@pytest.mark.parametrize("function", [from_empty, weighted])
def test_arrays_that_the_function_makes_are_tracked_cells_too(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    by_cells = loops.edges_by_cells

    def kept(*given: Any) -> Any:
        found.append(by_cells(*given))
        return found[-1]

    monkeypatch.setattr("whence.arrays.recording.calls.edges_by_cells", kept)
    x = np.random.default_rng(2).random(120) + 0.1
    assert set(map(tuple, lineage(function, x))) == influences(function, [x])[0, 0]
    assert found[0] is not None
