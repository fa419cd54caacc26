"""Chains of operations on arrays of a few thousand cells, against joins of plain arrays.

Small arrays hide what only starts with size: other layouts, indexes, runs of runs, many rows of one pattern.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.testing import operations as ops
from whence.testing.operations import Raw
from whence.testing.oracle import Ints, Shape, backward_rows, compose_rows, forward_rows, sorted_unique
from whence.testing.strategies import effort, operations_on, shapes, swapped

MOST_TUPLES = 60_000


@st.composite
def operations(draw: st.DrawFn, shape: Shape) -> Raw:
    raw = draw(operations_on(shape, max_cells=4000))
    if len(raw.tuples) > MOST_TUPLES:
        raw = ops.flip(shape)
    return raw


def large_shapes() -> st.SearchStrategy[Shape]:
    return shapes(max_axes=3, max_side=60, max_cells=1500)


@st.composite
def cells_of(draw: st.DrawFn, shape: Shape) -> Ints:
    """A box of cells, or cells anywhere."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    if 0 in shape:
        return np.empty((0, len(shape)), np.int64)
    sides = np.array(shape, np.int64)
    if draw(st.booleans()):
        return rng.integers(0, sides, (draw(st.integers(1, 50)), len(shape)))
    low = rng.integers(0, sides)
    widths = np.minimum(rng.integers(1, np.maximum(sides // 2, 2)), sides - low)
    return np.indices(tuple(widths)).reshape(len(shape), math.prod(widths.tolist())).T + low


@given(st.data())
@effort(200)
def test_operations_and_their_inverses(data: st.DataObject) -> None:
    raw = data.draw(operations(data.draw(large_shapes())))
    if data.draw(st.booleans()):
        raw = swapped(raw)
    relation = wh.compress(*raw)
    assert wh.Relation.from_bytes(relation.to_bytes()).verify()
    assert relation.count() == len(raw.tuples)
    assert np.array_equal(relation.to_array(), raw.tuples)
    cells = data.draw(cells_of(raw.out_shape))
    assert np.array_equal(relation.backward(cells).cells(), backward_rows(*raw, cells))
    cells = data.draw(cells_of(raw.in_shape))
    assert np.array_equal(relation.forward(cells).cells(), forward_rows(*raw, cells))


@given(st.data())
@effort(100)
def test_unions_of_operations(data: st.DataObject) -> None:
    """Two operations between the same two arrays, some tuples in both."""
    shape = data.draw(large_shapes())
    first = data.draw(operations(shape))
    second = data.draw(operations(shape).filter(lambda raw: len(raw.out_shape) == len(first.out_shape)))
    out_shape = tuple(map(max, first.out_shape, second.out_shape))
    tuples = np.concatenate([first.tuples, second.tuples])
    raw = Raw(sorted_unique(tuples), out_shape, shape)
    relation = wh.compress(tuples, out_shape, shape)
    assert relation.count() == len(raw.tuples)
    assert np.array_equal(relation.to_array(), raw.tuples)
    cells = data.draw(cells_of(shape))
    assert np.array_equal(relation.forward(cells).cells(), forward_rows(*raw, cells))


@given(st.data())
@effort(100)
def test_chains_of_operations(data: st.DataObject) -> None:
    steps: list[Raw] = [data.draw(operations(data.draw(large_shapes())))]
    for _ in range(data.draw(st.integers(1, 5))):
        steps.append(data.draw(operations(steps[-1].out_shape)))
    relations = [wh.compress(*raw) for raw in steps]
    expected = cells = data.draw(cells_of(steps[-1].out_shape))
    found = wh.Selection.of(cells, steps[-1].out_shape)
    for raw, relation in zip(reversed(steps), reversed(relations), strict=True):
        found, expected = relation.backward(found), backward_rows(*raw, expected)
        assert np.array_equal(found.cells(), expected)
    expected = cells = data.draw(cells_of(steps[0].in_shape))
    found = wh.Selection.of(cells, steps[0].in_shape)
    for raw, relation in zip(steps, relations, strict=True):
        found, expected = relation.forward(found), forward_rows(*raw, expected)
        assert np.array_equal(found.cells(), expected)


@given(st.data())
@effort(100)
def test_compositions_of_operations(data: st.DataObject) -> None:
    earlier = data.draw(operations(data.draw(large_shapes())))
    later = data.draw(operations(earlier.out_shape))
    if len(earlier.tuples) * len(later.tuples) > 100 * MOST_TUPLES * max(1, math.prod(earlier.out_shape)):
        later = ops.flip(earlier.out_shape)  # the plain join would not fit
    joined = wh.compress(*later).compose(wh.compress(*earlier))
    expected = compose_rows(later.tuples, earlier.tuples, later.out_shape, earlier.out_shape, earlier.in_shape)
    assert joined.count() == len(expected)
    assert np.array_equal(joined.to_array(), expected)
