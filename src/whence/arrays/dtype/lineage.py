"""The relation of a tracked array to one of its inputs, read from the annotations of its cells.

Neighbouring output cells whose lineage moves evenly are read as one run of moving boxes, and runs are folded into rows.
So the cost depends on the number of runs, not of tuples; of each cell only the handle is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence import _core, _tracked
from whence.arrays.dtype import sources
from whence.arrays.dtype.arrays import whole
from whence.arrays.dtype.sources import Source
from whence.errors import Redefined
from whence.relation import Relation, compress
from whence.relation.compress import FEW_ROWS, finish, fits_key, fold, new_folder
from whence.relation.layout import Layout, candidates, natural

ROWS_AT_A_TIME = 1 << 18
"""The number of rows that are read before they are folded."""

BUDGETS = (FEW_ROWS, 64, 1024)
"""Budgets of rows with which all views are tried, one after the other. Then the natural view is used without a
budget.
"""

HELD = 64
"""The most unfinished runs, while the lineage may still fold into a few rows."""

ORIGIN, HALF = 36, 31
"""The bits of a handle that contain one cell number, and each of two: native/npdtype/handle.hpp."""

FEW_TUPLES = 1 << 22
"""The most tuples of an irregular relation that is folded again from its tuples, in every order of its axes."""


def relation_of(array: Any, name: str) -> Relation:
    """Which cells of the input `name` contributed to which cells of a tracked array.

    >>> import numpy as np, whence as wh
    >>> x = wh.tracked(np.ones((1000, 1000)), "A")
    >>> relation_of(x.sum(axis=1), "A")
    Relation((1000,) <- (1000, 1000), 1,000,000 tuples in 1 box)
    """
    cells = np.asarray(array)  # a single cell becomes an array without axes
    _tracked.handles(whole(cells))  # raises an error if it is not tracked
    return _of_source(np.ascontiguousarray(cells).reshape(cells.shape), _source_named(cells, name))


def _source_named(cells: NDArray[Any], name: str) -> Source:
    """Return the source of that name; of several, the one that the cells came from, or the latest."""
    found = sources.named(name)
    if len(found) == 1:
        return found[0]
    used = [each for each in found if _touches(cells, each)]
    if len(used) > 1:
        raise Redefined(f"{len(used)} arrays named {name!r} contributed; track them under different names")
    return used[0] if used else found[-1]


def _touches(cells: NDArray[Any], source: Source) -> bool:
    flat = np.ascontiguousarray(cells)
    rows, _ = _tracked.runs(flat, source.first, source.size, (source.size,), max(flat.size, 1), 0, 1)
    return len(rows) > 0


def _of_source(cells: NDArray[Any], source: Source) -> Relation:
    out_shape, in_shape = cells.shape, source.shape
    layout = natural(out_shape, in_shape)
    folder = _folded(cells, source, layout, FEW_ROWS)
    if folder is None and cells.size <= FEW_TUPLES and (tuples := _one_by_one(cells, source)) is not None:
        return compress(tuples, out_shape, in_shape)
    if folder is None:
        folder, layout = _first_good_layout(cells, source, [layout, *_views(out_shape, in_shape)])
    found = Relation(out_shape, in_shape, finish(folder, out_shape, in_shape, layout))
    if len(found) > FEW_ROWS and fits_key(out_shape, in_shape) and found.count() <= FEW_TUPLES:
        again = Relation(out_shape, in_shape, fold(found.to_array(), out_shape, in_shape))
        return again if len(again) < len(found) else found
    return found


def _one_by_one(cells: NDArray[Any], source: Source) -> NDArray[np.int64] | None:
    """Return the tuples if each cell comes from at most two cells, which are in its handle; else None."""
    handles = _tracked.handles(cells).ravel()
    pairs = (handles >> np.uint64(62)) == 1
    if not ((handles == 0) | pairs | ((handles >> np.uint64(ORIGIN)) == 1)).all():
        return None
    place = np.arange(len(handles))
    half = np.uint64((1 << HALF) - 1)
    second = np.flatnonzero(pairs)
    first = np.where(pairs, (handles >> np.uint64(HALF)) & half, handles & np.uint64((1 << ORIGIN) - 1))
    numbers = np.concatenate([first, handles[second] & half]).astype(np.int64) - source.first
    targets = np.concatenate([place, second])
    inside = (numbers >= 0) & (numbers < source.size) & np.concatenate([handles != 0, np.ones(len(second), bool)])
    flat = (targets[inside], numbers[inside])
    columns = [
        axis
        for each, shape in zip(flat, (cells.shape, source.shape), strict=True)
        for axis in _indices_of_axes(each, shape)
    ]
    return np.stack(columns, axis=1) if columns else None


def _indices_of_axes(flat: NDArray[np.int64], shape: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    return np.unravel_index(flat, shape) if shape else ()


def _first_good_layout(cells: NDArray[Any], source: Source, layouts: list[Layout]) -> tuple[_core.Folder, Layout]:
    """Return the rows in the first layout that needs few, or in the natural one if all need many."""
    for most in BUDGETS:
        for layout in layouts:
            if (folder := _folded(cells, source, layout, most)) is not None:
                return folder, layout
    folder = _folded(cells, source, layouts[0])
    assert folder is not None  # no limit was given
    return folder, layouts[0]


def _views(out_shape: tuple[int, ...], in_shape: tuple[int, ...]) -> list[Layout]:
    """Return other views in which there may be fewer rows. Other orders are left out, because output axes are read
    first.
    """
    order = list(dict.fromkeys((each.out_view, each.in_view) for each in candidates(out_shape, in_shape)))
    return [natural(*views) for views in order if views != (out_shape, in_shape)]


def _folded(cells: NDArray[Any], source: Source, layout: Layout, most: int | None = None) -> _core.Folder | None:
    """Return all rows in a layout, or None as soon as there are more than `most`."""
    folder = new_folder(layout)
    outs = len(layout.out_view)
    inner = max(layout.out_view[-1], 1) if outs else 1
    place = 0
    limit = ROWS_AT_A_TIME if most is None else min(ROWS_AT_A_TIME, 4 * most + 1024)
    while place < cells.size:
        rows, place = _tracked.runs(cells, source.first, source.size, layout.in_view, inner, place, limit)
        fed = folder.feed_runs(rows, outs)
        assert fed == "ok", f"row {rows[folder.at]} of {source} lies outside"
        if most is not None and (folder.rows > most or folder.held > HELD + 4 * most):
            return None
    folder.close()
    return None if most is not None and folder.rows > most else folder
