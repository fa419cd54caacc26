"""Memory layouts of arrays, and the order in which NumPy reads their cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays.rules._rows import Shape

BY_LAYOUT = ("A", "K")
"""The orders that depend on the memory layout of an array."""


def order_of(order: Any) -> str:
    """Return an order as one letter.

    >>> order_of(None), order_of("k")
    ('C', 'K')
    """
    return "C" if order is None else str(order).upper()[:1]


def axes_read(array: Any, order: str) -> tuple[int, ...]:
    """Return the axes in the order in which cells are read, the slowest first.

    >>> x = np.zeros((2, 3, 4)).transpose(1, 0, 2)
    >>> axes_read(x, "C"), axes_read(x, "F"), axes_read(x, "A"), axes_read(x, "K")
    ((0, 1, 2), (2, 1, 0), (0, 1, 2), (1, 0, 2))
    """
    rank = array.ndim
    if order == "A":
        order = "F" if array.flags.fnc else "C"
    if order == "K":
        return _in_memory(array.shape, array.strides)
    return tuple(range(rank)) if order == "C" else tuple(reversed(range(rank)))


def _in_memory(shape: Shape, strides: Shape) -> tuple[int, ...]:
    """Return the order of axes in memory as NumPy's iterator finds it, from an array of two cells an axis with these
    strides.

    Its cells are never read, so they may be outside of any memory.
    """
    few = tuple(min(side, 2) for side in shape)
    if 0 in shape:
        return tuple(range(len(shape)))
    seen = np.lib.stride_tricks.as_strided(np.zeros(1), few, [abs(step) for step in strides], writeable=False)
    walk = np.nditer(seen, flags=["multi_index"], order="K")
    when: dict[int, int] = {}
    for number in range(seen.size):
        moved = [axis for axis, at in enumerate(walk.multi_index) if at]
        if len(moved) == 1:
            when[moved[0]] = number
        walk.iternext()
    return tuple(sorted(range(len(shape)), key=lambda axis: -when.get(axis, 0)))
