"""Fold rows on a line into one row: the rule of folding, applied to rows instead of tuples.

Rows of one pattern, each with one value on an axis `v`, become one row if `v` increases by one, the bounds of each axis
without a parent move by a constant step, and those of the others stay the same. Then `v` is the parent of the axes that
move:

    (b = 0, a from 0 to 0), (b = 1, a from 0 to 1), (b = 2, a from 0 to 2)    ->    (b from 0 to 2, a from 0 to b)
"""

from __future__ import annotations

import numpy as np

from whence.relation.blocks import Ints
from whence.relation.codec import Axis
from whence.relation.rows import BoxRows, hulls

LEAST = 3
"""Any two rows are on a line, so a step of more than one needs at least this many rows."""


def lined(rows: BoxRows, v: int) -> list[BoxRows]:
    """Return the same tuples, with rows folded along an axis if they are on a line.

    >>> found = lined(BoxRows(((-1, 0, 0), (-1, 0, 0)), np.array([[[i, i], [0, i]] for i in range(3)])), 0)
    >>> [(each.axes, each.bounds.tolist()) for each in found]
    [(((-1, 0, 0), (0, 0, 1)), [[[0, 2], [0, 0]]])]
    """
    around = hulls(rows)
    fit = around[:, v, 0] == around[:, v, 1]
    if rows.axes[v][0] >= 0 or int(fit.sum()) < 2:
        return [rows]
    axes = tuple((-1, 0, 0) if parent == v else (parent, p, q) for parent, p, q in rows.axes)
    bounds = rows.bounds[fit].copy()
    for axis, (parent, _, _) in enumerate(rows.axes):
        if parent == v:  # `v` has one value, so bounds relative to it become bounds relative to 0
            bounds[:, axis] = around[fit][:, axis]
    held = tuple(axis for axis, (parent, _, _) in enumerate(axes) if parent >= 0)
    free = tuple(axis for axis in range(len(axes)) if axis not in held and axis != v)
    found: dict[tuple[Axis, ...], list[Ints]] = {}
    for chain in _chains(bounds, v, held):
        for run in _runs(bounds[chain], free):
            pattern, row = _folded(bounds[chain[run]], axes, free, v)
            found.setdefault(pattern, []).append(row)
    rest = [BoxRows(rows.axes, rows.bounds[~fit])] if not fit.all() else []
    return rest + [BoxRows(pattern, np.stack(each)) for pattern, each in found.items()]


def _chains(bounds: Ints, v: int, held: tuple[int, ...]) -> list[Ints]:
    """Return rows that may follow each other: `v` increases by one, held axes stay, and the rank among rows of one `v`
    too.
    """
    others = [axis for axis in range(bounds.shape[1]) if axis != v and axis not in held]
    keys = [bounds[:, axis, side] for axis in reversed(others) for side in (1, 0)]
    keys += [bounds[:, v, 0]] + [bounds[:, axis, side] for axis in reversed(held) for side in (1, 0)]
    order = np.lexsort(keys)
    ordered = bounds[order]
    kept = ordered[:, held].reshape(len(ordered), -1)
    group = (
        np.concatenate([[0], np.cumsum(np.any(kept[1:] != kept[:-1], axis=1))])
        if len(held)
        else np.zeros(len(ordered), np.int64)
    )
    value = ordered[:, v, 0]
    new = np.concatenate([[True], (group[1:] != group[:-1]) | (value[1:] != value[:-1])])
    first = np.maximum.accumulate(np.where(new, np.arange(len(ordered)), 0))
    rank = np.arange(len(ordered)) - first  # the rank of each row among those with the same value
    by_rank = np.lexsort((value, rank, group))
    follows = (
        (group[by_rank][1:] == group[by_rank][:-1])
        & (rank[by_rank][1:] == rank[by_rank][:-1])
        & (value[by_rank][1:] == value[by_rank][:-1] + 1)
    )
    return [order[part] for part in np.split(by_rank, np.flatnonzero(~follows) + 1)]


def _runs(chain: Ints, free: tuple[int, ...]) -> list[slice]:
    """Return the ranges of a chain in which the free bounds move by a constant step."""
    steps = np.diff(chain[:, free].reshape(len(chain), -1), axis=0)
    found, start = [], 0
    while start < len(chain):
        stop = start + 1
        if stop < len(chain):
            same = np.all(steps[start:] == steps[start], axis=1)
            length = int(np.argmin(same)) if not same.all() else len(same)
            if length + 1 >= LEAST or np.all(np.abs(steps[start]) <= 1):
                stop = start + length + 1
        found.append(slice(start, stop))
        start = stop
    return found


def _folded(run: Ints, axes: tuple[Axis, ...], free: tuple[int, ...], v: int) -> tuple[tuple[Axis, ...], Ints]:
    """Fold a run of rows into one row."""
    row, pattern = run[0].copy(), list(axes)
    if len(run) > 1:
        begin = int(run[0, v, 0])
        row[v] = begin, int(run[-1, v, 0])
        for axis in free:
            p, q = (int(step) for step in run[1, axis] - run[0, axis])
            if p or q:
                pattern[axis] = (v, p, q)
                row[axis] -= np.array([p * begin, q * begin])
    return tuple(pattern), row
