"""Sorting much: one number is kept for each cell, and a question about a few cells reads little of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from whence.arrays.rules.selecting import sort, stable_order
from whence.relation import Relation

RNG = np.random.default_rng(5)
CELLS = RNG.random((48, 50, 45))  # enough that no runs are looked for


def rounded(x: Any) -> Any:
    return np.round(x * 20)


def with_nan(x: Any) -> Any:
    return np.where(x < 0.1, np.nan, x)


@pytest.mark.parametrize("change", [np.array, rounded, with_nan])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_cell_comes_from_where_it_was(axis: int, change: Any) -> None:
    x = change(CELLS)
    order = np.argsort(x, axis, kind="stable")
    assert np.array_equal(stable_order(x, axis), order)
    relation = sort(x, axis)[0].relation
    places = np.indices(x.shape).reshape(3, -1)
    sources = places.copy()
    sources[axis] = order.ravel()
    assert np.array_equal(relation.to_array(), np.concatenate([places, sources]).T)
    some = RNG.integers(0, places.shape[1], 40)
    for asked, found in ((places, sources), (sources, places)):
        ask = relation.backward if asked is places else relation.forward
        answer = ask(asked[:, some].T.tolist())
        assert {*map(tuple, answer.cells().tolist())} == {*map(tuple, found[:, some].T.tolist())}


def test_a_few_cells_of_a_file_are_read_from_few_blocks() -> None:
    x = RNG.random((400, 1500))
    stored = Relation.from_bytes(sort(x, 1)[0].relation.to_bytes())
    order = np.argsort(x, 1)
    assert stored.backward([(7, 11)]).cells().tolist() == [[7, order[7, 11]]]
    assert stored.forward([(390, order[390, 2])]).cells().tolist() == [[390, 2]]
    assert stored.backward("100:103, 5").cells().tolist() == [[row, order[row, 5]] for row in (100, 101, 102)]
    assert stored._table is None  # nobody loaded all of it
    assert stored.backward(":, 5") == Relation.from_bytes(stored.to_bytes()).inverse.forward(":, 5")
