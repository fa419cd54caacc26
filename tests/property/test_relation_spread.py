"""Few tuples in vast arrays: indices near 2^40, shapes whose pairs of cells no 64-bit number can count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.testing.conformance import answer
from whence.testing.operations import Raw
from whence.testing.oracle import Cells, Ints, RawRelation, Shape
from whence.testing.strategies import asked, chains, effort, relations


@dataclass(frozen=True)
class Spread:
    """A small array laid out in a vast one: index x of an axis lies at first + step * x."""

    small: Shape
    shape: Shape
    first: tuple[int, ...]
    step: tuple[int, ...]

    def __call__(self, cells: Ints) -> Ints:
        return cells * np.array(self.step, np.int64) + np.array(self.first, np.int64)

    def set_of(self, cells: Cells) -> Cells:
        return frozenset(
            tuple(f + k * x for f, k, x in zip(self.first, self.step, cell, strict=True)) for cell in cells
        )


@st.composite
def spreads(draw: st.DrawFn, small: Shape) -> Spread:
    room = 61 // max(len(small), 1)
    first, step, shape = [], [], []
    for side in small:
        bits = draw(st.integers(4, room))
        stride = draw(st.integers(1, max(1, (1 << bits) // (side + 1))))
        start = draw(st.integers(0, 1 << bits)) if bits < room else 0
        first.append(start)
        step.append(stride)
        shape.append(min(start + stride * max(side - 1, 0) + 1 + draw(st.integers(0, 3)), 1 << room))
    return Spread(small, tuple(shape), tuple(first), tuple(step))


def laid_out(raw: Raw, out: Spread, into: Spread) -> Raw:
    cut = len(raw.out_shape)
    tuples = np.concatenate([out(raw.tuples[:, :cut]), into(raw.tuples[:, cut:])], axis=1)
    return Raw(tuples, out.shape, into.shape)


def rows_of(cells: Cells, axes: int) -> Ints:
    return np.array(sorted(cells), np.int64).reshape(len(cells), axes)


@given(st.data())
@effort(300)
def test_vast_arrays_are_exact(data: st.DataObject) -> None:
    small = data.draw(relations())
    out, into = data.draw(spreads(small.out_shape)), data.draw(spreads(small.in_shape))
    raw, plain = laid_out(small, out, into), RawRelation.from_rows(*small)
    rows = np.random.default_rng(0).permutation(raw.tuples) if data.draw(st.booleans()) else raw.tuples
    relation = wh.compress(rows, raw.out_shape, raw.in_shape)
    assert relation.count() == len(raw.tuples)
    assert np.array_equal(relation.to_array(), raw.tuples)
    asks = data.draw(asked(small.out_shape)).cells
    assert answer(relation.backward(rows_of(out.set_of(asks), len(out.shape)))) == into.set_of(plain.backward(asks))
    asks = data.draw(asked(small.in_shape)).cells
    assert answer(relation.forward(rows_of(into.set_of(asks), len(into.shape)))) == out.set_of(plain.forward(asks))
    again = wh.Relation.from_bytes(relation.to_bytes())
    assert np.array_equal(again.to_array(), raw.tuples)
    assert again.inverse.inverse == relation


@given(st.data())
@effort(150)
def test_vast_arrays_compose(data: st.DataObject) -> None:
    steps = data.draw(chains(2).filter(lambda steps: len(steps) == 2))
    ends = [data.draw(spreads(shape)) for shape in (steps[0].in_shape, steps[0].out_shape, steps[1].out_shape)]
    first, second = laid_out(steps[0], ends[1], ends[0]), laid_out(steps[1], ends[2], ends[1])
    joined = wh.compress(*second).compose(wh.compress(*first))
    expected = RawRelation.from_rows(*second).compose(RawRelation.from_rows(*first))
    assert joined.count() == expected.count()
    assert joined.to_array().tolist() == expected.to_array().tolist()


@given(st.data())
@effort(150)
def test_vast_arrays_in_chunks(data: st.DataObject) -> None:
    small = data.draw(relations())
    raw = laid_out(small, data.draw(spreads(small.out_shape)), data.draw(spreads(small.in_shape)))
    rows = np.random.default_rng(1).permutation(raw.tuples) if data.draw(st.booleans()) else raw.tuples
    relation = wh.compress(iter(np.array_split(rows, 3)), raw.out_shape, raw.in_shape)
    assert np.array_equal(relation.to_array(), raw.tuples)
