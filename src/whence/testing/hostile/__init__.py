"""Functions that depend on outside state, or use lengths in odd ways, called while that state changes.

Each moves cells or adds them. Inputs are distinct powers of two, so the bits of a result show which cells it came from,
without a second run and without the library: this is the oracle of reuse.

>>> sorted(cells_in(np.array([5.0, 8.0])))
[(0, 0), (0, 2), (1, 3)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from whence.arrays.recording.calls import Captured, captured
from whence.arrays.recording.structures import parameters_of
from whence.arrays.reuse import ReuseIndex
from whence.testing.hostile import lengths, names, objects, process, values
from whence.testing.hostile._case import Case
from whence.testing.shelf import Shelf

__all__ = ["HOSTILE", "Call", "calls_of", "cells_in"]

HOSTILE: dict[str, Callable[[], Case]] = {
    **names.CASES, **objects.CASES, **process.CASES, **lengths.CASES, **values.CASES
}  # fmt: skip

BEFORE = (6, 6, 5, 7, 8, 9, 10, 11, 12, 6, 9)
AFTER = (6, 6, 8, 13, 17, 24, 33, 40, 41, 12, 6)


class Call:
    """One call: whether its lineage was reused from an earlier one, and whether it is correct."""

    def __init__(self, found: Captured) -> None:
        self.length = len(found.inputs[0].value)
        self.reused = found.reused
        self.expected = cells_in(found.outputs[0].value)
        self.found = {
            (row[0] if len(row) > 1 else 0, row[-1])  # a single number has no index
            for edge in found.edges
            if edge.output == 0
            for row in edge.relation.to_array().tolist()
        }  # fmt: skip

    @property
    def right(self) -> bool:
        """Whether the lineage agrees with the values."""
        return self.found == self.expected


def calls_of(case: Callable[[], Case], again: int = 2) -> Iterator[Call]:
    """Call the function of a case at many lengths, and again after every change of its state."""
    function, change = case()
    memory = ReuseIndex(Shelf(), "f")
    parameters = parameters_of(function)
    for number in range(1 + again):
        if number:
            change()
        for n in BEFORE if number == 0 else AFTER:
            found = captured(function, (2.0 ** np.arange(n),), {}, parameters, "f", selection=False, memory=memory)
            if not found.reused:
                memory.learn(found)
            yield Call(found)


def cells_in(result: Any) -> set[tuple[int, int]]:
    """Return which powers of two each number of an array is the sum of: (index, power)."""
    flat = np.atleast_1d(np.asarray(result)).reshape(-1)
    return {
        (place, power) for place, number in enumerate(flat.tolist()) for power in range(64) if int(number) >> power & 1
    }
