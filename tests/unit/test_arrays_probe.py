"""Lineage by perturbation: what it finds, how many calls it takes, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.arrays.recording.calls import captured
from whence.testing.strategies import effort


def grid(*shape: int) -> Any:
    return np.random.default_rng(3).random(shape)


def blurred(x: Any) -> Any:
    padded = np.pad(x, 1, mode="edge")
    return sum(padded[i : i + x.shape[0], j : j + x.shape[1]] for i in range(3) for j in range(3)) / 9


FUNCTIONS = {
    "elementwise": lambda x: np.exp(x) * 2,
    "transpose": lambda x: x.T * 1.5,
    "means": lambda x: x.mean(axis=1),
    "cumulative": lambda x: np.cumsum(x, axis=0),
    "maximum": lambda x: x.max(axis=0),
    "normalised": lambda x: x / np.linalg.norm(x),
    "stencil": blurred,
    "product": lambda x: x @ x.T,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_probing_finds_what_tracing_finds(name: str) -> None:
    function = FUNCTIONS[name]
    x = grid(6, 5)
    found = wh.probe(function, x)
    traced = [each.relation.to_array() for each in captured(function, (x,), {}, ("x",), "f", selection=False).edges]
    assert found.relation.to_array().tolist() == np.unique(np.concatenate(traced), axis=0).tolist()


@given(st.data())
@effort(40)
def test_sparse_linear_maps(data: st.DataObject) -> None:
    outs, ins = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 8))
    weights = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, -2.5]), min_size=outs * ins,
                                          max_size=outs * ins))).reshape(outs, ins)  # fmt: skip
    found = wh.probe(lambda x: weights @ x, np.arange(1.0, ins + 1))
    assert found.relation.to_array().tolist() == np.argwhere(weights).tolist()
    assert found.precise == bool(weights.all())


def test_neighbours_take_a_few_calls_for_any_size() -> None:
    calls = [wh.probe(blurred, grid(side, side)).calls for side in (40, 80)]
    assert calls[0] == calls[1] < 1000


def test_one_cell_takes_few_calls_in_a_large_array() -> None:
    x = grid(300, 300)
    found = wh.probe(lambda x: np.fft.ifft2(np.fft.fft2(x)).real.round(9) * 0 + np.roll(x, 3, axis=1), x, (10, 10))
    assert found.backward((10, 10)).cells().tolist() == [[10, 7]]
    assert found.calls < 400
    assert not found.precise
    assert "may be missing" in (found.reason or "")


def test_far_away_effects_are_not_taken_for_neighbours() -> None:
    x = grid(40, 40)
    found = wh.probe(lambda x: x + x[0, 0], x, (30, 30))
    assert found.backward((30, 30)).cells().tolist() == [[0, 0], [30, 30]]
    whole = wh.probe(lambda x: x + x[0, 0], grid(9, 9))
    assert whole.backward((8, 3)).cells().tolist() == [[0, 0], [8, 3]]


@pytest.mark.parametrize("x", [np.arange(6), np.array([True, False, True, True]), np.float64(2.5)])
def test_integers_bools_and_numbers(x: Any) -> None:
    found = wh.probe(lambda x: np.logical_not(x) if x.dtype == bool else x * 3, x)
    assert found.relation == wh.Relation.identity(np.shape(x))


def test_the_input_is_left_alone() -> None:
    x = grid(4)

    def halves(x: Any) -> Any:
        x /= 2
        return x

    before = x.copy()
    assert wh.probe(halves, x).relation == wh.Relation.identity((4,))
    assert x.tolist() == before.tolist()


@pytest.mark.parametrize(
    ("function", "x", "message"),
    [
        (lambda x: np.random.default_rng().random(3), np.zeros(3), "different results for the same input"),
        (lambda x: (x, x), np.zeros(3), "returns several results"),
        (lambda x: x[x > 0], np.array([1.0, 2.0]), "shape of the result depends on the values"),
        (lambda x: "text", np.zeros(3), "not numbers"),
        (lambda x: x, np.array(["a"]), "needs an array of numbers"),
    ],
)
def test_what_cannot_be_probed_is_said(function: Any, x: Any, message: str) -> None:
    with pytest.raises(wh.errors.BadType, match=message):
        wh.probe(function, x)


def test_too_many_calls_are_refused_by_name() -> None:
    with pytest.raises(wh.errors.TooLarge, match="ask for fewer cells"):
        wh.probe(lambda x: np.cumsum(x), grid(5000))


def test_a_function_that_raises_for_some_inputs_is_asked_with_others() -> None:
    found = wh.probe(lambda x: np.eye(4)[x.astype(int)].sum(axis=1) * x, np.array([0.2, 1.3, 3.99]))
    assert found.relation == wh.Relation.identity((3,))
    assert "of them raised an error" in (found.reason or "")
