"""Composition of many rows at once, where each row of the outer relation takes a cell from one cell.

Such a row says what an axis in the middle is, `b = s * c + o`. Put into the bounds of the inner rows, it gives rows
again, and arrays of rows are substituted together:

    c = 2 .. 9, b = 3 * c + 1     and     b = 0 .. 20, a = b .. b + 4     ->     c = 2 .. 6, a = 3 * c + 1 .. 3 * c + 5

That is a slice, a transposition or a mask of an array that has one row for each run of a mask, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from whence import _core
from whence.relation._relation import Relation
from whence.relation.blocks import Ints
from whence.relation.codec import Axis, Part
from whence.relation.columns import spread
from whence.relation.forest import NoForm

MOST_TURNS = 1 << 8
"""The rows of the smaller relation are taken one by one, if they are so few."""

MOST_ROWS = 1 << 22
MOST_NUMBER = 1 << 31  # beyond, products of bounds and slopes may not fit


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one pattern: (parent, p, q) of each axis, and bounds (rows, axes, 2), measured from the parents."""

    axes: tuple[Axis, ...]
    bounds: Ints


def substituted(outer: Relation, inner: Relation) -> Relation:
    """C <- A from C <- B and B <- A; NoForm where a row of the outer one takes a cell from several cells."""
    if outer._views[1] != inner._views[0] or min(len(outer), len(inner)) > MOST_TURNS:
        raise NoForm
    count, middle = len(outer._views[0]), len(outer._views[1])
    functions = [_function(rooted(rows_of(part), range(count)), count) for part in outer.parts()]
    others = [rooted(rows_of(part), range(middle)) for part in inner.parts()]
    found: dict[tuple[Axis, ...], list[Ints]] = {}
    total = 0
    for function in functions:
        for other in others:
            for made in _pairs(function, other, count, middle):
                found.setdefault(made.axes, []).append(made.bounds)
                total += len(made.bounds)
                if total > MOST_ROWS:
                    raise NoForm
    rows = [Rows(axes, np.concatenate(bounds)) for axes, bounds in found.items()]
    single_valued = _disjoint([each.bounds[:, :count] for each in functions])  # no output cell is in two rows
    if not single_valued:
        rows = [_united(each) for each in rows]
    table = _core.Table(outer.out_shape, inner.in_shape, outer._views[0], inner._views[1])
    for each in rows:
        lo, hi = (np.ascontiguousarray(each.bounds[:, :, side].T) for side in (0, 1))
        table.add(len(each.bounds), list(each.axes), list(lo), list(hi - lo))
    if len(rows) > 1 and not single_valued and table.disjoint() is not True:
        raise NoForm
    return Relation(outer.out_shape, inner.in_shape, table)


def rows_of(part: Part) -> Rows:
    """A part as arrays."""
    if not part.axes:
        return Rows((), np.empty((part.rows, 0, 2), np.int64))
    lo = np.stack([spread(each, 0, part.rows) for each in part.lo], axis=1)
    width = np.stack([spread(each, 0, part.rows) for each in part.width], axis=1)
    return Rows(part.axes, np.stack([lo, lo + width], axis=2))


def rooted(rows: Rows, wanted: range) -> Rows:
    """The same rows with the wanted axes without parents; NoForm if one is no one-to-one image of its parent."""
    if rows.bounds.size and np.abs(rows.bounds).max() >= MOST_NUMBER:
        raise NoForm
    for axis in wanted:
        while rows.axes[axis][0] >= 0:
            rows = _turned(rows, _top(rows, axis))
    if any(rows.axes[axis][0] >= 0 for axis in wanted):  # two of them depend on each other
        raise NoForm
    return rows


def _top(rows: Rows, axis: int) -> int:
    """The axis above this one, or this one, whose parent is a root."""
    while rows.axes[parent := rows.axes[axis][0]][0] >= 0:
        axis = parent
    return axis


def _turned(rows: Rows, axis: int) -> Rows:
    """An axis and its parent, a root, change places."""
    parent, p, q = rows.axes[axis]
    own, above = rows.bounds[:, axis], rows.bounds[:, parent]
    if p != q or p not in (1, -1) or np.any(own[:, 0] != own[:, 1]):
        raise NoForm
    offset = own[:, :1]
    bounds, axes = rows.bounds.copy(), list(rows.axes)
    bounds[:, axis] = offset + (above if p == 1 else -above[:, ::-1])
    bounds[:, parent] = -p * offset
    axes[axis], axes[parent] = (-1, 0, 0), (axis, p, p)
    return Rows(tuple(axes), bounds)


def _function(rows: Rows, count: int) -> Rows:
    """The rows, if each input axis has one value for each value of an output axis, or one at all."""
    for axis, (parent, p, q) in enumerate(rows.axes[count:], count):
        if parent >= count or p != q or np.any(rows.bounds[:, axis, 0] != rows.bounds[:, axis, 1]):
            raise NoForm
    return rows


def _pairs(function: Rows, other: Rows, count: int, middle: int) -> Iterator[Rows]:
    """Every row of the one with every row of the other."""
    few = min((function.bounds, other.bounds), key=len)
    for number in range(len(few)):
        one = few[number : number + 1]
        left, right = (one, other.bounds) if few is function.bounds else (function.bounds, one)
        made = _substituted(function.axes, left, other.axes, right, count, middle)
        if len(made.bounds):
            yield made


def _substituted(outer: tuple[Axis, ...], left: Ints, inner: tuple[Axis, ...], right: Ints, count: int, middle: int
                 ) -> Rows:  # fmt: skip
    """Rows of both, one of which may stand for all of the others."""
    rows = max(len(left), len(right))
    c = np.array(np.broadcast_to(left[:, :count], (rows, count, 2)))
    left, right = np.broadcast_to(left, (rows, *left.shape[1:])), np.broadcast_to(right, (rows, *right.shape[1:]))
    keep = np.ones(rows, bool)
    for axis in range(middle):
        parent, slope, _ = outer[count + axis]
        offset, low, high = left[:, count + axis, 0], right[:, axis, 0], right[:, axis, 1]
        if parent < 0 or slope == 0:
            keep &= (low <= offset) & (offset <= high)
            continue
        first, last = (low, high) if slope > 0 else (high, low)
        c[:, parent, 0] = np.maximum(c[:, parent, 0], -((offset - first) // slope))  # rounded up
        c[:, parent, 1] = np.minimum(c[:, parent, 1], (last - offset) // slope)
    keep &= np.all(c[:, :, 0] <= c[:, :, 1], axis=1)
    axes: list[Axis] = [(-1, 0, 0)] * count
    a = np.array(right[:, middle:])
    for axis, (parent, p, q) in enumerate(inner[middle:]):
        if parent < 0 or parent >= middle:
            axes.append((parent if parent < 0 else parent - middle + count, p, q))
            continue
        above, slope, _ = outer[count + parent]
        a[:, axis] += left[:, count + parent, :1] * np.array([p, q])
        axes.append((above, p * slope, q * slope) if above >= 0 and slope * (p or q) else (-1, 0, 0))
    return Rows(tuple(axes), np.concatenate([c, a], axis=1)[keep])


def _disjoint(boxes: list[Ints]) -> bool:
    """Whether no two of these boxes (rows, axes, 2) share a cell."""
    every = np.ascontiguousarray(np.concatenate(boxes)) if boxes else np.empty((0, 1, 2), np.int64)
    if not every.shape[1]:
        return len(every) <= 1
    cells = np.prod((every[:, :, 1] - every[:, :, 0] + 1).astype(float), axis=1).sum()
    if cells >= 1 << 52:
        return len(every) <= 1  # too many to be counted exactly in floating point
    return bool(_core.count(_core.normalize(every)) == int(cells))


def _united(rows: Rows) -> Rows:
    """Rows of one pattern that may share tuples, as rows that do not: boxes, when measured from the parents."""
    if any(p != q for _, p, q in rows.axes):
        raise NoForm
    if not rows.axes:
        return Rows((), rows.bounds[:1])
    return Rows(rows.axes, np.asarray(_core.normalize(np.ascontiguousarray(rows.bounds))))
