"""Rules for lineage that depends on values: which cells were selected, sorted or compared.

The selected cell is value lineage; the cells that the choice was based on are links of kind "selection".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whence.arrays.rules._rows import (
    FREE,
    SAMPLE,
    Factor,
    Ints,
    Shape,
    linked,
    moved,
    numbered,
    one_by_one,
    product,
    whole_out,
)
from whence.arrays.rules._rules import Link, Links, axes_of, axis_of, rule, shape
from whence.arrays.rules.elementwise import broadcast
from whence.arrays.rules.windows import lane
from whence.errors import NoRule
from whence.relation import Relation
from whence.relation.codec import Part


def _restricted(in_shape: Shape, chosen: Any) -> Relation:
    """Return the relation of an operand, broadcast, restricted to the chosen cells."""
    sources = np.broadcast_to(numbered(in_shape), chosen.shape)
    return moved(np.where(chosen, sources, -1), in_shape)


def up_to(picked: Ints, in_shape: Shape, rest: Shape = ()) -> Relation:
    """Return the selection lineage of the k-th cell that a mask selects: the mask up to that cell.

    `picked` are the flat indices where the mask is true; `rest` are the axes of each selected part.

    >>> up_to(np.array([1, 4]), (5,)).to_array().tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [1, 3], [1, 4]]
    """
    count, size = len(picked), math.prod(in_shape)
    if not count or not size:
        return Relation.empty((count, *rest), in_shape)
    breaks = np.flatnonzero(np.diff(picked) != 1) + 1
    first = np.concatenate([[0], breaks])
    width = np.diff(np.concatenate([first, [count]])) - 1
    zero = np.zeros_like(first)
    rows = Part(len(first), (FREE, (0, 0, 1)), (first, zero), (width, picked[first] - first))
    factors = [Factor((0,), (0,), (rows,)), *(whole_out(i + 1, side) for i, side in enumerate(rest))]
    return product((count, *rest), in_shape, factors, in_view=(size,))


@rule("where", values=True)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Each cell comes from `x` or `y`; the condition is selection lineage."""
    if x is None:
        return nonzero(condition)
    out_shape = np.broadcast_shapes(shape(condition), shape(x), shape(y))
    chosen = np.broadcast_to(np.asarray(condition, bool), out_shape)
    return [
        Link(x, _restricted(shape(x), chosen)),
        Link(y, _restricted(shape(y), ~chosen)),
        Link(condition, broadcast(shape(condition), out_shape), "selection"),
    ]


@rule("select", values=True)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Links:
    """The first condition that is true selects the choice."""
    conditions, choices = list(condlist), list(choicelist)
    out_shape = np.broadcast_shapes(*(shape(each) for each in (*conditions, *choices, default)))
    left = np.ones(out_shape, bool)
    links: Links = []
    for condition, choice in zip(conditions, choices, strict=True):
        here = left & np.asarray(condition, bool)
        left &= ~here
        links.append(Link(choice, _restricted(shape(choice), here)))
        links.append(Link(condition, broadcast(shape(condition), out_shape), "selection"))
    return [*links, Link(default, _restricted(shape(default), left))]


@rule("choose", values=True)
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Links:
    """An array of indices selects among the choices."""
    choices = list(choices)
    out_shape = np.broadcast_shapes(shape(a), *(shape(each) for each in choices))
    picks = np.broadcast_to(np.choose(np.asarray(a), range(len(choices)), mode=mode), out_shape)
    links = [Link(each, _restricted(shape(each), picks == n)) for n, each in enumerate(choices)]
    return [*links, Link(a, broadcast(shape(a), out_shape), "selection")]


def arranged(in_shape: Shape, order: Any, axis: int) -> Relation:
    """Return the relation of slices along an axis to their cells in the given order. `order` may be overwritten.

    >>> arranged((2, 3), np.array([[2, 0, 1], [0, 1, 2]]), 1).backward([(0, 1)])
    Selection(shape=(2, 3), 1 cell: [0, 0])
    """
    if order.size > 4 * SAMPLE and _is_scattered(np.moveaxis(order, axis, -1)):
        return one_by_one(order, in_shape, axis)
    return moved(np.take_along_axis(numbered(in_shape), order, axis), in_shape)


def _is_scattered(lanes: Any) -> bool:
    """Whether neighbours in a sample of the slices come from cells that are far from each other."""
    side = lanes.shape[-1]
    some = lanes.reshape(-1, side)[: max(1, SAMPLE // side)]
    sources = some + side * np.arange(len(some))[:, None]
    return bool(len(moved(sources, some.shape)) > sources.size // 2)


def stable_order(values: Any, axis: int) -> Any:
    """Return np.argsort with kind="stable". If there are many values and all differ, it takes half the time.

    >>> stable_order(np.array([[2.0, 1.0, 2.0]]), 1).tolist()
    [[1, 0, 2]]
    """
    if values.dtype.kind == "f" and values.size > 4 * SAMPLE:
        order = np.argsort(values, axis)
        if _increases(np.moveaxis(values, axis, -1), np.moveaxis(order, axis, -1)):
            return order
    return np.argsort(values, axis, kind="stable")


def _increases(lanes: Any, order: Any) -> bool:
    """Whether the values of each slice, in this order, strictly increase; False if there is a NaN."""
    lanes, order = lanes.reshape(-1, lanes.shape[-1]), order.reshape(-1, order.shape[-1])
    step = max(1, 4 * SAMPLE // lanes.shape[-1])  # some slices at a time, which stay in the cache
    pieces = (slice(start, start + step) for start in range(0, len(lanes), step))
    sorted_ = (np.take_along_axis(lanes[some], order[some], -1) for some in pieces)
    return all(bool((each[:, 1:] > each[:, :-1]).all()) for each in sorted_)


@rule("sort", values=True)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, **_: Any) -> Links:
    """Each slice is ordered by its values; equal values keep their order."""
    flat = axis is None
    at = 0 if axis is None else axis_of(axis, len(shape(a)))
    values = np.asarray(a).ravel() if flat else np.asarray(a)
    found = arranged(values.shape, stable_order(values, at), at)
    decided = lane(values.shape, at, values.shape[at])
    return [Link(a, _unflat(found, shape(a))), Link(a, _unflat(decided, shape(a)), "selection")]


def _unflat(relation: Relation, in_shape: Shape) -> Relation:
    from whence.arrays.rules.shapes import reshaped

    return relation if relation.in_shape == in_shape else relation.compose(reshaped(in_shape, relation.in_shape))


@rule("argsort", "argpartition")
def argsort(a: Any, *args: Any, axis: int | None = -1, **_: Any) -> Links:
    """Indices: the whole slice is selection lineage, and there is no value lineage."""
    if args and len(args) > 1:
        raise TypeError("an axis by position")
    values = shape(a) if axis is not None else (math.prod(shape(a)),)
    at = 0 if axis is None else axis_of(axis, len(values))
    return [Link(a, _unflat(lane(values, at, values[at]), shape(a)), "selection")]


@rule("lexsort")
def lexsort(keys: Any, axis: int = -1) -> Links:
    """Indices: the whole slice of every key is selection lineage."""
    if hasattr(keys, "shape"):
        raise TypeError("keys in one array")
    lanes = [shape(each) for each in keys]
    at = axis_of(axis, len(lanes[0]))
    return [Link(each, lane(one, at, one[at]), "selection") for each, one in zip(keys, lanes, strict=True)]


@rule("partition", values=True)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: Any = None) -> Links:
    """Each cell comes from the cell that was moved there."""
    flat = axis is None
    at = 0 if axis is None else axis_of(axis, len(shape(a)))
    values = np.asarray(a).ravel() if flat else np.asarray(a)
    places = np.argpartition(values, kth, at)
    if not np.array_equal(np.take_along_axis(values, places, at), np.partition(values, kth, at), equal_nan=True):
        raise TypeError("a partition that NumPy orders differently from its indices")
    decided = lane(values.shape, at, values.shape[at])
    return [
        Link(a, _unflat(arranged(values.shape, places, at), shape(a))),
        Link(a, _unflat(decided, shape(a)), "selection"),
    ]


EXTREMES = {np.max: np.argmax, np.amax: np.argmax, np.min: np.argmin, np.amin: np.argmin}
"""Reductions that select one cell, and the functions that find it."""


def winner(
    function: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **more: Any
) -> tuple[Links, ...]:
    """Link a maximum or minimum to the first cell that attains it; the whole slice is selection lineage."""
    from whence.arrays.rules.reductions import reduced

    in_shape = shape(a)
    axes = axes_of(axis, len(in_shape))
    if any(more.get(key) not in (None, np._NoValue) for key in ("initial", "where")):
        raise NoRule("the winner of a maximum with initial= or where= is not known: leave these out")
    order = [*(i for i in range(len(in_shape)) if i not in axes), *axes]
    kept = tuple(in_shape[i] for i in order[: len(order) - len(axes)])
    lanes = np.asarray(a).transpose(order).reshape(*kept, -1)
    cells = numbered(in_shape).transpose(order).reshape(lanes.shape)
    chosen = np.take_along_axis(cells, EXTREMES[function](lanes, axis=-1)[..., None], -1)
    decided = reduced(in_shape, axis, keepdims is True)
    return ([Link(a, moved(chosen.reshape(decided.out_shape), in_shape)), Link(a, decided, "selection")],)


@rule("extract", values=True)
def extract(condition: Any, arr: Any) -> Links:
    """The cells where the condition is true, flat."""
    picked = np.flatnonzero(np.asarray(condition))
    return [Link(arr, moved(picked, shape(arr))), Link(condition, up_to(picked, shape(condition)), "selection")]


@rule("nonzero", values=True)
def nonzero(a: Any) -> tuple[Links, ...]:
    """Indices only: the cells up to this one are selection lineage."""
    decided = up_to(np.flatnonzero(np.asarray(a)), shape(a))
    return tuple([Link(a, decided, "selection")] for _ in shape(a))


@rule("flatnonzero", values=True)
def flatnonzero(a: Any) -> Links:
    """The same for the flat array."""
    return [Link(a, up_to(np.flatnonzero(np.asarray(a)), shape(a)), "selection")]


@rule("argwhere", values=True)
def argwhere(a: Any) -> Links:
    """The same, with one index in each row."""
    return [Link(a, up_to(np.flatnonzero(np.asarray(a)), shape(a), (len(shape(a)),)), "selection")]


@rule("take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Links:
    """Cells of each slice at the given indices."""
    view = shape(arr) if axis is not None else (math.prod(shape(arr)),)
    at = 0 if axis is None else axis
    found = moved(np.take_along_axis(numbered(view), np.asarray(indices), at), view)
    return [Link(arr, _unflat(found, shape(arr)))]


@rule("interp", values=True)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Links:
    """A value comes from the two points around it and from x; outside of the points, from one value alone."""
    if period is not None:
        raise TypeError("a period")
    at, points = np.asarray(x, float), np.asarray(xp, float)
    n = len(points)
    above = np.searchsorted(points, at, "right")
    low, high = np.clip(above - 1, 0, n - 1), np.clip(above, 0, n - 1)
    inside = (at >= points[0]) & (at <= points[-1])
    targets = numbered(at.shape)
    lower = _ends(inside, at < points[0], left, right)
    second = inside & (low != high)
    found = _from_both(targets, n, (low, lower), (high, second))
    points_used = found if np.array_equal(lower, inside) else _from_both(targets, n, (low, inside), (high, second))
    where_x = np.where(inside, targets, -1)
    return [
        Link(x, moved(where_x, shape(x))),
        Link(xp, points_used),
        Link(fp, found),
        Link(x, Relation.identity(shape(x)), "selection"),
        Link(xp, Relation.whole(shape(x), shape(xp)), "selection"),
        *(
            Link(end, _from_chosen(beyond))
            for end, beyond in ((left, at < points[0]), (right, at > points[-1]))
            if hasattr(end, "shape")
        ),
    ]


def _from_chosen(chosen: Any) -> Relation:
    """Return the relation to a single number, restricted to the chosen cells."""
    return moved(np.where(chosen, 0, -1), ())


def _from_both(targets: Any, side: int, *points: tuple[Any, Any]) -> Relation:
    """Each target from its point of each kind, where that is used; in order, so that nothing has to be sorted."""
    sources, used = (np.stack([each[i] for each in points], axis=-1) for i in (0, 1))
    return linked(np.repeat(targets, len(points)).reshape(used.shape)[used], sources[used], targets.shape, (side,))


def _ends(inside: Any, below: Any, left: Any, right: Any) -> Any:
    """Where the lower point is used: inside, and outside of an end for which no value is given."""
    return inside | (below & (left is None)) | (~inside & ~below & (right is None))


@rule("searchsorted", values=True)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Links:
    """An index into the sorted array: both arrays are selection lineage."""
    out = shape(v)
    order = [] if sorter is None else [Link(sorter, Relation.whole(out, shape(sorter)), "selection")]
    return [Link(a, Relation.whole(out, shape(a)), "selection"), Link(v, Relation.identity(out), "selection"), *order]


@rule("unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 6.283185307179586) -> Links:
    """Each cell comes from itself and all cells before it."""
    from whence.arrays.rules.reductions import running

    return [Link(p, running(shape(p), axis_of(axis, len(shape(p)))))]


@rule("put_along_axis", "put", "place", "copyto", "putmask", "fill_diagonal")
def in_place(*_: Any, **__: Any) -> Links:
    """Functions that write into their first argument have no output, so there is no rule."""
    raise TypeError("a function that writes into its argument")


def masked(in_shape: Shape, mask: Any) -> Relation:
    """a[mask]: the cells where a mask over the array's first axes is true."""
    full: Ints = numbered(in_shape)[np.asarray(mask, bool)]
    return moved(full, in_shape)


def picked(in_shape: Shape, key: Any) -> Relation:
    """Indexing with integer arrays, alone or mixed with other indices."""
    return moved(np.asarray(numbered(in_shape)[key]), in_shape)
