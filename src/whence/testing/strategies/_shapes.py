"""Draw random shapes, and questions about an array of some shape."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from whence.testing.oracle import Cells, Shape, all_cells, as_cells

LONG = os.environ.get("WHENCE_LONG", "") not in ("", "0")


def effort(examples: int) -> settings:
    """Return settings: the same examples on every run, or with WHENCE_LONG=1, thirty times as many, new each time.

    >>> effort(10).max_examples in (10, 300)
    True
    """
    return settings(
        max_examples=examples * (30 if LONG else 1),
        derandomize=not LONG,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.differing_executors],
    )


@st.composite
def shapes(draw: st.DrawFn, max_axes: int = 4, max_side: int = 6, max_cells: int = 36) -> Shape:
    """Draw shapes of few cells, including 0-d ones and sides of one and zero."""
    sides: list[int] = []
    room = max_cells
    for _ in range(draw(st.integers(0, max_axes))):
        side = draw(st.integers(1, max(1, min(max_side, room))))
        room //= side
        sides.append(side)
    if sides and draw(st.integers(0, 15)) == 15:
        sides[draw(st.integers(0, len(sides) - 1))] = 0
    return tuple(sides)


@dataclass(frozen=True)
class Asked:
    """Cells in one of the forms that a user may give, and the same cells as a set."""

    given: Any
    cells: Cells


@st.composite
def asked(draw: st.DrawFn, shape: Shape) -> Asked:
    """Draw cells to ask about: an array of cells, a list of index tuples, a mask or slices, including none and all."""
    form = draw(st.sampled_from(["array", "list", "mask", "slices", "all", "none"]))
    everything = sorted(all_cells(shape))
    if form == "slices" and shape:
        key = tuple(_slice(draw, side) for side in shape)
        numbers = np.arange(math.prod(shape)).reshape(shape)[key].ravel()
        return Asked(key, frozenset(everything[number] for number in numbers))
    if form == "mask":
        flags = draw(st.lists(st.booleans(), min_size=len(everything), max_size=len(everything)))
        mask = np.array(flags, bool).reshape(shape)
        return Asked(mask, frozenset(cell for cell, flag in zip(everything, flags, strict=True) if flag))
    if form in ("none", "all") or not everything:
        chosen = [] if form == "none" else everything
    else:
        chosen = draw(st.lists(st.sampled_from(everything), min_size=1, max_size=8))
    if form == "list" and chosen:
        return Asked(chosen, as_cells(chosen))
    return Asked(np.array(chosen, np.int64).reshape(len(chosen), len(shape)), as_cells(chosen))


def _slice(draw: st.DrawFn, side: int) -> slice:
    if draw(st.booleans()):
        return slice(None)
    start, stop = sorted((draw(st.integers(0, side)), draw(st.integers(0, side))))
    return slice(start, stop)
