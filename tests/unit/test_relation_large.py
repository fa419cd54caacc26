"""Relations of many tuples against joins of plain arrays: the indexes, layouts and blocks of large tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import whence as wh
from whence.testing import operations as ops
from whence.testing.operations import Raw
from whence.testing.oracle import Ints, Shape, backward_rows, compose_rows, flat, forward_rows
from whence.testing.strategies import LONG, swapped

SIDE = 300 if LONG else 120

LARGE: dict[str, Callable[[], Raw]] = {
    "sort": lambda: ops.sort((SIDE * SIDE,)),
    "sort of lanes": lambda: ops.sort((SIDE, SIDE)),
    "sort of rows 0": lambda: ops.sort((SIDE, SIDE), 0),
    "filter": lambda: ops.filter_rows((SIDE * 50, 3)),
    "correlated filter": lambda: ops.filter_correlated((SIDE * 50, 3)),
    "cells picked": lambda: ops.filter_cells((SIDE, SIDE)),
    "bins": lambda: ops.bins((SIDE * SIDE,), 4),
    "sorted bins": lambda: ops.bins((SIDE * SIDE,), 4, ordered=True),
    "group by": lambda: ops.group_by((SIDE * 40, 4), SIDE),
    "sorted group by": lambda: ops.group_by((SIDE * 40, 4), SIDE, ordered=True),
    "join": lambda: ops.join_left((SIDE * 20, 3), SIDE * 10, SIDE * 8),
    "join, other side": lambda: ops.join_right((SIDE * 10, 2), SIDE * 20, SIDE * 8),
    "disc": lambda: ops.where_disc((SIDE, SIDE)),
    "segments": lambda: ops.segments((SIDE, SIDE), 20),
    "image filter": lambda: ops.convolve_nd((SIDE, SIDE), (3, 3)),
    "reshape": lambda: ops.reshape((SIDE, SIDE), (SIDE // 4 * 5, SIDE // 5 * 4)),
    "transpose, then reshape": lambda: ops.transpose_reshape((SIDE, 20, 6), (2, 0, 1), (SIDE * 4, 30)),
    "cumsum": lambda: ops.cumsum((5, SIDE), 1),
    "matmul": lambda: ops.matmul_left((40, 30), 20),
    "scatter": lambda: ops.scatter((SIDE, SIDE), 500),
    "scatter, other way": lambda: swapped(ops.scatter((SIDE, 20), 500)),
    "random pairs": lambda: random_pairs((SIDE, SIDE), (SIDE * 3,), SIDE * 100),
    "random boxes": lambda: random_boxes((SIDE, SIDE), (SIDE, SIDE), 300),
}


def random_pairs(out_shape: Shape, in_shape: Shape, count: int) -> Raw:
    rng = np.random.default_rng(4)
    return ops.linked(
        rng.integers(0, np.prod(out_shape), count), rng.integers(0, np.prod(in_shape), count), out_shape, in_shape
    )


def random_boxes(out_shape: Shape, in_shape: Shape, count: int) -> Raw:
    """Boxes that overlap as they like: the same tuple from several of them."""
    rng = np.random.default_rng(4)
    sides = np.array(out_shape + in_shape)
    rows = []
    for _ in range(count):
        low = rng.integers(0, sides)
        high = np.minimum(low + rng.integers(1, 5, len(sides)), sides)
        rows.append(np.indices(tuple(high - low)).reshape(len(sides), -1).T + low)
    every = np.concatenate(rows)
    cut = len(out_shape)
    return ops.linked(flat(every[:, :cut], out_shape), flat(every[:, cut:], in_shape), out_shape, in_shape)


def questions(shape: Shape, rng: np.random.Generator) -> Iterator[Ints]:
    """One cell, a box, and a scatter of cells."""
    sides = np.array(shape, np.int64)
    yield rng.integers(0, sides, (1, len(shape)))
    for width in (3, 20):
        low = rng.integers(0, sides)
        high = np.minimum(low + width, sides)
        yield np.indices(tuple(high - low)).reshape(len(shape), -1).T + low
    yield rng.integers(0, sides, (200, len(shape)))


@pytest.mark.parametrize("name", LARGE)
def test_answers_equal_the_plain_join(name: str, tmp_path: Path) -> None:
    raw = LARGE[name]()
    rng = np.random.default_rng(7)
    made = wh.compress(rng.permutation(raw.tuples), raw.out_shape, raw.in_shape)
    made.save(tmp_path / "relation")
    loaded = wh.Relation.load(tmp_path / "relation")
    for relation in (made, loaded):
        assert relation.verify()
        assert relation.count() == len(raw.tuples)
        for cells in questions(raw.out_shape, rng):
            assert np.array_equal(relation.backward(cells).cells(), backward_rows(*raw, cells))
        for cells in questions(raw.in_shape, rng):
            assert np.array_equal(relation.forward(cells).cells(), forward_rows(*raw, cells))
        assert np.array_equal(relation.to_array(), raw.tuples)
    assert len(made) <= len(raw.tuples)


@pytest.mark.parametrize("name", LARGE)
def test_chunks_of_any_order_equal_one_array(name: str) -> None:
    raw = LARGE[name]()
    rng = np.random.default_rng(8)
    in_order = wh.compress(iter(np.array_split(raw.tuples, 9)), raw.out_shape, raw.in_shape)
    assert np.array_equal(in_order.to_array(), raw.tuples)
    shuffled = rng.permutation(np.concatenate([raw.tuples, raw.tuples[: len(raw.tuples) // 3]]))
    any_order = wh.compress(iter(np.array_split(shuffled, 9)), raw.out_shape, raw.in_shape)
    assert np.array_equal(any_order.to_array(), raw.tuples)
    assert in_order == any_order


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        (ops.convolve_nd((SIDE, SIDE), (3, 3)), ops.sort((SIDE, SIDE))),
        (ops.sort((SIDE, SIDE)), ops.convolve_nd((SIDE, SIDE), (3, 3))),
        (ops.sort((SIDE * 40,)), ops.sort((SIDE * 40,), seed=9)),
        (ops.sum_over((SIDE, SIDE), 0), ops.filter_rows((SIDE * 2, SIDE), 0.5)),
        (ops.reshape((SIDE, SIDE), (SIDE * 2, SIDE // 2)), ops.rot90((SIDE, SIDE))),
        (ops.cumsum((SIDE,)), ops.flip((SIDE,))),
        (ops.repeat((SIDE * 10,), 3), ops.sliced((SIDE * 30,), slice(None, None, 3))),
        (ops.pool((SIDE, SIDE), (3, 2)), ops.upsample((SIDE // 2, SIDE // 3), (2, 3))),
        (ops.bins((SIDE * SIDE,), 50), ops.reshape((SIDE, SIDE), (SIDE * SIDE,))),
    ],
    ids=lambda raw: f"{raw.out_shape} from {raw.in_shape}".replace(" ", ""),
)
def test_composition_equals_the_plain_join(later: Raw, earlier: Raw) -> None:
    if later.in_shape != earlier.out_shape:  # filters keep as many rows as they keep: cut the other to fit
        later = ops.sum_over(earlier.out_shape, 0)
    joined = wh.compress(*later).compose(wh.compress(*earlier))
    expected = compose_rows(later.tuples, earlier.tuples, later.out_shape, earlier.out_shape, earlier.in_shape)
    assert joined.count() == len(expected)
    assert np.array_equal(joined.to_array(), expected)
