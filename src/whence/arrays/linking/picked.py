"""Recognise arrays whose cells were picked from a known one: by a mask, in another order, or number by number.

Each cell must equal exactly one cell of exactly one known array, or exactly one known number, and all cells must have
values that only a computation gives (`content.only_computed`). Then each is a copy of that cell, because equal bits
cannot be a coincidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.relation import Relation, compress

MOST_CELLS = 1 << 22
MOST_NUMBERS = 1 << 10

Indices = NDArray[np.intp]
Shape = tuple[int, ...]


def picked_from(array: NDArray[Any], known: Iterable[tuple[Any, NDArray[Any]]]) -> list[tuple[Any, Relation]]:
    """Return the known arrays that contain every cell of the array exactly once, each with the relation to it.

    >>> x = np.sin(np.arange(1.0, 11.0))
    >>> [(name, found.to_array().tolist()) for name, found in picked_from(x[[7, 0, 5, 2]], [("x", x)])]
    [('x', [[0, 7], [1, 0], [2, 5], [3, 2]])]
    """
    cells = np.ascontiguousarray(array).reshape(-1)
    found = []
    for name, other in known:
        if other.dtype != array.dtype or other.size > MOST_CELLS or array.size > MOST_CELLS:
            continue
        values = np.ascontiguousarray(other).reshape(-1)
        if (values == cells[0]).any() and (where := _places(cells, values)) is not None:
            found.append((name, _relation(where, array.shape, other.shape)))
    return found


def collected_from(array: NDArray[Any], known: Mapping[Any, Any]) -> list[tuple[Any, Relation]]:
    """Return the known numbers that the array consists of, if each cell is exactly one of them; `known` maps names to
    them.
    """
    if array.size > MOST_NUMBERS or not known or array.dtype != np.float64:
        return []
    names = list(known)
    where = _places(array.reshape(-1), np.array([known[name] for name in names], np.float64))
    if where is None:
        return []
    return [
        (names[at], _relation(np.zeros(1, np.intp), array.shape, (), np.array([cell])))
        for cell, at in enumerate(where.tolist())
    ]


def _places(cells: NDArray[Any], values: NDArray[Any]) -> Indices | None:
    """Return the index of each cell among the values; None if one is missing, or occurs more than once."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first, after = np.searchsorted(ordered, cells, "left"), np.searchsorted(ordered, cells, "right")
    return order[first] if (after - first == 1).all() else None


def _relation(where: Indices, out: Shape, into: Shape, cells: Indices | None = None) -> Relation:
    every = (*_unravelled(np.arange(len(where)) if cells is None else cells, out), *_unravelled(where, into))
    return compress(np.stack(every, axis=1) if every else np.zeros((1, 0), np.int64), out, into)


def _unravelled(flat: Indices, shape: Shape) -> tuple[Indices, ...]:
    return tuple(np.unravel_index(flat, shape)) if shape else ()
