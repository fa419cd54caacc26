"""The union of rows that may share tuples, as rows that do not, without expanding them.

Rows of one pattern (the same parents and slopes) become boxes when each axis is measured from its parent: where both
bounds of an axis have the slope p, `x - p * parent` lies between two constants. A union of boxes is a list of disjoint
boxes, so the union of such rows is a list of disjoint rows:

    (i from i - 1), (i from i), (i from i + 1)    ->    (i from i - 1 to i + 1)

An axis whose bounds have two slopes (the cells up to i) has no such form. Rows are of one pattern only if they agree in
these bounds, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.relation.forest import Bound, Forest, canonical, hull

Names = Sequence[Hashable]

MOST_AXES = 32
GROWTH = 4
"""A union that has so many times the rows it was made of is given up: tuples may be fewer."""


def united(rows: Sequence[Forest], names: Names) -> list[list[Forest]] | None:
    """The same tuples in lists of rows: rows of one list share no tuple. None if there would be too many rows.

    >>> left, right = ({"b": Bound(1, 8), "a": Bound(by, by, "b", 1, 1)} for by in (-1, 0))
    >>> united([left, right, left], ["b", "a"])
    [[{'b': Bound(lo=1, hi=8, parent=None, p=0, q=0), 'a': Bound(lo=-1, hi=0, parent='b', p=1, q=1)}]]
    """
    if len(names) > MOST_AXES:
        return None
    groups: dict[Hashable, list[Forest]] = {}
    for row in dict.fromkeys(tuple(canonical(each, names).items()) for each in rows):
        forest = dict(row)
        groups.setdefault(_pattern(forest, names), []).append(forest)
    found = [_united_boxes(group, names) for group in groups.values()]
    if sum(map(len, found)) > GROWTH * (len(rows) + MOST_AXES):
        return None
    return _disjoint_lists(_without_parts(found, names), names)


def _pattern(row: Forest, names: Names) -> Hashable:
    """What rows must have in common to be boxes of one space."""
    return tuple((b.parent, b.p, b.q, (b.lo, b.hi) if b.p != b.q else None) for b in (row[name] for name in names))


def _united_boxes(group: list[Forest], names: Names) -> list[Forest]:
    """Rows of one pattern, made disjoint."""
    if len(group) == 1:
        return group
    free = [name for name in names if group[0][name].p == group[0][name].q]
    if not free:
        return group[:1]
    boxes = np.array([[(row[name].lo, row[name].hi) for name in free] for row in group], dtype=np.int64)
    made = []
    for box in _core.normalize(np.ascontiguousarray(boxes)).tolist():
        row = dict(group[0])
        for name, (lo, hi) in zip(free, box, strict=True):
            row[name] = Bound(lo, hi, row[name].parent, row[name].p, row[name].q)
        made.append(row)
    return made


def _without_parts(groups: list[list[Forest]], names: Names) -> list[list[Forest]]:
    """The groups without rows that lie within a row of another group."""
    left = [list(group) for group in groups]
    for i, group in enumerate(left):
        others = [row for j, each in enumerate(left) if j != i for row in each]
        if others:
            group[:] = [row for row in group if not any(_within(row, other, names) for other in others)]
    return [group for group in left if group]


def _within(row: Forest, other: Forest, names: Names) -> bool:
    """Whether every tuple of the row surely is one of the other's: each bound of the other holds in the row."""
    for name in names:
        own, bound = row[name], other[name]
        if bound.parent is None:
            low, high = hull(row, name)
            if low < bound.lo or high > bound.hi:
                return False
        elif (bound.parent, bound.p, bound.q) != (own.parent, own.p, own.q) or own.lo < bound.lo or own.hi > bound.hi:
            return False
    return True


def _disjoint_lists(groups: list[list[Forest]], names: Names) -> list[list[Forest]]:
    """Groups put together where none of their rows can meet."""
    lists: list[list[Forest]] = []
    hulls: list[NDArray[np.int64]] = []
    for group in groups:
        own = np.array([[hull(row, name) for name in names] for row in group], dtype=np.int64)
        for at, other in enumerate(hulls):
            if not _meeting(own, other):
                lists[at] = [*lists[at], *group]
                hulls[at] = np.concatenate([other, own])
                break
        else:
            lists.append(group)
            hulls.append(own)
    return lists


def _meeting(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    """Whether two sets of hulls (rows, axes, 2) have one in common; without axes all rows are the same one."""
    return bool(np.any(np.all((a[:, None, :, 0] <= b[None, :, :, 1]) & (b[None, :, :, 0] <= a[:, None, :, 1]), axis=2)))
