"""Windows that move along an axis, as in filters, with all modes of padding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from whence.arrays.rules._rows import FREE, Factor, Shape, affine, band, product, row
from whence.errors import NoRule
from whence.relation import Relation
from whence.relation.codec import Part

MODES = {"grid-mirror": "reflect", "grid-constant": "constant", "grid-wrap": "wrap"}


def cell(places: Any, side: int, mode: str) -> Any:
    """Return the cells of an axis at these indices, which may be beyond its ends; -1 if there is none.

    >>> cell(np.arange(-3, 6), 3, "reflect").tolist(), cell(np.arange(-3, 6), 3, "mirror").tolist()
    ([2, 1, 0, 0, 1, 2, 2, 1, 0], [1, 2, 1, 0, 1, 2, 1, 0, 1])
    """
    mode = MODES.get(mode, mode)
    if mode == "constant":
        return np.where((places >= 0) & (places < side), places, -1)
    if mode == "nearest":
        return np.clip(places, 0, side - 1)
    if mode == "wrap":
        return places % side
    if mode == "reflect":
        within = places % (2 * side)
        return np.minimum(within, 2 * side - 1 - within)
    if mode == "mirror":
        period = max(2 * side - 2, 1)
        within = places % period
        return np.minimum(within, period - within) if side > 1 else within * 0
    raise NoRule(f"the lineage of a filter with mode={mode!r} is not known")


@lru_cache(maxsize=256)
def window(side: int, offsets: tuple[int, ...], mode: str) -> tuple[Part, ...]:
    """Return rows of a factor in which each cell of an axis comes from the cells at these offsets."""
    if not offsets:
        return ()
    low, high = min(offsets), max(offsets)
    if len(set(offsets)) == high - low + 1 and _stays_within(low, high, mode):
        return band(0, 0, side, side, low, high).parts
    # The range of cells whose window is inside the axis.
    first, last = min(max(0, -low), side), max(min(side - 1, side - 1 - high), -1)
    inner = [
        made for start, stop in _runs(sorted(set(offsets))) if (made := row((first, last), (start, stop, 0, 1, 1)))
    ]
    first, last = (first, last) if first <= last else (side, side - 1)
    ends = [*range(first), *range(last + 1, side)]
    outs, lows, widths = [], [], []
    for at in ends:
        seen = cell(at + np.asarray(offsets), side, mode)
        for start, stop in _runs(sorted({int(each) for each in seen if each >= 0})):
            outs.append(at)
            lows.append(start)
            widths.append(stop - start)
    if not outs:
        return tuple(inner)
    zeros = np.zeros(len(outs), np.int64)
    edge = Part(len(outs), (FREE, FREE), (np.array(outs), np.array(lows)), (zeros, np.array(widths)))
    return (*inner, edge)


def _stays_within(low: int, high: int, mode: str) -> bool:
    """Whether the cells that a window reaches beyond the ends are in the rest of it."""
    if mode == "constant":
        return True
    if mode == "nearest":
        return low <= 0 <= high
    return low + high in ((-1, 0, 1) if mode == "reflect" else (0,)) and low <= 0 <= high and mode != "wrap"


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    if not numbers:
        return []
    ends = [-1, *(at for at, (a, b) in enumerate(pairwise(numbers)) if b != a + 1), len(numbers) - 1]
    return [(numbers[a + 1], numbers[b]) for a, b in pairwise(ends)]


def through(shape: Shape, offsets: dict[int, tuple[int, ...]], modes: dict[int, str]) -> Relation:
    """Return the relation of independent windows along some axes; the other axes are unchanged.

    >>> through((5,), {0: (-1, 0, 1)}, {0: "wrap"}).backward([(0,)]).cells().tolist()
    [[0], [1], [4]]
    """
    factors = [
        Factor((i,), (i,), window(side, offsets[i], MODES.get(modes[i], modes[i])))
        if i in offsets
        else affine(i, i, side)
        for i, side in enumerate(shape)
    ]
    return product(shape, shape, factors)


def footprint(
    shape: Shape, axes: Sequence[int], used: Any, origins: Sequence[int], modes: Sequence[str]
) -> list[Relation]:
    """Return relations whose union is a window of any form along these axes; `used` is its mask."""
    used = np.asarray(used, bool)
    centre = [side // 2 + origin for side, origin in zip(used.shape, origins, strict=True)]
    places = dict(zip(axes, modes, strict=True))
    sides = [np.flatnonzero(used.any(axis=tuple(k for k in range(used.ndim) if k != i))) for i in range(used.ndim)]
    if used[np.ix_(*sides)].all():
        own = {axis: tuple(int(k) - c for k in s) for axis, s, c in zip(axes, sides, centre, strict=True)}
        return [through(shape, own, places)]
    parts = []
    for lead in np.argwhere(used.any(axis=-1)):
        offsets: dict[int, tuple[int, ...]] = {
            axis: (int(k) - c,) for axis, k, c in zip(axes, lead, centre, strict=False)
        }
        offsets[axes[-1]] = tuple(int(k) - centre[-1] for k in np.flatnonzero(used[tuple(lead)]))
        parts.append(through(shape, offsets, places))
    return parts
