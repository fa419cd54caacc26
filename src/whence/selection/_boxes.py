"""Canonical boxes: their cells in order, and their text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

SHOWN_BOXES: Final = 8  # the most boxes in a repr


def read_only(boxes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make boxes read-only, and return them."""
    boxes.setflags(write=False)
    return boxes


def cells_of_boxes(boxes: NDArray[np.int64], axis: int = 0, before: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield the cells of boxes that agree on the axes before this one, in order."""
    sides = boxes[:, axis]
    if axis + 1 == boxes.shape[1]:
        for lo, hi in sides.tolist():
            for i in range(lo, hi + 1):
                yield (*before, i)
        return
    starts = [0, *(np.flatnonzero(np.diff(sides[:, 0])) + 1).tolist(), len(boxes)]
    for start, stop in pairwise(starts):
        for i in range(int(sides[start, 0]), int(sides[start, 1]) + 1):
            yield from cells_of_boxes(boxes[start:stop], axis + 1, (*before, i))


def summary(boxes: NDArray[np.int64], count: int) -> str:
    """Return the number of cells, and the first boxes, as text.

    >>> summary(np.array([[[0, 1], [5, 5]]]), 2)
    '2 cells: [0:2, 5]'
    """
    if not len(boxes):
        return "no cells"
    counted = "1 cell" if count == 1 else f"{count:,} cells"
    ranges = ", ".join(_box_text(box) for box in boxes[:SHOWN_BOXES].tolist())
    more = len(boxes) - SHOWN_BOXES
    if more > 0:
        ranges += f", ... and {more:,} more box{'es' if more > 1 else ''}"
    return f"{counted}: {ranges}"


def _box_text(box: list[list[int]]) -> str:
    """Return a box as an index: `[0:2, 5]`."""
    return f"[{', '.join(str(lo) if lo == hi else f'{lo}:{hi + 1}' for lo, hi in box) or '()'}]"
