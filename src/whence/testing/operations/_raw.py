"""From numbered cells to raw tuples: the helpers of all generators in this package."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Shape = tuple[int, ...]
Ints = NDArray[np.int64]


class Raw(NamedTuple):
    """The lineage of one operation, uncompressed: the arguments of `whence.compress`.

    `tuples` has one row for each pair, output axes first, sorted and without duplicates.
    """

    tuples: Ints
    out_shape: Shape
    in_shape: Shape


def numbered(shape: Shape) -> Ints:
    """Return an array whose cells contain their row-major number, to see where NumPy moves each cell.

    >>> numbered((2, 3))[:, ::-1].tolist()
    [[2, 1, 0], [5, 4, 3]]
    """
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def moved(sources: Ints, in_shape: Shape) -> Raw:
    """Return the lineage of an array whose cells contain the number of the one input cell that they came from, or -1.

    >>> moved(np.array([2, -1, 0]), (3,)).tuples.tolist()
    [[0, 2], [2, 0]]
    """
    found = sources.ravel()
    targets = np.flatnonzero(found >= 0)
    return linked(targets, found[targets], sources.shape, in_shape)


def linked(targets: ArrayLike, sources: ArrayLike, out_shape: Shape, in_shape: Shape) -> Raw:
    """Return the lineage given by pairs of the numbers of an output cell and of an input cell.

    >>> linked([0, 0, 0], [3, 1, 3], (1,), (2, 2)).tuples.tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    targets, sources = np.asarray(targets, np.int64).ravel(), np.asarray(sources, np.int64).ravel()
    rises = (targets[1:] > targets[:-1]) | ((targets[1:] == targets[:-1]) & (sources[1:] > sources[:-1]))
    if not rises.all():
        order = np.lexsort((sources, targets))
        targets, sources = targets[order], sources[order]
        new = np.ones(len(order), bool)
        new[1:] = (targets[1:] != targets[:-1]) | (sources[1:] != sources[:-1])
        targets, sources = targets[new], sources[new]
    rank = len(out_shape)
    tuples = np.empty((len(targets), rank + len(in_shape)), np.int64)
    _unravel(targets, out_shape, tuples[:, :rank])
    _unravel(sources, in_shape, tuples[:, rank:])
    return Raw(tuples, tuple(map(int, out_shape)), tuple(map(int, in_shape)))


def _unravel(numbers: Ints, shape: Shape, into: Ints) -> None:
    # np.unravel_index rejects 0-d shapes
    for axis in reversed(range(len(shape))):
        numbers, into[:, axis] = np.divmod(numbers, max(shape[axis], 1))


def along(shape: Shape, axis: int, out_side: int, targets: ArrayLike, sources: ArrayLike) -> Raw:
    """Return the lineage of an operation along one axis, from pairs of positions that are the same in each lane.

    >>> along((2, 3), 1, 2, [0, 0, 1, 1], [0, 1, 1, 2]).tuples[:4].tolist()
    [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 1], [0, 1, 0, 2]]
    """
    axis %= len(shape)
    out_shape = (*shape[:axis], out_side, *shape[axis + 1 :])
    outputs = np.moveaxis(numbered(out_shape), axis, -1)[..., np.asarray(targets, np.intp)]
    inputs = np.moveaxis(numbered(shape), axis, -1)[..., np.asarray(sources, np.intp)]
    return linked(outputs, inputs, out_shape, shape)
