"""Asking plain ProvRC tables in place: section V of the DSLog paper, on NumPy arrays.

A table serves the direction in which its absolute side is asked; the other direction has a mirrored table of its own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from bench.baselines.provrc import ABSOLUTE, Ints, Pair, Table

BATCH = 1 << 21  # pairs of a question's box and a row that are looked at together


@dataclass(frozen=True)
class Index:
    """A table with, for each axis that is asked, its rows sorted by their low bound."""

    table: Table
    order: list[Ints]
    low: list[Ints]
    reach: list[Ints]  # the highest high bound up to each place of the order

    @classmethod
    def of(cls, table: Table) -> Index:
        """Sort once, ask often."""
        order = [np.argsort(table.out_low[:, axis], kind="stable") for axis in range(table.out_low.shape[1])]
        low = [table.out_low[places, axis] for axis, places in enumerate(order)]
        reach = [np.maximum.accumulate(table.out_high[places, axis]) for axis, places in enumerate(order)]
        return cls(table, order, low, reach)


def step(index: Index, asked: Pair, deadline: float) -> Pair:
    """The boxes on the other side: range join, de-relativize, project, merge. Raises TimeoutError when late."""
    table, (low, high) = index.table, asked
    if not len(table) or not len(low):
        nothing = np.empty((0, table.in_low.shape[1]), dtype=np.int64)
        return nothing, nothing
    # range join: on the axis that leaves the fewest pairs by its sorted bounds, then on the others
    firsts = [np.searchsorted(index.reach[axis], low[:, axis], "left") for axis in range(low.shape[1])]
    counts = [
        np.maximum(np.searchsorted(index.low[axis], high[:, axis], "right") - first, 0)
        for axis, first in enumerate(firsts)
    ]
    axis = int(np.argmin([count.sum() for count in counts]))
    first, count, order = firsts[axis], counts[axis], index.order[axis]
    ends = np.cumsum(count)
    lows, highs = [], []
    for start in range(0, int(ends[-1]), BATCH):
        if time.perf_counter() > deadline:
            raise TimeoutError
        pair = np.arange(start, min(start + BATCH, int(ends[-1])))
        box = np.searchsorted(ends, pair, "right")
        row = order[first[box] + pair - (ends - count)[box]]
        meet_low = np.maximum(low[box], table.out_low[row])
        meet_high = np.minimum(high[box], table.out_high[row])
        hit = (meet_low <= meet_high).all(axis=1)
        found = other_side(table, row[hit], meet_low[hit], meet_high[hit])
        lows.append(found[0])
        highs.append(found[1])
    if not lows:
        nothing = np.empty((0, table.in_low.shape[1]), dtype=np.int64)
        return nothing, nothing
    return merge(np.concatenate(lows), np.concatenate(highs))


def other_side(table: Table, row: Ints, low: Ints, high: Ints) -> Pair:
    """The input boxes of rows met by these output boxes."""
    follows = table.follows[row]
    for axis in range(low.shape[1]):  # two inputs that follow one output move together: cell by cell
        tied = ((follows == axis).sum(axis=1) > 1) & (high[:, axis] > low[:, axis])
        if tied.any():
            sides = high[tied, axis] - low[tied, axis] + 1
            pick = np.repeat(np.flatnonzero(tied), sides)
            at = np.arange(len(pick)) - np.repeat(np.cumsum(sides) - sides, sides) + low[pick, axis]
            keep = np.flatnonzero(~tied)
            both = np.concatenate([keep, pick])
            low, high = low[both].copy(), high[both].copy()
            low[len(keep) :, axis] = high[len(keep) :, axis] = at
            row, follows = row[both], follows[both]
    place = np.maximum(follows, 0)
    relative = follows != ABSOLUTE
    base_low = np.where(relative, np.take_along_axis(low, place, 1), 0)
    base_high = np.where(relative, np.take_along_axis(high, place, 1), 0)
    return table.in_low[row] + base_low, table.in_high[row] + base_high


def merge(low: Ints, high: Ints) -> Pair:
    """Boxes that differ on one axis only, where they touch or overlap, become one; from the last axis to the first."""
    for axis in range(low.shape[1] - 1, -1, -1):
        if len(low) < 2:
            break
        others = [other for other in range(low.shape[1]) if other != axis]
        keys = [bound[:, other] for other in others for bound in (low, high)]
        order = np.lexsort([low[:, axis], *keys])
        low, high = low[order], high[order]
        apart = np.zeros(len(low), dtype=bool)
        apart[0] = True
        for other in others:
            apart[1:] |= (low[1:, other] != low[:-1, other]) | (high[1:, other] != high[:-1, other])
        # the furthest reach so far within a group: groups are lifted above each other, so one scan does them all
        lift = (np.cumsum(apart) - 1) * (int(high[:, axis].max()) + 2)
        reach = np.maximum.accumulate(high[:, axis] + lift)
        starts = apart.copy()
        starts[1:] |= low[1:, axis] + lift[1:] > reach[:-1] + 1
        first = np.flatnonzero(starts)
        last = np.append(first[1:], len(low)) - 1
        low, after = low[first], high[first]
        after[:, axis] = reach[last] - lift[last]
        high = after
    return low, high


def cells(boxes: Pair, shape: tuple[int, ...]) -> Ints:
    """The row-major numbers of the cells in any of the boxes, sorted, through a grid of corner counts."""
    low, high = boxes
    corners = np.zeros(tuple(side + 1 for side in shape), dtype=np.int32)
    for corner in range(1 << len(shape)):
        at = tuple((high[:, axis] + 1) if corner >> axis & 1 else low[:, axis] for axis in range(len(shape)))
        np.add.at(corners, at, -1 if corner.bit_count() % 2 else 1)
    for axis in range(len(shape)):
        np.cumsum(corners, axis=axis, out=corners)
    return np.flatnonzero(corners[tuple(slice(side) for side in shape)]).astype(np.int64)
