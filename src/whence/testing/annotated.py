"""Arrays of Python objects that contain sets of cells: slow and simple, the oracle of the tracked dtype.

Any NumPy function that works on objects moves and unites the sets. `pairs` returns the lineage of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = tuple[str, int]


class Annotated:
    """A number and the set of cells that contributed to it. Operations on two of them unite the sets."""

    __slots__ = ("cells", "value")

    def __init__(self, value: float, cells: frozenset[Key] = frozenset()) -> None:
        self.value = value
        self.cells = cells

    def _with(self, other: Any) -> Annotated:
        if isinstance(other, Annotated):
            return Annotated(self.value + other.value, self.cells | other.cells)
        return Annotated(self.value, self.cells)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _with
    __pow__ = __rpow__ = __mod__ = maximum = _with

    def _alone(self) -> Annotated:
        return self

    __neg__ = __pos__ = __abs__ = sqrt = exp = conjugate = square = _alone

    def __lt__(self, other: Annotated) -> bool:
        return self.value < other.value

    def __gt__(self, other: Annotated) -> bool:
        return self.value > other.value


def annotated(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the array with each number annotated with its own cell.

    >>> annotated(np.array([1.0, 2.0]), "A").sum().cells == {("A", 0), ("A", 1)}
    True
    """
    out = np.empty(array.shape, dtype=object)
    flat = out.reshape(-1)
    for i, value in enumerate(array.ravel().tolist()):
        flat[i] = Annotated(value, frozenset([(name, i)]))
    return out


def united(parts: Iterable[Any]) -> Annotated:
    """Unite the annotations of some objects."""
    cells: frozenset[Key] = frozenset()
    return Annotated(0.0, cells.union(*(each.cells for each in parts if isinstance(each, Annotated))))


def matmul(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The lineage of a matrix product: each cell comes from a row and a column."""
    out = np.empty((a.shape[0], b.shape[1]), dtype=object)
    for i, j in np.ndindex(out.shape):
        out[i, j] = united([*a[i].tolist(), *b[:, j].tolist()])
    return out


def pairs(result: Any, name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the tuples (output index, input index) from a result to the input of that name, sorted."""
    out: Any = result
    if not isinstance(result, np.ndarray):
        out = np.empty((), dtype=object)
        out[()] = result
    rows = [
        (*where, *_unravelled(cell, shape))
        for where in np.ndindex(out.shape)
        if isinstance(out[where], Annotated)
        for source, cell in out[where].cells
        if source == name
    ]
    found = np.array(sorted(rows), dtype=np.int64)
    return found.reshape(len(rows), out.ndim + len(shape))


def _unravelled(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for axis in range(len(shape)):
        cells = math.prod(shape[axis + 1 :])
        index.append(flat // cells % max(shape[axis], 1))
    return tuple(index)
