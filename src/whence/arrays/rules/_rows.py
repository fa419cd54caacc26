"""Relations as products of small factors, each over a few axes of either side.

Most NumPy operations treat their axes independently. A factor relates one axis of the output (or a few that belong
together) to one of the input; the product of the factors is the relation. No cell is read here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.relation import Relation, compress
from whence.relation.codec import Axis, Part
from whence.relation.columns import Column, spread

Shape = tuple[int, ...]
Ints = NDArray[np.int64]

FREE: Axis = (-1, 0, 0)

SAMPLE = 1 << 14
"""How many cells are sampled to find out whether neighbours come from neighbours."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Disjoint rows over some axes: axes of the output's view, then of the input's. Parents are indices among these
    axes.
    """

    outs: tuple[int, ...]
    ins: tuple[int, ...]
    parts: tuple[Part, ...]


def row(*axes: tuple[int, int] | tuple[int, int, int, int, int]) -> Part | None:
    """Make one row from (lo, hi) or (lo, hi, parent, p, q) of each axis; None if an interval is empty.

    >>> row((0, 3), (1, 1, 0, 1, 1))
    Part(rows=1, axes=((-1, 0, 0), (0, 1, 1)), lo=((0, 0), (1, 0)), width=((3, 0), (0, 0)))
    """
    if any(len(each) == 2 and each[0] > each[1] for each in axes):
        return None
    pattern = tuple((each[2], each[3], each[4]) if len(each) == 5 else FREE for each in axes)
    return Part(1, pattern, tuple((a[0], 0) for a in axes), tuple((a[1] - a[0], 0) for a in axes))


def factor(outs: Sequence[int], ins: Sequence[int], rows: Iterable[Part | None]) -> Factor:
    """Make a factor of the rows that are not empty."""
    return Factor(tuple(outs), tuple(ins), tuple(each for each in rows if each is not None))


# --- one axis against one axis


def whole_out(position: int, side: int) -> Factor:
    """All of an output axis, independent of the input."""
    return factor([position], [], [row((0, side - 1))])


def whole_in(position: int, side: int) -> Factor:
    """All of an input axis contributes."""
    return factor([], [position], [row((0, side - 1))])


def only_in(position: int, index: int) -> Factor:
    """Only one index of an input axis contributes."""
    return factor([], [position], [row((index, index))])


def affine(out: int, into: int, side: int, start: int = 0, step: int = 1) -> Factor:
    """a = start + step * b, for every b of the output axis."""
    return factor([out], [into], [row((0, side - 1), (start, start, 0, step, step))])


def placed(out: int, into: int, side: int, start: int) -> Factor:
    """b = start + a, for every a of the input axis: a piece of a longer output."""
    return factor([out], [into], [row((start, start + side - 1), (-start, -start, 0, 1, 1))])


def repeated(out: int, into: int, side: int, times: int) -> Factor:
    """b in [times * a, times * a + times - 1]."""
    if times == 0:
        return factor([out], [into], [])
    return factor([out], [into], [row((0, times - 1, 1, times, times), (0, side - 1))])


def triangle(out: int, into: int, side: int) -> Factor:
    """a in [0, b]: a running total."""
    return factor([out], [into], [row((0, side - 1), (0, 0, 0, 0, 1))])


def band(out: int, into: int, out_side: int, in_side: int, low: int, high: int) -> Factor:
    """a in [b + low, b + high], clipped to the input: at most five rows."""
    cuts = {0, out_side, -low, in_side - high, in_side - low, -high}
    edges = sorted(cut for cut in cuts if 0 <= cut <= out_side)
    rows = []
    for first, after in itertools.pairwise(edges):
        last = after - 1
        if first > last or last + high < 0 or first + low > in_side - 1:
            continue
        below = (0, 0) if last + low < 0 else (low, 1)  # (constant, slope) of the lower and the upper bound
        above = (in_side - 1, 0) if first + high > in_side - 1 else (high, 1)
        follows = below[1] or above[1]
        rows.append(row((first, last), (below[0], above[0], 0, below[1], above[1]) if follows else (0, in_side - 1)))
    return factor([out], [into], rows)


def pieces(out: int, into: int, rows: Iterable[tuple[int, int, int, int]]) -> Factor:
    """Ranges of an axis, each (first, last, start, step): a = start + step * (b - first) for b in [first, last]."""
    made = (row((first, last), (start - step * first,) * 2 + (0, step, step)) for first, last, start, step in rows)
    return factor([out], [into], made)


def gathered(out: int, into: int, indices: Ints, in_side: int) -> Factor:
    """a = indices[b]: as few rows as there are runs of indices."""
    found = compress(np.stack([np.arange(len(indices)), indices], axis=1), (len(indices),), (in_side,))
    if found._views == ((len(indices),), (in_side,)):
        return Factor((out,), (into,), tuple(found.parts()))
    # It was compressed in another view, which cannot be combined with other axes, so split into consecutive ranges
    # here.
    breaks = np.flatnonzero(np.diff(indices) != 1) + 1
    first = np.concatenate([[0], breaks])
    width = np.diff(np.concatenate([first, [len(indices)]])) - 1
    lo = (first, indices[first] - first)
    return Factor((out,), (into,), (Part(len(first), (FREE, (0, 1, 1)), lo, (width, np.zeros_like(width))),))


# --- all axes together


def product(
    out_shape: Shape,
    in_shape: Shape,
    factors: Sequence[Factor],
    out_view: Shape | None = None,
    in_view: Shape | None = None,
) -> Relation:
    """Return the relation whose rows are all combinations of the factors' rows.

    >>> product((3,), (3, 4), [affine(0, 0, 3), whole_in(1, 4)])
    Relation((3,) <- (3, 4), 12 tuples in 1 box)
    """
    out_view, in_view = out_view or out_shape, in_view or in_shape
    table = _core.Table(out_shape, in_shape, out_view, in_view)
    if 0 not in out_shape + in_shape:
        outs = len(out_view)
        places = [place for f in factors for place in (*f.outs, *(outs + i for i in f.ins))]
        order = sorted(range(len(places)), key=places.__getitem__)
        if len(places) != outs + len(in_view) or len(set(places)) != len(places):
            raise AssertionError(f"factors over the axes {places} of {out_view} <- {in_view}")
        for combined in itertools.product(*(f.parts for f in factors)):
            count, axes, lo, width = _combined(combined)
            final = [(places[a[0]] if a[0] >= 0 else -1, a[1], a[2]) for a in (axes[i] for i in order)]
            table.add(count, final, [lo[i] for i in order], [width[i] for i in order])
    return Relation(out_shape, in_shape, table)


def _combined(parts: tuple[Part, ...]) -> tuple[int, list[Axis], list[Column], list[Column]]:
    """Combine each row of every part with each row of the others, over the axes of all parts."""
    total = 1
    for part in parts:
        total *= part.rows
    axes: list[Axis] = []
    lo: list[Column] = []
    width: list[Column] = []
    before = 1
    for part in parts:
        base = len(axes)
        axes += [(a[0] + base if a[0] >= 0 else -1, a[1], a[2]) for a in part.axes]
        after = total // before // part.rows
        lo += [_spread(column, part.rows, before, after) for column in part.lo]
        width += [_spread(column, part.rows, before, after) for column in part.width]
        before *= part.rows
    return total, axes, lo, width


def _spread(column: Column, count: int, before: int, after: int) -> Column:
    if isinstance(column, tuple) and (column[1] == 0 or count == 1):
        return (column[0], 0)
    if before == after == 1:
        return column
    return np.tile(np.repeat(spread(column, 0, count), after), before)


def moved(sources: NDArray[np.integer], in_shape: Shape) -> Relation:
    """Return the relation of an array whose cells are flat indices of the input cells that they come from, or -1.

    >>> moved(np.array([2, 0, -1]), (3,)).to_array().tolist()
    [[0, 2], [1, 0]]
    """
    flat = np.asarray(sources, np.int64).ravel()
    targets = np.flatnonzero(flat >= 0)
    picked, out_shape = flat[targets], np.shape(sources)
    if len(targets) > 4 * SAMPLE:
        some = slice(len(targets) // 2, len(targets) // 2 + SAMPLE)
        if len(linked(targets[some], picked[some], out_shape, in_shape)) > SAMPLE // 2:
            return _scattered(targets, picked, out_shape, in_shape)
    return linked(targets, picked, out_shape, in_shape)


def _scattered(targets: Ints, sources: Ints, out_shape: Shape, in_shape: Shape) -> Relation:
    """Make one row for each cell. There are hardly any ranges, so the search for them would waste time."""
    outs = [each.astype(np.int64, copy=False) for each in _unravelled(targets, out_shape)]
    ins = [each.astype(np.int64, copy=False) for each in _unravelled(sources, in_shape)]
    axes = [FREE] * len(outs)
    lo: list[Column] = [*outs]
    for axis, own in enumerate(ins):
        same = axis < len(outs) and np.array_equal(own, outs[axis])
        axes.append((axis, 1, 1) if same else FREE)
        lo.append((0, 0) if same else own)
    table = _core.Table(out_shape, in_shape, out_shape, in_shape)
    table.add(len(targets), axes, lo, [(0, 0)] * len(axes))
    return Relation(out_shape, in_shape, table)


def one_by_one(order: NDArray[np.integer], in_shape: Shape, axis: int) -> Relation:
    """Make one row for each cell, which comes from the same index on all axes but one, where `order` has the index.

    With flat indices, one integer is stored for each cell: the distance to its source. `order` is overwritten.
    """
    away = order.astype(np.int64, copy=False)
    away -= np.arange(order.shape[axis]).reshape([-1 if k == axis else 1 for k in range(order.ndim)])
    away *= math.prod(order.shape[axis + 1 :])
    flat = (order.size,)
    table = _core.Table(order.shape, in_shape, flat, flat)
    table.add(order.size, [FREE, (0, 1, 1)], [(0, 1), away.ravel()], [(0, 0), (0, 0)])
    return Relation(order.shape, in_shape, table)


def linked(targets: NDArray[np.integer], sources: NDArray[np.integer], out_shape: Shape, in_shape: Shape) -> Relation:
    """Return the relation of pairs of flat indices."""
    columns = [*_unravelled(targets, out_shape), *_unravelled(sources, in_shape)]
    if not columns:  # one cell from one cell
        return Relation.whole((), ()) if len(targets) else Relation.empty((), ())
    return compress(np.stack(columns, axis=1).astype(np.int64, copy=False), out_shape, in_shape)


def _unravelled(flat: NDArray[np.integer], shape: Shape) -> Iterator[NDArray[np.integer]]:
    return iter(np.unravel_index(flat, shape)) if shape and len(flat) else iter([np.asarray(flat)] * len(shape))


def numbered(shape: Shape) -> Ints:
    """Return an array whose cells are their own flat indices."""
    return np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64).reshape(shape)
