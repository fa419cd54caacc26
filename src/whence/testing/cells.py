"""Lineage by running NumPy itself on Python objects that contain the set of their source cells.

Arithmetic unites the sets; moving a cell moves its set. This works for everything that NumPy can do with arrays of
objects, needs no rules, and is slow: it is the oracle for rules and traced runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Origin = tuple[int, int]  # index of the array, row-major index of the cell


class Cell:
    """A number without a value: it has only its origins."""

    __slots__ = ("origins",)

    def __init__(self, origins: frozenset[Origin] = frozenset()) -> None:
        self.origins = origins

    def _with(self, other: object) -> Cell:
        return Cell(self.origins | other.origins) if isinstance(other, Cell) else Cell(self.origins)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _with
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _with

    def _same(self, *_: object) -> Cell:
        return Cell(self.origins)

    __neg__ = __pos__ = __abs__ = conjugate = _same
    # NumPy calls these methods on objects for its unary functions.
    sin = cos = tan = exp = log = sqrt = rint = floor = ceil = trunc = _same


def cells(shape: tuple[int, ...], number: int = 0) -> Any:
    """Return an array of cells, each of which comes from itself.

    >>> sorted((cells((2,)) + cells((2,), 1))[1].origins)
    [(0, 1), (1, 1)]
    """
    made = np.empty(shape, object)
    flat = made.reshape(-1)
    for at in range(flat.size):
        flat[at] = Cell(frozenset({(number, at)}))
    return made


def pairs(output: Any, shapes: Sequence[tuple[int, ...]]) -> list[set[tuple[int, ...]]]:
    """Return for each input the index tuples (output first) of an array that was computed from cells."""
    output = np.asarray(output, object)
    found: list[set[tuple[int, ...]]] = [set() for _ in shapes]
    for index in np.ndindex(output.shape):
        cell = output[index]
        if isinstance(cell, Cell):
            for number, at in cell.origins:
                found[number].add((*index, *(int(i) for i in np.unravel_index(at, shapes[number]))))
    return found


def run(function: Callable[..., Any], *shapes: tuple[int, ...]) -> list[list[set[tuple[int, ...]]]]:
    """Return the lineage of a function of arrays of these shapes: for each output and input, the index tuples.

    >>> run(lambda a: a[::-1], (2,))
    [[{(0, 1), (1, 0)}]]
    """
    result = function(*(cells(shape, number) for number, shape in enumerate(shapes)))
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    return [pairs(output, shapes) for output in outputs]
