"""Calls of everyday programs that need more than a rule: np.add.at, np.vectorize, one-hot rows, weighted bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.calls import captured

X = np.array([[0.1, 1.0, 5.0], [0.6, 2.0, 6.0], [0.2, 3.0, 7.0], [0.9, 4.0, 8.0]])


def sums(x: Any) -> Any:
    out = np.zeros(2)
    np.add.at(out, (x[:, 0] > 0.5).astype(int), x[:, 1])
    return out


def products(x: Any) -> Any:
    out = x[:2].copy()
    np.multiply.at(out, ([0, 0], [1, 1]), x[2:, 2])
    return out


def through_a_view(x: Any) -> Any:
    out = np.zeros((2, 2))
    np.add.at(out[:, 1], [1, 1], x[:2, 0])
    return out


def negated(x: Any) -> Any:
    out = x[:, 0].copy()
    np.negative.at(out, [0, 2])
    return out


def each_cell(x: Any) -> Any:
    return np.vectorize(lambda v, w: v * 2 + w)(x[:, 1], x[0, 2])


def one_hot(x: Any) -> Any:
    return np.eye(2)[(x[:, 0] > 0.5).astype(int)] * x[:, 1:2]


def weighted(x: Any) -> Any:
    return np.histogram2d(x[:, 0], x[:, 1], bins=[2, 1], range=[[0, 1], [0, 5]], weights=x[:, 2])[0]


def edges_given(x: Any) -> Any:
    return np.histogram2d(x[:, 0], x[:, 1], bins=[np.array([0, 0.5, 1]), np.array([0, 5])])[0]


CELLS = {
    sums: {(0, 0, 1), (0, 2, 1), (1, 1, 1), (1, 3, 1)},
    products: {(i, j, i, j) for i in range(2) for j in range(3)} | {(0, 1, 2, 2), (0, 1, 3, 2)},
    through_a_view: {(1, 1, 0, 0), (1, 1, 1, 0)},
    negated: {(i, i, 0) for i in range(4)},
    each_cell: {(i, i, 1) for i in range(4)} | {(i, 0, 2) for i in range(4)},
    one_hot: {(i, j, i, 1) for i in range(4) for j in range(2)},
    weighted: {(i // 2, 0, k, j) for i, k in ((0, 0), (0, 2), (2, 1), (2, 3)) for j in range(3)},
    edges_given: {(i // 2, 0, k, j) for i, k in ((0, 0), (0, 2), (2, 1), (2, 3)) for j in range(2)},
}


@pytest.mark.parametrize("function", CELLS, ids=lambda each: each.__name__)
def test_value_lineage_is_what_one_reads_off_the_code(function: Any) -> None:
    found = captured(function, (X,), {}, ("x",), "f", selection=False)
    assert np.array_equal(found.result, function(X))
    assert {tuple(row) for edge in found.edges for row in edge.relation.to_array().tolist()} == CELLS[function]


def test_what_decided_where_values_go_is_selection_lineage() -> None:
    found = captured(sums, (X,), {}, ("x",), "f", selection=True)
    decided = {
        tuple(row) for edge in found.edges if edge.kind == "selection" for row in edge.relation.to_array().tolist()
    }
    assert decided == {(i, k, 0) for i in range(2) for k in range(4)}


def test_blocks_of_cells_that_all_come_from_everything_take_no_tuples() -> None:
    def pipeline(image: Any) -> Any:
        bright = np.where(image > 0.5, image / image.max(), 0.0)
        below = bright.cumsum(axis=0)
        return below.reshape(len(below) // 2, 2, -1, 2).mean(axis=(1, 3))

    small = np.random.default_rng(1).random((6, 8))
    (edge,) = captured(pipeline, (small,), {}, ("image",), "f", selection=False).edges
    bright = np.cumsum(small > 0.5, axis=0).reshape(3, 2, 4, 2).any(axis=(1, 3))
    assert edge.relation.forward((0, 0)) == wh.Selection.from_mask(bright)
    large = np.random.default_rng(1).random((400, 400))
    (edge,) = captured(pipeline, (large,), {}, ("image",), "f", selection=False).edges
    assert edge.relation.backward((199, 0)).count == 160_000
