"""Views of an array's preview: tiles of pixels, the value of one cell, and the histogram."""

from __future__ import annotations

from typing import Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from whence.arrays.preview import Floats, Preview, Show, reduced
from whence.store.recording.previews import previewed, saved_preview
from whence.ui.explorer import BadRequest, Explorer, Params

SHOWS: Final = get_args(Show)


def names(explorer: Explorer) -> dict[str, str]:
    """Return the arrays that have a preview, each with its hash."""
    return explorer.once("previews", lambda: previewed(explorer.log._store))


def preview(explorer: Explorer, name: str, shape: tuple[int, ...]) -> Preview | None:
    """Return the preview of an array, or None."""
    known = names(explorer).get(name)
    if known is None:
        return None
    return explorer.once(("preview", known), lambda: saved_preview(explorer.log._store, name, shape, known))


def shown(params: Params) -> Show:
    """Return which value of a tile is drawn; the default is the greatest, so that hot spots stay visible."""
    given = params.get("show", "") or "max"
    for each in SHOWS:
        if each == given:
            found: Show = each
            return found
    raise BadRequest(f"'show' is one of {', '.join(SHOWS)}, not {given!r}")


def described(found: Preview) -> dict[str, Any]:
    """Describe the values for the page; the histogram is of all cells."""
    return {
        "low": found.low, "high": found.high, "counts": list(found.counts),
        "not_finite": found.not_finite, "sampled": _size(found), "of": _size(found),
        "dtype": str(np.dtype(found.dtype)), "preview": {"sides": list(found.sides), "exact": found.is_exact},
    }  # fmt: skip


def _size(found: Preview) -> int:
    return int(found.finite.sum()) + found.not_finite


def square(
    found: Preview, fixed: tuple[int, ...], corner: tuple[int, int], pixels: int, scales: tuple[int, int], show: Show
) -> Floats:
    """Return a square of pixels from `corner`, with `scales` cells for each pixel; NaN if a cell is not finite.

    A pixel of several tiles shows their least, greatest or mean value; pixels within a tile are equal.
    """
    rows, columns = _plane(found.shape)
    lead = tuple(at // side for at, side in zip(fixed, found.sides, strict=False))
    grid, finite = (_flat(each[lead]) for each in (found.grid(show), found.finite))
    cells = _flat(np.asarray(_filled(found))[lead])
    sides = _plane(found.sides)
    starts: list[NDArray[Any]] = []
    ends = []
    for start, length, side, scale in zip(corner, (rows, columns), sides, scales, strict=True):
        stop = min(length, start + pixels * scale)
        starts.append(np.arange(start, stop, scale) // side)
        ends.append(-(-stop // side))
    if not all(map(len, starts)):
        return np.zeros(tuple(map(len, starts)))
    offset = [int(each[0]) for each in starts]
    window = tuple(slice(first, end) for first, end in zip(offset, ends, strict=True))
    starts = [each - first for each, first in zip(starts, offset, strict=True)]
    lost = reduced(cells[window] - finite[window], starts, np.add) > 0
    if show == "mean":
        weighted = np.where(finite[window] > 0, grid[window] * finite[window], 0.0)
        with np.errstate(all="ignore"):
            drawn = reduced(weighted, starts, np.add) / reduced(finite[window], starts, np.add)
            drawn = np.clip(drawn, found.low, found.high)  # a sum may overflow
    else:
        drawn = reduced(grid[window], starts, np.fmin if show == "min" else np.fmax)
    return np.where(lost, np.nan, drawn)


def _filled(found: Preview) -> NDArray[np.int64]:
    """Return the number of cells of each tile, which is smaller at the end of an axis."""
    count = np.ones((), np.int64)
    for length, side in zip(found.shape, found.sides, strict=True):
        along = np.minimum(side, length - np.arange(0, length, side))
        count = np.multiply.outer(count, along)
    return count


def _plane(lengths: tuple[int, ...]) -> tuple[int, int]:
    return (lengths[-2], lengths[-1]) if len(lengths) > 1 else (1, lengths[0] if lengths else 1)


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.ndim == 2 else array.reshape(1, -1)


def hovered(found: Preview, cell: tuple[int, ...]) -> dict[str, Any]:
    """Return the value of a cell, or the values of its tile."""
    if found.cells is not None:
        return {"value": _number(found.cells[cell].item())}
    tile = tuple(at // side for at, side in zip(cell, found.sides, strict=True))
    least, mean, most = (_number(float(found.grid(show)[tile])) for show in SHOWS)
    count = int(_filled(found)[tile])
    return {
        "value": None,
        "tile": {
            "sides": list(found.sides), "cells": count, "least": least, "mean": mean, "most": most,
            "not_finite": count - int(found.finite[tile]),
        },
    }  # fmt: skip


def _number(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
