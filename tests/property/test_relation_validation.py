"""The compiled core's verdict on rows, against a walk over every value that they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence import _core
from whence.relation.columns import Column
from whence.testing.strategies import effort

Axis = tuple[int, int, int]
Row = tuple[list[int], list[int]]


class Invalid(Exception):
    """A row that is none."""


def tuples_of(axes: list[Axis], row: Row, dims: list[int]) -> Iterator[tuple[int, ...]]:
    """Each tuple of a row, by walking its axes parents first; Invalid where an interval is empty or leaves its axis."""
    order: list[int] = []
    while len(order) < len(axes):
        order += [v for v, (parent, _, _) in enumerate(axes) if v not in order and (parent < 0 or parent in order)]

    def walk(at: int, values: dict[int, int]) -> Iterator[tuple[int, ...]]:
        if at == len(order):
            yield tuple(values[v] for v in range(len(axes)))
            return
        v = order[at]
        parent, p, q = axes[v]
        x = values[parent] if parent >= 0 else 0
        lo, hi = row[0][v] + p * x, row[0][v] + row[1][v] + q * x
        if not 0 <= lo <= hi < dims[v]:
            raise Invalid
        for y in range(lo, hi + 1):
            yield from walk(at + 1, {**values, v: y})

    yield from walk(0, {})


@st.composite
def parts(draw: st.DrawFn, dims: list[int]) -> tuple[list[Axis], list[Row]]:
    """Rows of one pattern, many of them wrong; their axes in any order of parents."""
    count = len(dims)
    order = draw(st.permutations(range(count)))
    axes: list[Axis] = [(-1, 0, 0)] * count
    for place, v in enumerate(order):
        if place and draw(st.booleans()):
            p, q = (draw(st.sampled_from([0, 1, 1, -1, 2, 3, -2])) for _ in range(2))
            axes[v] = (order[draw(st.integers(0, place - 1))], p, q)
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        lo = [draw(st.integers(-1 if axis[0] < 0 else -4, d)) for axis, d in zip(axes, dims, strict=True)]
        rows.append((lo, [draw(st.sampled_from([0, 0, 0, 1, 2, -1])) for _ in dims]))
    if draw(st.booleans()):  # in step with each other
        steps = [draw(st.integers(-1, 2)) for _ in dims]
        rows = [([lo + i * step for lo, step in zip(rows[0][0], steps, strict=True)], rows[0][1]) for i in range(3)]
    return axes, rows


def _columns(rows: list[list[int]]) -> list[Column]:
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)]


@given(st.data())
@effort(600)
def test_rows_are_valid_and_disjoint_exactly_if_their_tuples_are(data: st.DataObject) -> None:
    out_shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=2)))
    in_shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=0, max_size=2)))
    dims = [*out_shape, *in_shape]
    table = _core.Table(out_shape, in_shape, out_shape, in_shape)
    found: Counter[tuple[int, ...]] = Counter()
    for axes, rows in data.draw(st.lists(parts(dims), min_size=1, max_size=2)):
        lo, width = (_columns([row[side] for row in rows]) for side in (0, 1))
        try:
            own = [each for row in rows for each in tuples_of(axes, row, dims)]
        except Invalid:
            with pytest.raises(ValueError, match="a row"):
                table.add_validated(len(rows), axes, lo, width, 2)
            continue
        bounds = table.add_validated(len(rows), axes, lo, width, 2)
        for block in range(bounds.shape[2]):
            some = np.array([t for row in rows[2 * block : 2 * block + 2] for t in tuples_of(axes, row, dims)])
            assert np.array_equal(bounds[:, :, block], np.stack([some.min(axis=0), some.max(axis=0)], axis=1))
        found.update(own)
    assert table.disjoint() == (max(found.values(), default=1) == 1)
    high, low = table.count()
    assert (high << 64) + low == sum(found.values())
    relation = wh.Relation(out_shape, in_shape, table)
    cut = len(out_shape)
    cells = {t[:cut] for t in found}
    for cell in sorted(cells)[:3]:
        expected = {t[cut:] for t in found if t[:cut] == cell}
        assert set(relation.backward([cell])) == expected
    assert set(relation.backward(wh.Selection.all(out_shape))) == {t[cut:] for t in found}


FAR = [-(1 << 63), -1, 0, 1, 6, 7, 8, (1 << 62) - 1, 1 << 62, (1 << 63) - 1]


@given(st.data())
@effort(300)
def test_many_rows_without_parents_and_numbers_that_overflow(data: st.DataObject) -> None:
    """They are compared by their bounds, not one by one."""
    dims = data.draw(st.sampled_from([(8, 8), (8, 1 << 62), (1 << 62, 8)]))
    rows, block = data.draw(st.integers(1, 23)), data.draw(st.sampled_from([1, 3, 8, 64]))
    columns: list[Column] = []
    for near in (6, 6, 1, 1):
        usual = st.integers(0, near)
        far = st.sampled_from(FAR) if data.draw(st.integers(0, 4)) == 0 else usual
        if data.draw(st.booleans()):
            columns.append((data.draw(far), data.draw(st.sampled_from([0, 0, 0, 1, -1]))))
        else:
            numbers = data.draw(st.lists(usual, min_size=rows, max_size=rows))
            numbers[data.draw(st.integers(0, rows - 1))] = data.draw(far)
            columns.append(np.array(numbers, np.int64))
    table = _core.Table((dims[0],), (dims[1],), (dims[0],), (dims[1],))
    axes: list[Axis] = [(-1, 0, 0), (-1, 0, 0)]
    lo, width = [[_number(each, i) for i in range(rows)] for each in columns[:2]], columns[2:]
    last = [[a + _number(w, i) for i, a in enumerate(los)] for los, w in zip(lo, width, strict=True)]
    inside = [
        0 <= a <= b < side
        for los, ends, side in zip(lo, last, dims, strict=True)
        for a, b in zip(los, ends, strict=True)
    ]
    if not all(inside):
        with pytest.raises(ValueError, match="a row"):
            table.add_validated(rows, axes, columns[:2], width, block)
        return
    found = table.add_validated(rows, axes, columns[:2], width, block)
    starts = range(0, rows, block)
    least = [[min(los[at : at + block]) for at in starts] for los in lo]
    most = [[max(ends[at : at + block]) for at in starts] for ends in last]
    assert found[:, 0].tolist() == least
    assert found[:, 1].tolist() == most


def _number(column: Column, row: int) -> int:
    return column[0] + column[1] * row if isinstance(column, tuple) else int(column[row])
