"""Find the parts that a question needs: those whose bounds overlap its boxes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whence.relation.blocks import Ints


def near(bounds: Ints, boxes: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield the index of each part that the boxes (n, axes, 2) overlap, and those boxes.

    `bounds` (parts, axes, 2) are those of the axes of the question.

    >>> bounds = np.array([[[0, 4]], [[5, 9]], [[3, 12]]])
    >>> [(number, met.tolist()) for number, met in near(bounds, np.array([[[2, 2]], [[11, 20]]]))]
    [(0, [[[2, 2]]]), (2, [[[11, 20]]])]
    """
    if not len(boxes):
        return
    if not boxes.shape[1]:
        yield from ((number, boxes) for number in range(len(bounds)))
        return
    first = boxes[:, 0, 0]
    if np.any(first[1:] < first[:-1]):
        boxes = boxes[np.argsort(first, kind="stable")]
        first = boxes[:, 0, 0]
    reached = np.maximum.accumulate(boxes[:, 0, 1])
    exact = boxes.shape[1] == 1 and np.array_equal(reached, boxes[:, 0, 1])  # as in a selection of one axis
    # On the first axis, a part overlaps no box before `start`, and none from `stop` on.
    starts = np.searchsorted(reached, bounds[:, 0, 0], side="left")
    stops = np.searchsorted(first, bounds[:, 0, 1], side="right")
    for number in np.flatnonzero(starts < stops):
        some = boxes[starts[number] : stops[number]]
        if exact:
            yield int(number), some
            continue
        own = bounds[number]
        met = np.all((some[:, :, 0] <= own[:, 1]) & (some[:, :, 1] >= own[:, 0]), axis=1)
        if met.any():
            yield int(number), some[met]
