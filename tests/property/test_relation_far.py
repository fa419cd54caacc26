"""Cells far from the origin: axes up to 2^62 long, where doubles are inexact and products leave 64 bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import whence as wh
from whence import _core
from whence.errors import OutOfRange
from whence.relation.compress import encode, fed, finish
from whence.relation.layout import Layout, candidates
from whence.testing.operations import Raw
from whence.testing.oracle import Ints, Shape
from whence.testing.strategies import effort, relations

BITS = 61
"""An array of a relation has fewer than 2^62 cells."""


@st.composite
def far(draw: st.DrawFn, raw: Raw, bits: int = BITS) -> Raw:
    """The same pattern of tuples, each axis moved and stretched within a far longer one."""
    steps, moves, sides = [], [], []
    for shape in (raw.out_shape, raw.in_shape):
        room = bits - sum(max(d - 1, 0).bit_length() for d in shape)
        for d in shape:
            used = draw(st.integers(0, room))
            room -= used
            side = (1 << (max(d - 1, 0).bit_length() + used)) if d else 0
            step = draw(st.sampled_from([1, 1, max(1, side // max(d, 1) // 3)]))
            reach = (d - 1) * step + 1
            move = draw(st.sampled_from([0, (side - reach) // 2, side - reach])) if d else 0
            steps.append(step)
            moves.append(move)
            sides.append(side)
    cut = len(raw.out_shape)
    tuples = raw.tuples * np.array(steps, np.int64) + np.array(moves, np.int64)
    return Raw(np.ascontiguousarray(tuples, np.int64), tuple(sides[:cut]), tuple(sides[cut:]))


@st.composite
def boxes_near(draw: st.DrawFn, cells: Ints, shape: Shape) -> Ints:
    """Boxes whose corners are at, next to, or far from cells that matter."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    count = draw(st.sampled_from([1, 1, 3, 90]))
    sides = np.array(shape, np.int64)
    if not len(cells) or not len(shape) or not sides.all():
        return np.zeros((1 if math.prod(shape) else 0, len(shape), 2), np.int64)
    lo = cells[rng.integers(0, len(cells), count)] - rng.integers(0, 3, (count, len(shape)))
    reach = rng.choice([0, 1, 2, 1 << 20, 1 << 61], (count, len(shape)), p=[0.3, 0.2, 0.2, 0.2, 0.1])
    lo = np.clip(lo, 0, sides - 1)
    hi = lo + np.minimum(reach, sides - 1 - lo)
    return np.stack([lo, hi], axis=2)


def within(cells: Ints, boxes: Ints) -> NDArray[np.bool_]:
    if not len(boxes):
        return np.zeros(len(cells), bool)
    inside = (cells[:, None] >= boxes[None, :, :, 0]) & (cells[:, None] <= boxes[None, :, :, 1])
    found: NDArray[np.bool_] = np.any(np.all(inside, axis=2), axis=1)
    return found


def check_answers(relation: wh.Relation, raw: Raw, data: st.DataObject) -> None:
    cut = len(raw.out_shape)
    outs, ins = raw.tuples[:, :cut], raw.tuples[:, cut:]
    for given_, wanted, shape, into, ask in (
        (outs, ins, raw.out_shape, raw.in_shape, relation.backward),
        (ins, outs, raw.in_shape, raw.out_shape, relation.forward),
    ):
        boxes = data.draw(boxes_near(given_, shape))
        expected = wh.Selection.from_cells(np.unique(wanted[within(given_, boxes)], axis=0), into)
        assert ask(wh.Selection.from_boxes(boxes, shape)) == expected
        every = wh.Selection.from_cells(np.unique(wanted, axis=0), into)
        assert ask(wh.Selection.all(shape)) == every


@given(st.data())
@effort(300)
def test_answers_far_from_the_origin(data: st.DataObject) -> None:
    raw = data.draw(far(data.draw(relations())))
    relation = wh.compress(*raw)
    assert relation.count() == len(raw.tuples)
    assert np.array_equal(relation.to_array(), raw.tuples)
    check_answers(relation, raw, data)
    stored = wh.Relation.from_bytes(relation.to_bytes())
    assert stored.count() == len(raw.tuples)
    check_answers(stored, raw, data)
    check_answers(relation.inverse.inverse, raw, data)


@given(st.data())
@effort(100)
def test_many_tuples_far_from_the_origin(data: st.DataObject) -> None:
    """Enough of them that sets of boxes are made by sorting, in bitmaps, and by sweeping."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    outs, ins = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    small = (data.draw(st.sampled_from([40, 300])),) * outs + (data.draw(st.sampled_from([5, 60])),) * ins
    tuples = np.unique(rng.integers(0, small, (400, outs + ins)), axis=0)
    for axis in data.draw(st.sets(st.integers(0, outs + ins - 1))):  # runs along some axes
        moved = tuples.copy()
        moved[:, axis] = np.minimum(moved[:, axis] + 1, small[axis] - 1)
        tuples = np.unique(np.concatenate([tuples, moved]), axis=0)
    raw = data.draw(far(Raw(tuples, small[:outs], small[outs:])))
    relation = wh.compress(rng.permutation(raw.tuples), raw.out_shape, raw.in_shape)
    assert np.array_equal(relation.to_array(), raw.tuples)
    check_answers(relation, raw, data)
    check_answers(wh.Relation.from_bytes(relation.to_bytes()), raw, data)


@given(st.data())
@effort(150)
def test_chains_far_from_the_origin(data: st.DataObject) -> None:
    """C <- B <- A, composed and asked one after the other, against the join of the tuples."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    length = data.draw(st.sampled_from([1 << 10, 1 << 40, 1 << 61]))
    start = data.draw(st.sampled_from([0, length // 2, length - 12]))
    kind = data.draw(st.sampled_from(["window", "flip", "random"]))
    i = np.arange(10)
    steps = {
        "window": np.concatenate([np.stack([i, i + k], axis=1) for k in (0, 1)]),
        "flip": np.stack([i, 9 - i], axis=1),
        "random": rng.integers(0, 11, (12, 2)),
    }
    later, earlier = (np.unique(steps[k] + start, axis=0) for k in (kind, "random"))
    second, first = (wh.compress(each, (length,), (length,)) for each in (later, earlier))
    joined = {(c, a) for c, b in later.tolist() for b2, a in earlier.tolist() if b == b2}
    assert {tuple(pair) for pair in second.compose(first).to_array().tolist()} == joined
    asked = wh.Selection.parse(f"{start}:{start + 6}", (length,))
    expected = {a for c, a in joined if start <= c < start + 6}
    assert {cell for (cell,) in first.backward(second.backward(asked))} == expected


@given(st.data())
@effort(150)
def test_boxes_that_fall_apart_under_another_layout(data: st.DataObject) -> None:
    """A relation stored under any view and order, asked about boxes that are up to 2^40 runs of cells there."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    out_shape = data.draw(st.sampled_from([(1 << 20, 12), (1 << 40, 6), (1 << 15, 1 << 4, 30), (24, 1 << 16)]))
    in_shape = data.draw(st.sampled_from([(2, 6), (12,), (3, 4)]))
    count = data.draw(st.sampled_from([1, 20, 100]))
    tuples = np.unique(rng.integers(0, out_shape + in_shape, (count, len(out_shape + in_shape))), axis=0)
    raw = Raw(tuples, out_shape, in_shape)
    layouts = [Layout((math.prod(out_shape),), (math.prod(in_shape),), (0, 1)), *candidates(out_shape, in_shape)]
    layout = layouts[data.draw(st.integers(0, len(layouts) - 1))]
    table = finish(fed(encode(tuples, out_shape, in_shape), layout), out_shape, in_shape, layout)
    relation = wh.Relation(out_shape, in_shape, table)
    last = data.draw(st.integers(0, 5))
    box = [[0, d - 1] for d in out_shape[:-1]] + [[0, last]]
    if data.draw(st.booleans()):
        box[0] = sorted(int(x) for x in rng.integers(0, out_shape[0], 2))
    asked = np.array([box])
    cut = len(out_shape)
    for each in (relation, wh.Relation.from_bytes(relation.to_bytes())):
        found = each.backward(wh.Selection.from_boxes(asked, out_shape))
        assert found == wh.Selection.from_cells(tuples[within(tuples[:, :cut], asked), cut:], in_shape)
        check_answers(each, raw, data)


@given(st.data())
@effort(200)
def test_sets_of_boxes_far_from_the_origin(data: st.DataObject) -> None:
    """The canonical form does not depend on where the boxes are."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    axes, count = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([3, 70, 300]))
    lo = rng.integers(0, data.draw(st.sampled_from([9, 40, 500])), (count, axes))
    width = rng.integers(0, data.draw(st.sampled_from([1, 3, 8])), (count, axes))
    boxes = np.stack([lo, lo + width], axis=2)
    move = data.draw(st.sampled_from([1 << 53, 1 << 60, (1 << 62) + 12345, 2**63 - 2 - 600]))
    near, away = _core.normalize(boxes), _core.normalize(boxes + move)
    assert np.array_equal(near + move, away)
    assert _core.count(near) == _core.count(away)
    assert np.array_equal(_core.boxes_of_cells(lo) + move, _core.boxes_of_cells(lo + move))


@pytest.mark.parametrize("side", [1 << 20, 1 << 31, 1 << 61])
def test_triangles_are_counted_without_walking_them(side: int) -> None:
    """A cumulative sum: output i from the inputs 0 to i."""
    relation = wh.Relation.from_rows((side,), (side,), [([(-1, 0, 0), (0, 0, 1)], [(0, side - 1), (0, 0)])])
    assert relation.count() == side * (side + 1) // 2
    assert wh.Relation.from_bytes(relation.to_bytes()).count() == side * (side + 1) // 2


@pytest.mark.parametrize("side", [3, 6])
def test_nested_triangles_are_counted_like_their_tuples(side: int) -> None:
    """c <= b <= a <= x and a free axis: polynomials of a degree up to three."""
    axes = [(-1, 0, 0), (0, 0, 1), (1, 0, 1), (2, 0, 1), (1, 1, 2)]
    shape = (side, side, side), (side, 2 * side)
    bounds = [(0, side - 1), (0, 0), (0, 0), (0, 0), (0, 1)]
    relation = wh.Relation.from_rows(*shape, [(axes, bounds)])
    assert relation.count() == len(relation.to_array())


def test_rows_in_step_are_counted_and_asked_by_their_number() -> None:
    """2^40 rows of one cell each, (2i, 3i), as two numbers a column."""
    rows = 1 << 40
    table = _core.Table((2 * rows,), (3 * rows,), (2 * rows,), (3 * rows,))
    table.add(rows, [(-1, 0, 0)] * 2, [(0, 2), (0, 3)], [(0, 0), (0, 0)])
    relation = wh.Relation((2 * rows,), (3 * rows,), table)
    for each in (relation, wh.Relation.from_bytes(relation.to_bytes())):
        assert each.count() == rows
        assert each.backward(f"{rows}:{rows + 5}").cells().ravel().tolist() == [3 * (rows // 2 + i) for i in range(3)]
        assert each.forward(f"{rows}:{rows + 5}").cells().ravel().tolist() == [
            2 * x // 3 for x in range(rows, rows + 5) if x % 3 == 0
        ]


def test_slices_with_steps_far_from_the_origin() -> None:
    step = (1 << 40) + 1
    found = wh.Selection.from_slices(slice(0, 1000 * step + 1, step), (1 << 61,))
    assert found.count == 1001
    assert found.cells()[-1, 0] == 1000 * step


@pytest.mark.parametrize("bad", [-(2**63), -(2**63) + 1, 2**63 - 1, 2**62])
def test_indices_at_the_ends_of_int64_are_out_of_range(bad: int) -> None:
    with pytest.raises(OutOfRange):
        wh.compress([[0, 0], [1, bad], [2, 0], [3, bad], [4, 0]], (10,), (10,))
