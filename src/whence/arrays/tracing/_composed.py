"""NumPy functions that call a user's function or write into an argument, expressed by operations that have rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whence.errors import NoRule


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply the function to every one-dimensional slice along an axis."""
    at = int(np.lib.array_utils.normalize_axis_index(axis, arr.ndim))
    lanes = np.moveaxis(arr, at, -1)
    outer = lanes.value.shape[:-1]
    made = [func1d(lanes[index], *args, **kwargs) for index in np.ndindex(outer)]
    inner = np.shape(made[0])
    first = made[0].dtype if hasattr(made[0], "dtype") else np.asarray(made[0]).dtype
    stacked = np.copy(np.stack(made), order="C")  # as NumPy does: in C order, with the dtype of the first
    whole = np.reshape(stacked if stacked.dtype == first else stacked.astype(first), (*outer, *map(int, inner)))
    return np.moveaxis(whole, range(len(outer), len(outer) + len(inner)), range(at, at + len(inner)))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """Apply the function over one axis after the other; axes that it removes stay, with length one."""
    found = a
    for axis in np.atleast_1d(axes):
        at = int(axis) + a.ndim if axis < 0 else int(axis)
        made = func(found, at)
        found = np.expand_dims(made, at) if made.ndim != found.ndim else made
    return found


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply each function, or use each number, where its condition holds. One more function than conditions is for the
    rest.
    """
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        rest = ~conditions[0]
        for each in conditions[1:]:
            rest = rest & ~each
        conditions.append(rest)
    out = np.zeros_like(x)
    for condition, function in zip(conditions, functions, strict=True):
        out[condition] = function(x[condition], *args, **kwargs) if callable(function) else function
    return out


# --- writing into the first argument


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Assign `src`, only to the cells of a mask if there is one."""
    if where is True:
        _into(dst)[...] = src
    else:
        chosen = np.broadcast_to(where, np.shape(dst))
        _into(dst)[chosen] = np.broadcast_to(src, np.shape(dst))[chosen]


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Assign values by index, repeated as often as needed, where the mask is true."""
    _into(a)[mask] = np.resize(values, np.shape(a))[mask]


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Assign values one after the other where the mask is true."""
    _into(arr)[mask] = np.resize(vals, (int(np.count_nonzero(getattr(mask, "value", mask))),))


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Assign values at flat indices."""
    places = np.atleast_1d(ind)
    places = places.astype(np.intp) if places.dtype == bool else places  # not a mask: indices 0 and 1
    flat: Any = np.reshape(_into(a), -1)
    if mode != "raise" or flat._buffer is not a._buffer:
        raise NoRule("the lineage of numpy.put is known only for contiguous arrays and indices within them")
    flat[places] = np.resize(v, places.shape)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Assign values at indices along an axis."""
    if axis is None:
        raise NoRule("the lineage of numpy.put_along_axis without an axis is not known: give one")
    at = int(np.lib.array_utils.normalize_axis_index(axis, arr.ndim))
    places = np.ix_(*(np.arange(side) for side in indices.shape))
    _into(arr)[tuple(indices if i == at else each for i, each in enumerate(places))] = values


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Assign values along the diagonal, repeated as often as needed."""
    if wrap:
        raise NoRule("the lineage of numpy.fill_diagonal with wrap=True is not known: write its parts")
    places = np.arange(min(map(int, np.shape(_into(a)))))
    a[(places,) * a.ndim] = np.resize(val, places.shape)


def _into(array: Any) -> Any:
    if not hasattr(array, "_buffer"):
        raise NoRule(
            "a traced value was about to be written into an array that is not traced: make it with np.zeros_like"
        )
    return array


def nan_to_num_in_place(x: Any, copy: bool = False, *args: Any, **kwargs: Any) -> Any:
    """np.nan_to_num(x, copy=False), which returns the array that it wrote to."""
    x[...] = np.nan_to_num(x, True, *args, **kwargs)
    return x


COMPOSED: dict[Callable[..., Any], Callable[..., Any]] = {
    np.copyto: copyto,
    np.fill_diagonal: fill_diagonal,
    np.place: place,
    np.put: put,
    np.put_along_axis: put_along_axis,
    np.putmask: putmask,
    np.apply_along_axis: apply_along_axis,
    np.apply_over_axes: apply_over_axes,
    np.piecewise: piecewise,
}
