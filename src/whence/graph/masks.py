"""Masks of vertices, and the vertices and edges that boundaries select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.graph.boundary import Boundary
from whence.graph.model import Mask, Numbers

if TYPE_CHECKING:
    from whence.graph._graph import Graph
    from whence.graph.segment import Segment


def selected(base: Segment, chosen: Sequence[Boundary], numbers: Numbers) -> Mask:
    """The mask of the vertices that a boundary selects."""
    out = np.zeros(len(numbers), np.bool_)
    for boundary in chosen if len(numbers) else ():
        out |= boundary.vertices(base, numbers)[0]
    return out


def selected_edges(base: Segment, chosen: Sequence[Boundary], rows: NDArray[np.int64]) -> Mask:
    """The mask of the edges that a boundary selects."""
    out = np.zeros(len(rows), np.bool_)
    for boundary in chosen if len(rows) else ():
        out |= boundary.edges(base, rows)[0]
    return out


def mask_of(graph: Graph, numbers: NDArray[np.integer[Any]]) -> Mask:
    """Convert indices to a mask over all vertices."""
    mask = np.zeros(len(graph), np.bool_)
    mask[numbers] = True
    return mask


def numbers_in(mask: Mask) -> Numbers:
    """Convert a mask to indices."""
    return np.flatnonzero(mask).astype(np.int32)
