"""Rules for functions that return a view: the strides of the result show where each cell went."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whence.arrays.overlap import overlaps_itself
from whence.arrays.rules._rows import Factor, Shape, factor, moved, numbered, only_in, product, row, whole_out
from whence.arrays.rules._rules import Link, Links, named, rule, shape
from whence.errors import NoRule
from whence.relation import Relation

View = Callable[[Any], Any]

MOST_ROWS = 64
"""The most cells of a window that is stored as one row for each cell."""

MOST_CELLS = 1 << 22
"""The most cells of a view without a simple form, because it is followed cell by cell."""


def viewed(in_shape: Shape, view: View) -> Relation:
    """Return the relation of a function that always returns a view of its argument.

    The function is called once for each axis, on an array whose cells are their index along that axis, with all other
    strides zero. The strides of the view then give the index as a linear function of the view's own indices.

    >>> viewed((4, 6), lambda x: x[::-1, 1::2]).backward([(0, 1)])
    Selection(shape=(4, 6), 1 cell: [3, 3])
    """
    if 0 in in_shape or not in_shape:
        found = np.shape(view(np.empty(in_shape)))
        return Relation.whole(found, in_shape)
    seen = [view(_index_along(in_shape, axis)) for axis in range(len(in_shape))]
    out_shape: Shape = seen[0].shape
    if 0 in out_shape:
        return Relation.empty(out_shape, in_shape)
    children: dict[int, list[tuple[int, int, int]]] = {}
    factors: list[Factor] = []
    windows: list[tuple[int, int, dict[int, int]]] = []
    for axis, found in enumerate(seen):
        start = int(found[(0,) * found.ndim])
        steps = {k: s // found.itemsize for k, s in enumerate(found.strides) if s and out_shape[k] > 1}
        if len(steps) > 1:
            windows.append((axis, start, steps))
        elif steps:
            ((k, step),) = steps.items()
            children.setdefault(k, []).append((axis, start, step))
        else:
            factors.append(only_in(axis, start))
    inside = [k for _, _, steps in windows for k in steps]
    if len({*inside, *children}) < len(inside) + len(children) or _rows_of_windows(out_shape, windows) > MOST_ROWS:
        return _from_cell_numbers(in_shape, out_shape, view)
    factors += [_window(out_shape, *each) for each in windows]
    for k, side in enumerate(out_shape):
        tied = children.get(k)
        if k in inside:
            continue
        if tied is None:
            factors.append(whole_out(k, side))
        else:
            under = [(start, start, 0, step, step) for _, start, step in tied]
            factors.append(factor([k], [axis for axis, _, _ in tied], [row((0, side - 1), *under)]))
    return product(out_shape, in_shape, factors)


def _rows_of_windows(out_shape: Shape, windows: list[tuple[int, int, dict[int, int]]]) -> int:
    return math.prod(out_shape[k] for _, _, steps in windows for k in _shorter(out_shape, steps))


def _shorter(out_shape: Shape, steps: dict[int, int]) -> list[int]:
    """Return the axes that follow the same input axis, except the longest."""
    longest = max(steps, key=lambda k: out_shape[k])
    return [k for k in steps if k != longest]


def _window(out_shape: Shape, axis: int, start: int, steps: dict[int, int]) -> Factor:
    """Make a factor of several axes that follow one input axis: one row for each index of the shorter ones."""
    shorter = _shorter(out_shape, steps)
    (longest,) = (k for k in steps if k not in shorter)
    rows = []
    for index in np.ndindex(*(out_shape[k] for k in shorter)):
        at = start + sum(steps[k] * i for k, i in zip(shorter, index, strict=True))
        fixed = [(i, i) for i in index]
        rows.append(row((0, out_shape[longest] - 1), *fixed, (at, at, 0, steps[longest], steps[longest])))
    return factor([longest, *shorter], [axis], rows)


def _from_cell_numbers(in_shape: Shape, out_shape: Shape, view: View) -> Relation:
    """Return the relation of a view with several axes along one input axis (windows), from flat indices."""
    if math.prod(out_shape) > MOST_CELLS:
        raise NoRule(f"a view of {math.prod(out_shape):,} cells, with several axes along one input axis is too large")
    return moved(view(numbered(in_shape)), in_shape)


def _index_along(in_shape: Shape, axis: int) -> Any:
    index = np.arange(in_shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(in_shape))])
    return np.broadcast_to(index, in_shape)


def _returning_view(name: str) -> None:
    function = named(name)
    if function is None:
        return

    @rule(function)
    def viewing(a: Any, *args: Any, **kwargs: Any) -> Links:
        return [Link(a, viewed(shape(a), lambda x: function(x, *args, **kwargs)))]


for _name in (
    "broadcast_to", "diagonal", "expand_dims", "flip", "fliplr", "flipud", "linalg.diagonal", "linalg.matrix_transpose",
    "matrix_transpose", "moveaxis", "permute_dims", "rollaxis", "rot90", "squeeze", "swapaxes", "transpose",
    "lib.stride_tricks.sliding_window_view",
):  # fmt: skip
    _returning_view(_name)


def _returning_views(name: str) -> None:
    """Add a rule for a function that splits an array into views of its parts."""
    function = named(name)
    if function is None:
        return

    @rule(function)
    def cutting(ary: Any, *args: Any, **kwargs: Any) -> tuple[Links, ...]:
        def cut(x: Any) -> Any:
            return function(x, *args, **kwargs)

        count = len(cut(np.broadcast_to(np.zeros(()), shape(ary))))
        # mypy infers no type for a default.
        return tuple([Link(ary, viewed(shape(ary), lambda x, n=n: cut(x)[n]))] for n in range(count))  # type: ignore[misc]  # a lambda's default has no type


for _name in ("array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"):
    _returning_views(_name)


def _each_its_own(name: str) -> None:
    """Add a rule for a function of several arrays that returns a view of each."""
    function = named(name)
    if function is None:
        return

    @rule(function)
    def viewing(*arrays: Any, **kwargs: Any) -> Any:
        shapes = [shape(each) for each in arrays]
        links = tuple(
            [Link(each, viewed(shapes[n], lambda x, n=n: _one_output(function, shapes, n, x, kwargs)))]  # type: ignore[misc]  # a lambda's default has no type
            for n, each in enumerate(arrays)
        )
        return links[0] if len(links) == 1 and name.startswith("atleast") else links


def _one_output(function: Callable[..., Any], shapes: list[Shape], n: int, x: Any, kwargs: dict[str, Any]) -> Any:
    others = [np.broadcast_to(np.zeros(()), each) for each in shapes]
    others[n] = x
    found = function(*others, **kwargs)
    return found[n] if isinstance(found, (tuple, list)) else found


for _name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays"):
    _each_its_own(_name)


@rule("ix_")
def ix_(*args: Any) -> tuple[Links, ...]:
    """Each sequence along an axis of its own."""
    if any(np.asarray(each).dtype == bool for each in args):
        raise TypeError("masks")
    found = []
    for n, each in enumerate(args):
        out = tuple(len(each) if i == n else 1 for i in range(len(args)))
        ones = [whole_out(i, 1) for i in range(len(args)) if i != n]
        along = factor([n], [0], [row((0, len(each) - 1), (0, 0, 0, 1, 1))])
        found.append([Link(each, product(out, shape(each), [along, *ones]))])
    return tuple(found)


@rule("lib.stride_tricks.as_strided")
def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> Links:
    """Strides are in bytes, so they are applied to an array of flat indices with the same memory layout."""
    if not hasattr(x, "strides"):
        raise TypeError("what is not an array")
    after: Shape = x.shape if shape is None else tuple(np.atleast_1d(shape).tolist())
    steps: Shape = x.strides if strides is None else tuple(np.atleast_1d(strides).tolist())
    if not x.size or 0 in after or any(step % x.itemsize for step in (*x.strides, *steps)) or overlaps_itself(x):
        raise TypeError("an array without cells, or strides that are not multiples of a cell")
    own, wanted = ([step // x.itemsize for step in each] for each in (x.strides, steps))
    first, last = _reach(x.shape, own)
    low, high = _reach(after, wanted)
    if low < first or high > last:
        raise TypeError("strides that lead out of the array")
    laid = np.full(last - first + 1, -1, np.int64)
    cells: Any = np.ndarray(x.shape, np.int64, laid, -first * 8, [8 * step for step in own])
    cells[...] = np.arange(x.size).reshape(x.shape)
    seen: Any = np.ndarray(after, np.int64, laid, -first * 8, [8 * step for step in wanted])
    if (seen < 0).any():
        raise TypeError("strides that are not multiples of a cell")
    return [Link(x, moved(seen, x.shape))]


def _reach(shape: Shape, steps: Any) -> tuple[int, int]:
    """Return the lowest and highest offset from the first cell."""
    ends = [(side - 1) * step for side, step in zip(shape, steps, strict=True)]
    return sum(min(each, 0) for each in ends), sum(max(each, 0) for each in ends)


@rule("meshgrid")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: Any = "xy") -> tuple[Links, ...]:
    """Each grid is a view along its own axis."""
    sides: list[Shape] = [(math.prod(shape(x)),) for x in xi]
    options = {"copy": False, "sparse": sparse, "indexing": indexing}
    return tuple(
        [Link(x, _from_flat(shape(x), viewed(sides[n], lambda v, n=n: _one_output(np.meshgrid, sides, n, v, options))))]  # type: ignore[misc]  # a lambda's default has no type
        for n, x in enumerate(xi)
    )


def _from_flat(in_shape: Shape, relation: Relation) -> Relation:
    """Turn a relation to the flat input into a relation to the input itself."""
    from whence.arrays.rules.shapes import reshaped

    return relation if len(in_shape) == 1 else relation.compose(reshaped(in_shape, relation.in_shape))


def indexed(in_shape: Shape, key: Any) -> Relation:
    """Basic indexing: integers, slices, None and the ellipsis."""
    full = key if isinstance(key, tuple) else (key,)
    if not any(each is Ellipsis for each in full):
        full = (*full, Ellipsis)  # so that the result is a view even if every axis has an integer
    return viewed(in_shape, lambda x: x[full])
