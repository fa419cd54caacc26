"""The generators against NumPy itself: a linear function's lineage is where its Jacobian is not zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence.testing import operations as ops
from whence.testing.oracle import (
    RawRelation,
    all_cells,
    backward_rows,
    compose_rows,
    forward_rows,
    sorted_unique,
    walk,
)

Function = Callable[[Any], Any]


def jacobian_tuples(function: Function, in_shape: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
    """Perturb one input cell at a time and see which output cells change."""
    found = []
    out_shape = np.shape(function(np.zeros(in_shape)))
    for cell in sorted(all_cells(in_shape)):
        unit = np.zeros(in_shape)
        unit[cell] = 1.0
        changed = np.argwhere(np.asarray(function(unit)) != 0)
        found += [(*target, *cell) for target in changed.tolist()]
    width = len(out_shape) + len(in_shape)
    return sorted_unique(np.array(found, np.int64).reshape(len(found), width)), out_shape


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


def into(out_shape: tuple[int, ...], *key: Any) -> Function:
    def function(a: np.ndarray) -> np.ndarray:
        out = np.zeros(out_shape)
        out[key] = a
        return out

    return function


LINEAR: dict[str, tuple[ops.Raw, Function]] = {
    "negative": (ops.negative((2, 3)), np.negative),
    "negative 0-d": (ops.negative(()), np.negative),
    "negative zero-size": (ops.negative((0, 3)), np.negative),
    "broadcast": (ops.broadcast((3, 1), (2, 3, 4)), lambda a: a + np.zeros((2, 3, 4))),
    "broadcast 0-d": (ops.broadcast((), (2, 3)), lambda a: a + np.zeros((2, 3))),
    "add": (ops.add((3, 1), (4,)), lambda a: a + np.zeros(4)),
    "meshgrid": (ops.meshgrid((3,), [2, 4], 1), lambda a: np.meshgrid(ones(2), a, ones(4), indexing="ij")[1]),
    "flip": (ops.flip((2, 3)), np.flip),
    "flip axis": (ops.flip((2, 3), 1), lambda a: np.flip(a, 1)),
    "rot90": (ops.rot90((2, 3)), np.rot90),
    "rot90 k axes": (ops.rot90((2, 3, 2), 3, (1, 2)), lambda a: np.rot90(a, 3, (1, 2))),
    "sliced step": (ops.sliced((7, 3), slice(None, None, 3), 1), lambda a: a[::3, 1]),
    "sliced back": (ops.sliced((7,), slice(5, 0, -2)), lambda a: a[5:0:-2]),
    "sliced to 0-d": (ops.sliced((2, 3), 1, 2), lambda a: a[1, 2]),
    "sliced new axis": (ops.sliced((2, 3), None, ..., 0), lambda a: a[None, ..., 0]),
    "assigned": (ops.assigned((2,), (3, 6), slice(None, None, 2), slice(1, 3)), into((3, 6), np.s_[::2], np.s_[1:3])),
    "transpose": (ops.transpose((2, 3, 4), (2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "reshape": (ops.reshape((4, 6), (3, 8)), lambda a: a.reshape(3, 8)),
    "reshape F": (ops.reshape((2, 3), (6,), "F"), lambda a: a.reshape(6, order="F")),
    "reshape from 0-d": (ops.reshape((), (1, 1)), lambda a: a.reshape(1, 1)),
    "transpose_reshape": (ops.transpose_reshape((2, 3), (1, 0), (2, 3)), lambda a: a.T.reshape(2, 3)),
    "roll": (ops.roll((2, 3), 2), lambda a: np.roll(a, 2)),
    "roll axis": (ops.roll((2, 5), -2, 1), lambda a: np.roll(a, -2, 1)),
    "tile": (ops.tile((2, 3), (2, 2)), lambda a: np.tile(a, (2, 2))),
    "repeat": (ops.repeat((2, 3), 3, 1), lambda a: np.repeat(a, 3, 1)),
    "upsample": (ops.upsample((2, 2), (2, 3)), lambda a: a.repeat(2, 0).repeat(3, 1)),
    "kron left": (ops.kron_left((2, 2), (3, 2)), lambda a: np.kron(a, ones(3, 2))),
    "kron right": (ops.kron_right((2, 2), (3, 2)), lambda a: np.kron(ones(3, 2), a)),
    "outer left": (ops.outer_left((3,), 2), lambda a: np.outer(a, ones(2))),
    "outer right": (ops.outer_right((3,), 2), lambda a: np.outer(ones(2), a)),
    "diag extract": (ops.diag_extract((3, 4)), np.diag),
    "diag extract k": (ops.diag_extract((3, 4), -1), lambda a: np.diag(a, -1)),
    "diag construct": (ops.diag_construct((3,)), np.diag),
    "tril": (ops.tril((3, 4)), np.tril),
    "triu": (ops.triu((3, 4), 1), lambda a: np.triu(a, 1)),
    "pad constant": (ops.pad((2, 3), 1), lambda a: np.pad(a, 1)),
    "pad edge": (ops.pad((3,), (2, 1), "edge"), lambda a: np.pad(a, (2, 1), mode="edge")),
    "pad wrap": (ops.pad((3,), 2, "wrap"), lambda a: np.pad(a, 2, mode="wrap")),
    "pad reflect": (ops.pad((2, 3), 1, "reflect"), lambda a: np.pad(a, 1, mode="reflect")),
    "concatenate": (ops.concatenate((2, 2), 1, 1, 2), lambda a: np.concatenate([ones(2, 1) * 0, a, ones(2, 2) * 0], 1)),
    "stack": (ops.stack((2,), 1, 1, 3), lambda a: np.stack([a * 0, a, a * 0], 1)),
    "take": (ops.take((4, 2), [3, 0, 3], 0), lambda a: np.take(a, [3, 0, 3], 0)),
    "fancy": (ops.fancy((3, 3), [0, 2, 2], [1, 1, 0]), lambda a: a[[0, 2, 2], [1, 1, 0]]),
    "one_hot": (ops.one_hot((3,), 4), lambda a: np.tile(a[:, None], 4)),
    "sum": (ops.sum_over((2, 3, 2), (0, 2)), lambda a: a.sum((0, 2))),
    "sum all": (ops.sum_over((2, 3)), np.sum),
    "sum of 0-d": (ops.sum_over(()), np.sum),
    "sum keepdims": (ops.sum_over((2, 3), 1, keepdims=True), lambda a: a.sum(1, keepdims=True)),
    "all to all": (ops.all_to_all((3,), (2, 2)), lambda a: np.full((2, 2), a.sum())),
    "nothing": (ops.nothing((3,), (2, 2)), lambda a: np.zeros((2, 2))),
    "cumsum": (ops.cumsum((2, 4), 1), lambda a: np.cumsum(a, 1)),
    "diff": (ops.diff((3, 4), 0), lambda a: np.diff(a, axis=0)),
    "gradient": (ops.gradient((5, 2)), lambda a: np.gradient(a, axis=0)),
    "gradient of two": (ops.gradient((2,)), np.gradient),
    "convolve full": (ops.convolve((5,), 3), lambda a: np.convolve(a, ones(3))),
    "convolve same": (ops.convolve((5,), 4, "same"), lambda a: np.convolve(a, ones(4), "same")),
    "convolve valid": (ops.convolve((5,), 3, "valid"), lambda a: np.convolve(a, ones(3), "valid")),
    "pool": (ops.pool((5, 4), (2, 2)), lambda a: a[:4].reshape(2, 2, 2, 2).sum((1, 3))),
    "matmul left": (ops.matmul_left((2, 3), 4), lambda a: a @ ones(3, 4)),
    "matmul right": (ops.matmul_right((3, 4), 2), lambda a: ones(2, 3) @ a),
    "matmul batch": (ops.matmul_left((2, 2, 3), 2), lambda a: a @ ones(3, 2)),
    "matmul right batch": (ops.matmul_right((2, 3, 2), 2), lambda a: ones(2, 3) @ a),
    "matvec": (ops.matvec((2, 3)), lambda a: a @ ones(3)),
    "matvec vector": (ops.matvec_vector((3,), 2), lambda a: ones(2, 3) @ a),
}


@pytest.mark.parametrize("name", LINEAR)
def test_generator_equals_the_jacobian(name: str) -> None:
    raw, function = LINEAR[name]
    expected, out_shape = jacobian_tuples(function, raw.in_shape)
    assert raw.out_shape == out_shape
    assert np.array_equal(raw.tuples, expected)


def test_convolve_nd_equals_products_of_one_axis() -> None:
    for mode in ("full", "same", "valid"):
        rows, columns = ops.convolve((5,), 3, mode), ops.convolve((6,), 3, mode)
        expected = {(i, j, k, m) for i, k in rows.tuples.tolist() for j, m in columns.tuples.tolist()}
        raw = ops.convolve_nd((5, 6), (3, 3), mode)
        assert raw.out_shape == rows.out_shape + columns.out_shape
        assert set(map(tuple, raw.tuples.tolist())) == expected


def test_chunks_are_the_same_tuples() -> None:
    left = np.concatenate(list(ops.matmul_left_chunks((7, 3), 4, 2)))
    assert np.array_equal(left, ops.matmul_left((7, 3), 4).tuples)
    right = np.concatenate(list(ops.matmul_right_chunks((3, 4), 7, 2)))
    assert np.array_equal(right, ops.matmul_right((3, 4), 7).tuples)


VALUES: dict[str, ops.Raw] = {
    "sort": ops.sort((4, 6)),
    "filter rows": ops.filter_rows((10, 2)),
    "filter correlated": ops.filter_correlated((20, 2)),
    "filter cells": ops.filter_cells((5, 5)),
    "where disc": ops.where_disc((9, 9)),
    "bins": ops.bins((30,), 4),
    "scatter": ops.scatter((3, 5), 4),
    "group by": ops.group_by((12, 3), 4),
    "join left": ops.join_left((8, 2), 6, 3),
    "join right": ops.join_right((8, 2), 6, 3),
    "segments": ops.segments((8, 9), 4),
}


@pytest.mark.parametrize("name", VALUES)
def test_value_dependent_tuples_are_sorted_unique_and_inside(name: str) -> None:
    raw = VALUES[name]
    assert len(raw.tuples)
    assert np.array_equal(raw.tuples, sorted_unique(raw.tuples))
    assert raw.tuples.dtype == np.int64
    assert (raw.tuples >= 0).all()
    assert (raw.tuples < raw.out_shape + raw.in_shape).all()


def test_sort_moves_the_values_that_it_drew() -> None:
    values = np.random.default_rng(3).random((4, 6))
    raw = ops.sort((4, 6), 1, seed=3)
    result = np.empty((4, 6))
    for i, j, k, m in raw.tuples:
        result[i, j] = values[k, m]
    assert np.array_equal(result, np.sort(values, 1))


def test_join_pieces_fit_together() -> None:
    rng = np.random.default_rng(5)
    left_keys, right_keys = rng.integers(0, 3, 8), rng.integers(0, 3, 6)
    expected = [(a, b) for a in range(8) for b in range(6) if left_keys[a] == right_keys[b]]
    left = ops.join_left((8, 2), 6, 3, other_columns=1, seed=5)
    right = ops.join_right((6, 1), 8, 3, other_columns=2, seed=5)
    assert left.out_shape == right.out_shape == (len(expected), 3)
    left_rows = dict(left.tuples[left.tuples[:, 1] == 0][:, [0, 2]].tolist())
    right_rows = dict(right.tuples[:, [0, 2]].tolist())
    assert sorted((left_rows[i], right_rows[i]) for i in range(len(expected))) == expected


def test_group_by_covers_every_cell_once() -> None:
    raw = ops.group_by((12, 3), 4, seed=1)
    assert len(raw.tuples) == 36
    assert (raw.tuples[:, 1] == raw.tuples[:, 3]).all()


@pytest.mark.parametrize(
    "name", ["reshape", "sum", "convolve full", "diag extract", "broadcast 0-d", "sum all", "tile"]
)
def test_array_oracle_equals_the_set_oracle(name: str) -> None:
    raw = LINEAR[name][0]
    relation = RawRelation.from_rows(*raw)
    rng = np.random.default_rng(0)
    for shape, ask_rows, ask in (
        (raw.out_shape, backward_rows, relation.backward),
        (raw.in_shape, forward_rows, relation.forward),
    ):
        cells = np.array(sorted(all_cells(shape)), np.int64).reshape(math.prod(shape), len(shape))
        cells = cells[rng.random(len(cells)) < 0.4]
        answer = ask_rows(*raw, cells)
        assert set(map(tuple, answer.tolist())) == ask(map(tuple, cells.tolist()))
        assert np.array_equal(answer, sorted_unique(answer))


def test_array_compose_equals_the_set_compose() -> None:
    second = ops.reshape((4, 6), (3, 8))
    for first in (ops.convolve_nd((3, 8), (2, 3)), ops.sum_over((3, 8)), ops.filter_rows((3, 8))):
        expected = RawRelation.from_rows(*first).compose(RawRelation.from_rows(*second))
        found = compose_rows(first.tuples, second.tuples, first.out_shape, second.out_shape, second.in_shape)
        assert np.array_equal(found, expected.to_array())


def test_oracle_refuses_what_it_cannot_mean() -> None:
    with pytest.raises(ValueError, match="not a tuple"):
        RawRelation((2,), (2,), frozenset({(0, 2)}))
    with pytest.raises(ValueError, match="not a tuple"):
        RawRelation((2,), (2,), frozenset({(0,)}))
    with pytest.raises(ValueError, match="compose"):
        RawRelation.identity((2,)).compose(RawRelation.identity((3,)))
    with pytest.raises(ValueError, match="sideways"):
        walk([(RawRelation.identity((2,)), "sideways")], [(0,)])
