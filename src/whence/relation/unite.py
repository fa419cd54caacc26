"""Unite rows that may share tuples into disjoint rows, without expanding them.

Rows of one pattern (the same parents and slopes) become boxes if each axis is measured from its parent: if both bounds
of an axis have the slope p, `x - p * parent` is between two constants. A union of boxes is a list of disjoint boxes, so
the union of such rows is a list of disjoint rows:

    (i from i - 1), (i from i), (i from i + 1)    ->    (i from i - 1 to i + 1)

An axis whose bounds have different slopes has no such form. Rows that differ only in its bounds become one row if their
intervals meet for every value of the parent:

    (i from 0 to i), (i from 1 to i + 1)    ->    (i from 0 to i + 1)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.relation.blocks import Ints
from whence.relation.codec import Axis
from whence.relation.forest import NoForm
from whence.relation.rows import BoxRows, hulls, rooted, small

MOST_AXES = 32
GROWTH = 4
"""A union is given up if it has more than this many times the rows it was made of: tuples may be fewer."""

MOST_PAIRS = 1 << 12
"""At most this many pairs of rows are compared with each other."""


def united(rows: Sequence[BoxRows], count: int) -> list[list[BoxRows]] | None:
    """Return the same tuples in lists of rows, such that rows of one list share no tuple; None if there are too many
    rows.

    The first `count` axes are those of the output.

    >>> shifted = [BoxRows(((-1, 0, 0), (0, 1, 1)), np.array([[(1, 8), (by, by)]])) for by in (-1, 0, 1)]
    >>> [[found]] = united(shifted, 1)
    >>> found.bounds.tolist()
    [[[1, 8], [-1, 1]]]
    """
    if not rows or len(rows[0].axes) > MOST_AXES or not all(map(small, rows)):
        return None
    groups: dict[tuple[Axis, ...], list[Ints]] = {}
    for each in rows:
        turned = _from_output(each, count)
        groups.setdefault(turned.axes, []).append(turned.bounds)
    found = [part for axes, bounds in groups.items() for part in united_rows(BoxRows(axes, np.concatenate(bounds)))]
    if sum(map(len, found)) > GROWTH * (sum(map(len, rows)) + MOST_AXES):
        return None
    return _disjoint_lists(_without_contained([each for each in found if len(each)]))


def _from_output(rows: BoxRows, count: int) -> BoxRows:
    """Return the rows in the usual form, with the axes of the output as roots, if possible."""
    try:
        return rooted(rows, range(count))
    except NoForm:
        return rows


def united_rows(rows: BoxRows) -> list[BoxRows]:
    """Make rows of one pattern disjoint."""
    if len(rows) == 1:
        return [rows]
    free = [axis for axis, (_, p, q) in enumerate(rows.axes) if p == q]
    slanted = [axis for axis, (_, p, q) in enumerate(rows.axes) if p != q]
    if not free:
        return [BoxRows(rows.axes, rows.bounds[:1])]
    if not slanted:
        return [BoxRows(rows.axes, normalized(rows.bounds))]
    kinds, which = np.unique(rows.bounds[:, slanted].reshape(len(rows), -1), axis=0, return_inverse=True)
    found = []
    for number in range(len(kinds)):
        alike = rows.bounds[which.reshape(-1) == number]
        boxes = normalized(alike[:, free])
        bounds = np.repeat(alike[:1], len(boxes), axis=0)
        bounds[:, free] = boxes
        found.append(BoxRows(rows.axes, bounds))
    return _met(found, slanted[0]) if len(slanted) == 1 else found


def normalized(boxes: Ints) -> Ints:
    """Return boxes (n, axes, 2) as boxes that share no cell."""
    return np.asarray(_core.normalize(np.ascontiguousarray(boxes)))


def _met(groups: list[BoxRows], axis: int) -> list[BoxRows]:
    """Merge groups that differ only in the bounds of one axis, if their intervals meet everywhere."""
    left = sorted(groups, key=lambda each: tuple(each.bounds[0, axis]))
    found: list[BoxRows] = []
    for each in left:
        if found and (made := _joined_along(found[-1], each, axis)) is not None:
            found[-1] = made
        else:
            found.append(each)
    return found


def _joined_along(first: BoxRows, second: BoxRows, axis: int) -> BoxRows | None:
    """Merge both, if the interval of the second begins inside or right after that of the first; else return None."""
    others = [each for each in range(len(first.axes)) if each != axis]
    if not np.array_equal(first.bounds[:, others], second.bounds[:, others]):
        return None
    parent, p, q = first.axes[axis]
    values = hulls(first)[:, parent]
    if np.any(second.bounds[0, axis, 0] + p * values > first.bounds[0, axis, 1] + q * values + 1):
        return None
    bounds = first.bounds.copy()
    bounds[:, axis, 1] = np.maximum(bounds[:, axis, 1], second.bounds[0, axis, 1])
    return BoxRows(first.axes, bounds)


def _without_contained(groups: list[BoxRows]) -> list[BoxRows]:
    """Remove rows that are inside a row of another group, if they are few enough to compare."""
    left = list(groups)
    for i in range(len(left)):
        for j, other in enumerate(left):
            if i != j and len(left[i]) and len(other) and len(left[i]) * len(other) <= MOST_PAIRS:
                left[i] = BoxRows(left[i].axes, left[i].bounds[~_lies_within(left[i], other)])
    return [each for each in left if len(each)]


def _lies_within(rows: BoxRows, others: BoxRows) -> NDArray[np.bool_]:
    """Return which rows are certainly inside one of the others: the row satisfies each bound of the other."""
    held = np.ones((len(rows), len(others)), bool)
    own = hulls(rows)
    for axis, (mine, theirs) in enumerate(zip(rows.axes, others.axes, strict=True)):
        if theirs[0] >= 0 and theirs != mine:
            return np.zeros(len(rows), bool)
        inside = own[:, None, axis] if theirs[0] < 0 else rows.bounds[:, None, axis]
        bound = others.bounds[None, :, axis]
        held &= (inside[..., 0] >= bound[..., 0]) & (inside[..., 1] <= bound[..., 1])
    return np.asarray(held.any(axis=1))


def _disjoint_lists(groups: list[BoxRows]) -> list[list[BoxRows]]:
    """Put groups into the same list if none of their rows can overlap."""
    lists: list[list[BoxRows]] = []
    covered: list[list[Ints]] = []
    for group in groups:
        own = hulls(group)
        for members, others in zip(lists, covered, strict=True):
            if not any(_meeting(own, other) for other in others):
                members.append(group)
                others.append(own)
                break
        else:
            lists.append([group])
            covered.append([own])
    return lists


def _meeting(a: Ints, b: Ints) -> bool:
    """Whether two sets of boxes (rows, axes, 2) may share a cell."""
    if len(a) * len(b) > MOST_PAIRS:
        a, b = _bounding_box(a), _bounding_box(b)
    return bool(np.any(np.all((a[:, None, :, 0] <= b[None, :, :, 1]) & (b[None, :, :, 0] <= a[:, None, :, 1]), axis=2)))


def _bounding_box(boxes: Ints) -> Ints:
    """Return the smallest box that contains all of these."""
    return np.stack([boxes[:, :, 0].min(axis=0), boxes[:, :, 1].max(axis=0)], axis=1)[None]
