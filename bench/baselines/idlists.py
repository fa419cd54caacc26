"""Capture by lists of cell ids, as a C implementation of annotated arrays keeps them: operations concatenate lists.

The lists of an array lie one after the other in one array of ids, and every operation is a few vectorized NumPy calls,
which is as fast as such a scheme gets without looking for structure. Duplicates are kept, as the papers' code does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Listed:
    """An array of numbers with a list of ids for each: those of cell i are ids[ends[i] : ends[i + 1]], in C order."""

    values: NDArray[np.float64]
    ends: Ints
    ids: Ints

    @classmethod
    def of(cls, values: NDArray[np.float64], first: int = 0) -> Listed:
        """Each cell with its own number as its id."""
        return cls(values, np.arange(values.size + 1), np.arange(first, first + values.size))

    def lists(self) -> list[list[int]]:
        """The lists, each id once, sorted."""
        pairs = zip(self.ends[:-1].tolist(), self.ends[1:].tolist(), strict=True)
        return [sorted(set(self.ids[a:b].tolist())) for a, b in pairs]


def unary(work: Any, x: Listed) -> Listed:
    """An element-wise operation of one operand: the lists are copied."""
    return Listed(work(x.values), x.ends.copy(), x.ids.copy())


def binary(work: Any, x: Listed, y: Listed) -> Listed:
    """An element-wise operation of two operands: each list is followed by the other."""
    one, two = np.diff(x.ends), np.diff(y.ends)
    ends = np.concatenate([[0], np.cumsum(one + two)])
    ids = np.empty(ends[-1], dtype=np.int64)
    ids[_places(ends[:-1], one)] = x.ids
    ids[_places(ends[:-1] + one, two)] = y.ids
    return Listed(work(x.values, y.values), ends, ids)


def taken(x: Listed, order: Ints, values: NDArray[np.float64]) -> Listed:
    """Cells of x in another order: their lists are gathered."""
    lengths = np.diff(x.ends)[order]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return Listed(values, ends, x.ids[_places(x.ends[order], lengths)])


def reduced(work: Any, x: Listed, axis: int) -> Listed:
    """A reduction of a matrix along an axis: the lists of each lane are put together."""
    rows, columns = x.values.shape
    values = work(x.values, axis=axis)
    if axis == 1:
        return Listed(values, x.ends[::columns].copy(), x.ids.copy())
    turned = taken(x, np.arange(x.values.size).reshape(rows, columns).T.ravel(), x.values)
    return Listed(values, turned.ends[::rows].copy(), turned.ids)


def accumulated(x: Listed) -> Listed:
    """A running sum along the rows of a matrix: the list of each cell is that of all before it, and its own."""
    rows, columns = x.values.shape
    number = np.arange(columns)
    inner = _places(np.zeros(columns, dtype=np.int64), number + 1)
    order = (np.arange(rows)[:, None] * columns + inner).ravel()
    gathered = taken(x, order, x.values)
    lengths = np.tile(number + 1, rows)
    ends = gathered.ends[np.concatenate([[0], np.cumsum(lengths)])]
    return Listed(np.cumsum(x.values, axis=1), ends, gathered.ids)


def product(x: Listed, y: Listed) -> Listed:
    """A matrix product: a row's lists, then a column's, for every cell."""
    (n, k), m = x.values.shape, y.values.shape[1]
    left = np.repeat(np.arange(n), m)[:, None] * k + np.arange(k)
    right = np.arange(k) * m + np.tile(np.arange(m), n)[:, None]
    both = Listed(np.empty(0), np.concatenate([x.ends, x.ends[-1] + y.ends[1:]]), np.concatenate([x.ids, y.ids]))
    gathered = taken(both, np.hstack([left, right + n * k]).ravel(), np.empty(0))
    return Listed(x.values @ y.values, gathered.ends[:: 2 * k].copy(), gathered.ids)


def _places(starts: Ints, lengths: Ints) -> Ints:
    """start, start + 1, ... for each list, one after the other."""
    ends = np.cumsum(lengths)
    places: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
    return places
