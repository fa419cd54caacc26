"""Views: the cells of an array in another shape with as many cells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadCells
from whence.relation.header import MOST_CELLS
from whence.selection import as_shape as _as_shape

if TYPE_CHECKING:
    from whence.selection import Selection

Shape = tuple[int, ...]
Ints = NDArray[np.int64]


def as_shape(shape: Any) -> Shape:
    """Return the shape; raise BadCells if the array has too many cells."""
    sizes = _as_shape(shape)
    if math.prod(d for d in sizes if d) >= MOST_CELLS:
        raise BadCells(f"an array of shape {sizes} is too large: a relation's arrays have fewer than 2^62 cells")
    return sizes


def boxes_around(given: Selection, shape: Shape, view: Shape) -> Ints | None:
    """Return the boxes of a selection in a view of the shape, or larger ones; None if the view has other axes."""
    if view == shape:
        return given.boxes
    if len(view) != 1:
        return None
    steps = np.array([math.prod(shape[axis + 1 :]) for axis in range(len(shape))], np.int64)
    flat: Ints = np.einsum("nae,a->ne", given.boxes, steps)
    return flat[:, None, :]


def under_shape(index: Ints, view: Shape, shape: Shape) -> Ints:
    """Convert indices in a view to indices in the shape."""
    if view == shape or not len(index):
        return index.reshape(len(index), len(shape))
    flat = np.ravel_multi_index(tuple(index.T), view)
    return np.stack(np.unravel_index(flat, shape), axis=1).astype(np.int64)
