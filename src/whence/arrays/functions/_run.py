"""One run of a function: its inputs, and what was lost or decided by values on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.errors import BadType
from whence.relation import Relation

MOST_CELLS = 1 << 36
KINDS = "biuf"


class Run:
    """The inputs of a run by number, and its notes: casts out of lineage, branches, choices that follow from values."""

    def __init__(self, *, selection: bool = False, winner: bool = False) -> None:
        self.selection = selection
        self.winner = winner  # max and min come from the cell that won, not from all that took part
        self.shapes: list[tuple[int, ...]] = []
        self.casts = 0  # numbers that left the traced world: their lineage ends there
        self.branches = 0  # Python decisions on traced values
        self.values_matter = False  # whether other values could have had another lineage
        self.sizes_compared = False  # whether Python code compared the length of an axis

    def input(self, array: Any, what: str = "an input") -> Any:
        """A traced array over this one's memory, each cell from itself."""
        from whence.arrays.functions._traced import Buffer, Traced

        checked(array, what)
        number = len(self.shapes)
        self.shapes.append(array.shape)
        return Traced(self, Buffer(array.shape, {(number, "value"): (Relation.identity(array.shape),)}), None, array)

    def fresh(self, value: Any) -> Any:
        """A traced array whose cells come from nothing."""
        from whence.arrays.functions._traced import Buffer, Traced

        return Traced(self, Buffer(np.shape(value), {}), None, np.asarray(value))


def checked(array: Any, what: str) -> Any:
    """The array, if lineage of its cells can be kept; else an error that names it.

    >>> checked(np.array(["a"]), "'names'")
    Traceback (most recent call last):
    ...
    whence.errors.BadType: 'names' is an array of <U1: lineage is kept of numbers (float, integer, bool)
    """
    if array.dtype.kind not in KINDS:
        raise BadType(f"{what} is an array of {array.dtype}: lineage is kept of numbers (float, integer, bool)")
    if array.size > MOST_CELLS:
        raise BadType(f"{what} has {array.size:,} cells; lineage is kept of at most 2^36 in one array")
    return array
