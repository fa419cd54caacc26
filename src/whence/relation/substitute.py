"""Compose many rows at once, if in each row of the outer relation a cell comes from one cell.

Such a row gives an axis in the middle as `b = s * c + o`. Substituted into the bounds of the inner rows, it gives rows
again, for whole arrays of rows at once:

    c = 2 .. 9, b = 3 * c + 1     and     b = 0 .. 20, a = b .. b + 4     ->     c = 2 .. 6, a = 3 * c + 1 .. 3 * c + 5

Examples are a slice, a transpose or a mask of an array that has one row for each run of a mask, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whence import _core
from whence.relation._relation import Relation
from whence.relation.blocks import Ints
from whence.relation.codec import Axis
from whence.relation.forest import NoForm
from whence.relation.rows import BoxRows, of_part, relation_of, rooted
from whence.relation.unite import normalized, united

MOST_TURNS = 1 << 8
"""The most rows of the smaller relation, which are processed one by one."""

MOST_ROWS = 1 << 22


def substituted(outer: Relation, inner: Relation) -> list[Relation]:
    """Compose C <- B and B <- A to C <- A, as relations that may share tuples.

    Raise NoForm if in a row of the outer relation a cell comes from several cells.
    """
    if outer._views[1] != inner._views[0] or min(len(outer), len(inner)) > MOST_TURNS:
        raise NoForm
    count, middle = len(outer._views[0]), len(outer._views[1])
    functions = [_as_function(rooted(of_part(part), range(count)), count) for part in outer.parts()]
    others = [rooted(of_part(part), range(middle)) for part in inner.parts()]
    found: dict[tuple[Axis, ...], list[Ints]] = {}
    total = 0
    for function in functions:
        for other in others:
            for made in _each_with_each(function, other, count, middle):
                found.setdefault(made.axes, []).append(made.bounds)
                total += len(made.bounds)
                if total > MOST_ROWS:
                    raise NoForm
    rows = [BoxRows(axes, np.concatenate(bounds)) for axes, bounds in found.items()]
    apart = not rows or _disjoint([each.bounds[:, :count] for each in functions])  # rows share no output cell
    lists = [rows] if apart else united(rows, count)
    if lists is None:
        raise NoForm
    views = outer._views[0], inner._views[1]
    return [relation_of(outer.out_shape, inner.in_shape, views, each) for each in lists]


def _as_function(rows: BoxRows, count: int) -> BoxRows:
    """Return the rows if each input axis has one value for each value of an output axis, or only one value."""
    for axis, (parent, p, q) in enumerate(rows.axes[count:], count):
        if parent >= count or p != q or np.any(rows.bounds[:, axis, 0] != rows.bounds[:, axis, 1]):
            raise NoForm
    return rows


def _each_with_each(function: BoxRows, other: BoxRows, count: int, middle: int) -> Iterator[BoxRows]:
    """Combine every row of the one with every row of the other."""
    few = min((function.bounds, other.bounds), key=len)
    for number in range(len(few)):
        one = few[number : number + 1]
        left, right = (one, other.bounds) if few is function.bounds else (function.bounds, one)
        made = _substituted_rows(function.axes, left, other.axes, right, count, middle)
        if len(made.bounds):
            yield made


def _substituted_rows(outer: tuple[Axis, ...], left: Ints, inner: tuple[Axis, ...], right: Ints, count: int, middle: int
                 ) -> BoxRows:  # fmt: skip
    """Substitute rows; one of the two may be a single row that is combined with all rows of the other."""
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
    return BoxRows(tuple(axes), np.concatenate([c, a], axis=1)[keep])


def _disjoint(boxes: list[Ints]) -> bool:
    """Whether no two of these boxes (rows, axes, 2) share a cell."""
    every = np.ascontiguousarray(np.concatenate(boxes)) if boxes else np.empty((0, 1, 2), np.int64)
    if not every.shape[1]:
        return len(every) <= 1
    cells = np.prod((every[:, :, 1] - every[:, :, 0] + 1).astype(float), axis=1).sum()
    if cells >= 1 << 52:
        return len(every) <= 1  # too many to be counted exactly in floating point
    return bool(_core.count(normalized(every)) == int(cells))
