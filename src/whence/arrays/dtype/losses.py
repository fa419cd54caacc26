"""Losses of lineage: casts to plain numbers, and branches that depend on a cell.

NumPy never casts the tracked dtype to a plain one implicitly, because the cast is not safe. Explicit casts (`astype`,
`float(x)`) and branches (`if x > 0`) cannot be followed; they are counted, in each thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from whence import _tracked


@dataclass(slots=True)
class Losses:
    """How many cells were cast, converted to floats one by one, and used in branches.

    >>> import numpy as np, whence as wh
    >>> x = wh.tracked(np.array([1.0, 2.0]), "x")
    >>> with watch() as lost:
    ...     plain = x.astype(float)
    >>> print(lost)
    2 cells were cast to plain numbers
    """

    cast_cells: int = 0
    floats: int = 0
    decisions: int = 0
    looks: int = 0  # reads for a mask, an order or a string: no loss, but other values may have another lineage

    @property
    def any(self) -> bool:
        """Whether lineage may be missing: numbers were taken out, or a branch depended on a cell."""
        return bool(self.cast_cells or self.floats or self.decisions)

    @property
    def control_dependent(self) -> bool:
        """Whether a branch of the program depended on a cell."""
        return self.decisions > 0

    def __str__(self) -> str:
        parts = [
            (self.cast_cells, "cells were cast to plain numbers", "cell was cast to a plain number"),
            (self.floats, "cells were read with float() or int()", "cell was read with float() or int()"),
            (self.decisions, "decisions looked at a cell", "decision looked at a cell"),
        ]
        said = [f"{n} {one if n == 1 else many}" for n, many, one in parts if n]
        return "; ".join(said) or "nothing was lost"


def so_far() -> Losses:
    """Return all losses of this thread."""
    return Losses(*_tracked.losses())


@contextmanager
def watch() -> Iterator[Losses]:
    """Count the losses of a block of code in this thread; the counts are complete when the block ends."""
    before = so_far()
    lost = Losses()
    try:
        yield lost
    finally:
        after = so_far()
        lost.cast_cells = after.cast_cells - before.cast_cells
        lost.floats = after.floats - before.floats
        lost.decisions = after.decisions - before.decisions
        lost.looks = after.looks - before.looks
