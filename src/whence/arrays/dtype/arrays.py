"""Tracked arrays: float64 arrays whose cells contain their own lineage."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence import _tracked
from whence.arrays.dtype import sources
from whence.arrays.dtype.sources import Source
from whence.errors import BadType, TooLarge

TrackedFloat64 = _tracked.dtype
"""The dtype of tracked arrays: `x.dtype == TrackedFloat64`."""

MOST_CELLS = (1 << 36) - 2


def tracked(array: Any, name: str, *, lineage: str = "value") -> NDArray[Any]:
    """Return a tracked copy of an array: NumPy computes with it as before, and each result holds the cells it came
    from.

    Other floats, integers and booleans are converted to float64, if that is exact. The order of axes in memory is kept,
    because NumPy adds in that order. A comparison returns plain booleans, so selection lineage is lost; `log.track`
    and `log.capture` record it.

    >>> import numpy as np
    >>> x = tracked(np.array([[1.0, 2.0], [3.0, 4.0]]), "A")
    >>> y = -x
    >>> y[0, 0].parents
    [('A', (0, 0))]
    >>> x.sum(axis=0)[1].parents
    [('A', (0, 1)), ('A', (1, 1))]
    """
    if lineage != "value":
        raise BadType(
            f"a tracked array holds the lineage of values, not {lineage!r}: to follow conditions, masks and sort"
            " keys, use log.track(function, lineage='value+selection') and log.capture"
        )
    word: object = name
    if not isinstance(word, str) or not word:
        raise BadType(f"a tracked array needs a name such as 'A', not {name!r}")
    cells, first = _tracked.track(_as_float64(array, name))
    sources.add(Source(name, cells.shape, first, cells.size))
    cells = _laid_out(cells, axes_in_memory(np.asarray(array)))
    from whence.arrays.tracing import TrackedArray  # imports this module

    return cells.view(TrackedArray)


def axes_in_memory(array: NDArray[Any]) -> tuple[int, ...]:
    """Return the axes, the one with the largest stride first.

    >>> import numpy as np
    >>> axes_in_memory(np.zeros((2, 3))), axes_in_memory(np.zeros((2, 3)).T)
    ((0, 1), (1, 0))
    """
    if array.flags.c_contiguous:
        return tuple(range(array.ndim))
    return tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))


def _laid_out(cells: NDArray[Any], axes: tuple[int, ...]) -> NDArray[Any]:
    """Return the same cells with their axes in this order in memory."""
    if axes == tuple(range(cells.ndim)):
        return cells
    return cells.transpose(axes).copy().transpose(np.argsort(axes))


def is_tracked(array: object) -> bool:
    """Whether this is a tracked array, or a cell of one."""
    return bool(getattr(array, "dtype", None) == TrackedFloat64)


def values(array: NDArray[Any]) -> NDArray[np.float64]:
    """Return the numbers of a tracked array, read-only and without copying.

    >>> import numpy as np
    >>> values(tracked(np.array([1.0, 2.0]), "A") * 2).tolist()
    [2.0, 4.0]
    """
    return _tracked.values(whole(array))


def whole(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array if its strides are multiples of a cell; np.lib.stride_tricks allows others."""
    steps = [step for step, side in zip(array.strides, array.shape, strict=True) if side > 1]
    if is_tracked(array) and any(step % array.itemsize for step in steps):
        raise BadType(
            f"strides of {tuple(array.strides)} bytes cut tracked cells of {array.itemsize} bytes apart: "
            "count in x.strides of the tracked array itself"
        )
    return array


def _as_float64(array: Any, name: str) -> NDArray[np.float64]:
    if isinstance(array, np.ma.MaskedArray):
        raise BadType(f"{name!r} is a masked array, whose mask would be lost: fill it first, array.filled(...)")
    if isinstance(array, np.matrix):
        raise BadType(f"{name!r} is a matrix, which multiplies differently from arrays; pass np.asarray(matrix)")
    try:
        given = np.asarray(array)
    except ValueError as error:
        raise BadType(f"{name!r} is not an array of numbers: {error}") from error
    if given.dtype == TrackedFloat64:
        raise BadType(f"{name!r} is tracked already; to start again, track whence.arrays.values(array)")
    if given.size > MOST_CELLS:
        raise TooLarge(f"{name!r} has {given.size:,} cells, and at most 2^36 can be tracked: track a part of it")
    kind = given.dtype.kind
    if kind not in "fiub":
        raise BadType(
            f"{name!r} is an array of {given.dtype}; only real numbers that fit into a float64 can be tracked"
            + ("; track its real and imaginary parts" if kind == "c" else "")
        )
    if given.dtype == np.float64:
        return np.ascontiguousarray(given).reshape(given.shape)
    with np.errstate(over="ignore"):
        held = given.astype(np.float64)
    if given.dtype.itemsize >= 8 and not _holds_exactly(given, held):
        raise BadType(
            f"{name!r} holds {given.dtype} values that a float64 cannot represent, such as 2**53 + 1; round them first"
        )
    return held


def _holds_exactly(given: NDArray[Any], held: NDArray[np.float64]) -> bool:
    if given.dtype.kind == "f":  # long double
        return bool(np.array_equal(held.astype(given.dtype), given, equal_nan=True))
    limits = np.iinfo(given.dtype)
    if held.size and (held.max() >= float(limits.max) or held.min() < float(limits.min)):
        return False  # rounding moved a value beyond the range of its integer type
    return bool(np.array_equal(held.astype(given.dtype), given))


def register_ufuncs(module: object) -> int:
    """Make every ufunc of a module (such as scipy.special) accept tracked operands. Return how many there are."""
    found = {id(each): each for each in vars(module).values() if isinstance(each, np.ufunc)}
    fresh = [each for key, each in found.items() if key not in _registered]
    for each in fresh:
        _tracked.register_ufunc(each)
        _registered.add(id(each))
    return len(fresh)


_registered: set[int] = set()


def _register_numpy() -> None:
    from numpy._core import umath

    register_ufuncs(np)
    register_ufuncs(umath)


_register_numpy()
