"""The content of an array: a digest of all cells, and whether two arrays may have equal content by chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.arrays.overlap import overlaps_itself

SAMPLE = 1024
ENOUGH = 16  # points that make content distinctive
DIGITS = 9  # a number with more digits was computed
CONSTANTS = frozenset([math.pi, math.e, math.tau, math.inf])
PLAIN, LONG = 1, 4  # points of a value that people write down, and of one that must have been computed


def digest_of(array: NDArray[Any]) -> bytes:
    """Return a digest of all cells in row-major order; if cells overlap, of the memory behind them.

    >>> x = np.arange(6.0).reshape(2, 3)
    >>> digest_of(x.T) == digest_of(np.ascontiguousarray(x.T)), digest_of(x) == digest_of(x + 1)
    (True, False)
    """
    if not array.flags.c_contiguous and array.size:
        if overlaps_itself(array):
            array = _memory(array[tuple(slice(None) if step else slice(1) for step in array.strides)])
        array = np.ascontiguousarray(array)
    return _core.digest(array)


def _memory(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array or, if its cells overlap, all bytes from its first to its last cell."""
    if not overlaps_itself(array):
        return array
    low, high = np.lib.array_utils.byte_bounds(array)
    lowest = array[tuple(slice(-1, None) if step < 0 else slice(1) for step in array.strides)]
    return np.lib.stride_tricks.as_strided(lowest.reshape(-1).view(np.uint8), (high - low,), (1,), writeable=False)


def is_distinctive(array: NDArray[Any]) -> bool:
    """Whether two arrays are unlikely to have this content by chance.

    Constants, masks, a few small integers and evenly spaced values are too common.

    >>> is_distinctive(np.zeros(100)), is_distinctive(np.arange(100.0)), is_distinctive(np.sqrt(np.arange(100.0)))
    (False, False, True)
    """
    return points(array) >= ENOUGH


def points(array: NDArray[Any]) -> int:
    """Measure how unlikely equal content is by chance: the sum of the points of each distinct value in a sample.

    >>> points(np.arange(100.0)), points(np.array([0.5, 0.1, 0.2]))
    (0, 9)
    """
    if array.dtype.kind not in "iuf" or array.size < 2:
        return 0
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    size = array.size
    step = max(1, size // SAMPLE)
    sample = np.concatenate([np.asarray(flat[:SAMPLE]), np.asarray(flat[::step][:SAMPLE])]).astype(np.float64)
    values = np.unique(sample[np.isfinite(sample)])
    if len(values) < 2 or (size > 2 and np.allclose(np.diff(np.asarray(flat[:SAMPLE], np.float64), 2), 0)):
        return 0
    written = _is_written(values)
    return int(written.sum()) * PLAIN + int((~written).sum()) * LONG


def is_computed(number: Any) -> bool:
    """Whether a number has so many digits that it was computed and not written in code. Named constants do not count.

    >>> is_computed(0.1), is_computed(2 / 3), is_computed(math.pi)
    (False, True, False)
    """
    value = abs(float(number))
    return value not in CONSTANTS and len(repr(value).partition("e")[0].replace(".", "").strip("0")) > DIGITS


def only_computed(array: NDArray[Any]) -> bool:
    """Whether every cell has a value that must have been computed, so that an array with equal cells is a copy.

    >>> only_computed(np.sin(np.arange(1.0, 9.0))), only_computed(np.array([0.1, 0.2])), only_computed(np.arange(7.0))
    (True, False, False)
    """
    if array.dtype.kind != "f" or not array.size:
        return False
    cells = np.asarray(array, np.float64)
    if array.size * LONG < ENOUGH:
        return all(map(is_computed, cells.ravel().tolist()))
    return bool(np.isfinite(cells).all() and not _is_written(cells).any())


def _is_written(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of these numbers people may have written down: multiples of 1/64."""
    with np.errstate(over="ignore", invalid="ignore"):
        found: NDArray[np.bool_] = np.mod(values * 64, 1) == 0
    return found
