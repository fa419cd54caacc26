"""Rows as arrays, so that many rows of one pattern are transformed together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from whence import _core
from whence.relation._relation import Relation
from whence.relation.blocks import Ints
from whence.relation.codec import Axis, Part
from whence.relation.columns import spread
from whence.relation.forest import Forest, NoForm
from whence.relation.layout import Shape

LARGEST = 1 << 31
"""Bounds and slopes are multiplied only if they are smaller than this."""


@dataclass(frozen=True, slots=True)
class BoxRows:
    """Rows of one pattern: (parent, p, q) of each axis, and bounds (rows, axes, 2), relative to the parents.

    A value of an axis is between `lo + p * parent` and `hi + q * parent`.
    """

    axes: tuple[Axis, ...]
    bounds: Ints

    def __len__(self) -> int:
        return len(self.bounds)


def of_part(part: Part) -> BoxRows:
    """Return the rows of a part of a relation."""
    if not part.axes:
        return BoxRows((), np.empty((part.rows, 0, 2), np.int64))
    lo = np.stack([spread(each, 0, part.rows) for each in part.lo], axis=1)
    width = np.stack([spread(each, 0, part.rows) for each in part.width], axis=1)
    return BoxRows(part.axes, np.stack([lo, lo + width], axis=2))


def of_forests(forests: Iterable[Forest], names: Sequence[Hashable]) -> list[BoxRows]:
    """Return the rows of forests of axes with these names."""
    place: dict[Hashable, int] = {name: i for i, name in enumerate(names)}
    found: dict[tuple[Axis, ...], list[list[tuple[int, int]]]] = {}
    for forest in forests:
        bounds = [forest[name] for name in names]
        axes = tuple((-1, 0, 0) if b.parent is None else (place[b.parent], b.p, b.q) for b in bounds)
        found.setdefault(axes, []).append([(b.lo, b.hi) for b in bounds])
    return [BoxRows(axes, np.array(each, np.int64).reshape(len(each), len(axes), 2)) for axes, each in found.items()]


def relation_of(out_shape: Shape, in_shape: Shape, views: tuple[Shape, Shape], rows: Iterable[BoxRows]) -> Relation:
    """Make a relation, in these views of its shapes, from rows that share no tuple."""
    table = _core.Table(out_shape, in_shape, *views)
    for each in rows:
        if len(each):
            lo, hi = (np.ascontiguousarray(each.bounds[:, :, side].T) for side in (0, 1))
            table.add(len(each), list(each.axes), list(lo), list(hi - lo))
    return Relation(out_shape, in_shape, table)


def small(rows: BoxRows) -> bool:
    """Whether bounds and slopes can be multiplied without overflow."""
    slopes = [abs(slope) for _, p, q in rows.axes for slope in (p, q)]
    return max(slopes, default=0) < LARGEST and (not rows.bounds.size or int(np.abs(rows.bounds).max()) < LARGEST)


def rooted(rows: BoxRows, wanted: range) -> BoxRows:
    """Return the same rows with the wanted axes as roots; raise NoForm if one is not a one-to-one image of its
    parent.
    """
    if not small(rows):
        raise NoForm
    for axis in wanted:
        while rows.axes[axis][0] >= 0:
            rows = _with_new_root(rows, _top(rows, axis))
    if any(rows.axes[axis][0] >= 0 for axis in wanted):  # two of them depend on each other
        raise NoForm
    return rows


def hulls(rows: BoxRows) -> Ints:
    """Return the least and the greatest value of each axis (rows, axes, 2)."""
    found = rows.bounds.copy()
    done = {axis for axis, (parent, _, _) in enumerate(rows.axes) if parent < 0}
    while len(done) < len(rows.axes):
        for axis, (parent, p, q) in enumerate(rows.axes):
            if axis not in done and parent in done:
                found[:, axis, 0] += (p * found[:, parent]).min(axis=1)
                found[:, axis, 1] += (q * found[:, parent]).max(axis=1)
                done.add(axis)
    return found


def _top(rows: BoxRows, axis: int) -> int:
    """Return this axis or the ancestor whose parent is a root."""
    while rows.axes[parent := rows.axes[axis][0]][0] >= 0:
        axis = parent
    return axis


def _with_new_root(rows: BoxRows, axis: int) -> BoxRows:
    """Swap an axis with its parent, which is a root."""
    parent, p, q = rows.axes[axis]
    own, above = rows.bounds[:, axis], rows.bounds[:, parent]
    if p != q or p not in (1, -1) or np.any(own[:, 0] != own[:, 1]):
        raise NoForm
    offset = own[:, :1]
    bounds, axes = rows.bounds.copy(), list(rows.axes)
    bounds[:, axis] = offset + (above if p == 1 else -above[:, ::-1])
    bounds[:, parent] = -p * offset
    axes[axis], axes[parent] = (-1, 0, 0), (axis, p, p)
    return BoxRows(tuple(axes), bounds)
