"""Lineage that follows from the values: which cells were picked, sorted or compared.

The picked cell is the value's origin; what the choice was made from is a link of kind "selection".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whence.arrays.known._rows import Ints, Shape, affine, factor, linked, moved, numbered, product, row
from whence.arrays.known._rules import Link, Links, axes_of, axis_of, rule, shape
from whence.arrays.known.elementwise import broadcast
from whence.arrays.known.windows import lane
from whence.errors import NoRule
from whence.relation import Relation


def _restricted(in_shape: Shape, chosen: Any) -> Relation:
    """An operand, broadcast, at the cells that were chosen."""
    sources = np.broadcast_to(numbered(in_shape), chosen.shape)
    return moved(np.where(chosen, sources, -1), in_shape)


@rule("where", values=True)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Each cell from the one or the other; the condition decided."""
    if x is None:
        count = int(np.count_nonzero(condition))
        decided = Relation.whole((count,), shape(condition))
        return tuple([Link(condition, decided, "selection")] for _ in shape(condition))
    out_shape = np.broadcast_shapes(shape(condition), shape(x), shape(y))
    chosen = np.broadcast_to(np.asarray(condition, bool), out_shape)
    return [
        Link(x, _restricted(shape(x), chosen)),
        Link(y, _restricted(shape(y), ~chosen)),
        Link(condition, broadcast(shape(condition), out_shape), "selection"),
    ]


@rule("select", values=True)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Links:
    """The first condition that holds picks the choice."""
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
    """An array of numbers picks among the choices."""
    choices = list(choices)
    out_shape = np.broadcast_shapes(shape(a), *(shape(each) for each in choices))
    picks = np.broadcast_to(np.choose(np.asarray(a), range(len(choices)), mode=mode), out_shape)
    links = [Link(each, _restricted(shape(each), picks == n)) for n, each in enumerate(choices)]
    return [*links, Link(a, broadcast(shape(a), out_shape), "selection")]


def arranged(in_shape: Shape, order: Any, axis: int) -> Relation:
    """Cells of each lane in an order given for it."""
    return moved(np.take_along_axis(numbered(in_shape), order, axis), in_shape)


@rule("sort", values=True)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, **_: Any) -> Links:
    """Each lane in the order of its values; equal values stay in the order they had."""
    flat = axis is None
    at = 0 if axis is None else axis_of(axis, len(shape(a)))
    values = np.asarray(a).ravel() if flat else np.asarray(a)
    found = arranged(values.shape, np.argsort(values, at, kind="stable"), at)
    decided = lane(values.shape, at, values.shape[at])
    return [Link(a, _unflat(found, shape(a))), Link(a, _unflat(decided, shape(a)), "selection")]


def _unflat(relation: Relation, in_shape: Shape) -> Relation:
    from whence.arrays.known.shapes import reshaped

    return relation if relation.in_shape == in_shape else relation.compose(reshaped(in_shape, relation.in_shape))


@rule("argsort", "argpartition")
def argsort(a: Any, *args: Any, axis: int | None = -1, **_: Any) -> Links:
    """Indices: the whole lane decided them, and they hold no cell's value."""
    if args and len(args) > 1:
        raise TypeError("an axis by position")
    values = shape(a) if axis is not None else (math.prod(shape(a)),)
    at = 0 if axis is None else axis_of(axis, len(values))
    return [Link(a, _unflat(lane(values, at, values[at]), shape(a)), "selection")]


@rule("partition", values=True)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: Any = None) -> Links:
    """Where each cell of a lane went."""
    flat = axis is None
    at = 0 if axis is None else axis_of(axis, len(shape(a)))
    values = np.asarray(a).ravel() if flat else np.asarray(a)
    places = np.argpartition(values, kth, at)
    if not np.array_equal(np.take_along_axis(values, places, at), np.partition(values, kth, at), equal_nan=True):
        raise TypeError("a partition that NumPy orders in another way than its indices")
    decided = lane(values.shape, at, values.shape[at])
    return [
        Link(a, _unflat(arranged(values.shape, places, at), shape(a))),
        Link(a, _unflat(decided, shape(a)), "selection"),
    ]


@rule("median", values=True)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Links:
    """The cell in the middle, or the two around it; all of the lane decided which."""
    return _quantiles(a, axis, keepdims, 0.5)


@rule("quantile", values=True)
def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, **more: Any) -> Links:  # fmt: skip
    """The one or two cells that the fraction falls between."""
    if method != "linear" or more.get("weights") is not None:
        raise TypeError("weights, or a method other than linear")
    fractions = np.asarray(q, float)
    if not fractions.shape:
        return _quantiles(a, axis, keepdims, float(fractions))
    links: Links = []
    for index in np.ndindex(fractions.shape):
        for link in _quantiles(a, axis, keepdims, float(fractions[index])):
            placing = [factor([i], [], [row((at, at))]) for i, at in enumerate(index)]
            inner = link.relation.out_shape
            placing += [affine(len(index) + i, i, side) for i, side in enumerate(inner)]
            outer = product((*fractions.shape, *inner), inner, placing)
            links.append(link._replace(relation=outer.compose(link.relation)))
    return links


@rule("percentile", values=True)
def percentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Links:
    """A quantile, in hundredths."""
    return quantile(a, np.asarray(q, float) / 100, *args, **kwargs)


def _quantiles(a: Any, axis: Any, keepdims: bool, fraction: float) -> Links:
    in_shape = shape(a)
    axes = axes_of(axis, len(in_shape))
    kept = [i for i in range(len(in_shape)) if i not in axes]
    values = np.asarray(a).transpose([*kept, *axes]).reshape([in_shape[i] for i in kept] + [-1])
    cells = numbered(in_shape).transpose([*kept, *axes]).reshape(values.shape)
    side = values.shape[-1]
    exact = fraction * (side - 1)
    picks = sorted({math.floor(exact), math.ceil(exact)})
    order = np.argsort(values, -1, kind="stable")[..., picks]
    sources = np.take_along_axis(cells, order, -1)
    out_shape = tuple(1 if i in axes else n for i, n in enumerate(in_shape) if keepdims or i not in axes)
    targets = np.broadcast_to(numbered(values.shape[:-1])[..., None], sources.shape)
    from whence.arrays.known.reductions import reduced

    decided = Link(a, reduced(in_shape, axis, keepdims), "selection")
    if np.isnan(values).any():  # the lanes with a NaN are NaN because of it; the whole lane is said
        return [Link(a, decided.relation), decided]
    return [Link(a, linked(targets.ravel(), sources.ravel(), out_shape, in_shape)), decided]


@rule("unique", values=True)
def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, **_: Any) -> Any:  # fmt: skip
    """Each distinct value from all the cells that hold it."""
    if return_index or return_inverse or return_counts or axis is not None:
        raise TypeError("more than the distinct values of the flat array")
    values, inverse = np.unique(np.asarray(ar), return_inverse=True)
    found = linked(inverse.ravel(), np.arange(inverse.size), values.shape, shape(ar))
    return [Link(ar, found), Link(ar, Relation.whole(values.shape, shape(ar)), "selection")]


EXTREMES = {np.max: np.argmax, np.amax: np.argmax, np.min: np.argmin, np.amin: np.argmin}
"""Reductions that have a winner, and what finds it."""


def winner(
    function: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **more: Any
) -> tuple[Links, ...]:
    """The maximum or minimum as coming from the first cell that attains it; all of the lane decided which."""
    from whence.arrays.known.reductions import reduced

    in_shape = shape(a)
    axes = axes_of(axis, len(in_shape))
    if any(more.get(key) not in (None, np._NoValue) for key in ("initial", "where")):
        raise NoRule("the winner of a maximum with initial= or where= is not known: take it of the cells alone")
    order = [*(i for i in range(len(in_shape)) if i not in axes), *axes]
    kept = tuple(in_shape[i] for i in order[: len(order) - len(axes)])
    lanes = np.asarray(a).transpose(order).reshape(*kept, -1)
    cells = numbered(in_shape).transpose(order).reshape(lanes.shape)
    chosen = np.take_along_axis(cells, EXTREMES[function](lanes, axis=-1)[..., None], -1)
    decided = reduced(in_shape, axis, keepdims is True)
    return ([Link(a, moved(chosen.reshape(decided.out_shape), in_shape)), Link(a, decided, "selection")],)


@rule("extract", values=True)
def extract(condition: Any, arr: Any) -> Links:
    """The cells where the condition holds, in a row."""
    picked = np.flatnonzero(np.asarray(condition))
    return [
        Link(arr, moved(picked, shape(arr))),
        Link(condition, Relation.whole(picked.shape, shape(condition)), "selection"),
    ]


@rule("nonzero", values=True)
def nonzero(a: Any) -> tuple[Links, ...]:
    """Indices only: every cell decided how many there are and which."""
    count = (int(np.count_nonzero(a)),)
    return tuple([Link(a, Relation.whole(count, shape(a)), "selection")] for _ in shape(a))


@rule("flatnonzero", values=True)
def flatnonzero(a: Any) -> Links:
    """The same for the flat array."""
    return [Link(a, Relation.whole((int(np.count_nonzero(a)),), shape(a)), "selection")]


@rule("argwhere", values=True)
def argwhere(a: Any) -> Links:
    """The same, an index a row."""
    count = (int(np.count_nonzero(a)), len(shape(a)))
    return [Link(a, Relation.whole(count, shape(a)), "selection")]


@rule("take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Links:
    """Cells of each lane by indices given for it."""
    view = shape(arr) if axis is not None else (math.prod(shape(arr)),)
    at = 0 if axis is None else axis
    found = moved(np.take_along_axis(numbered(view), np.asarray(indices), at), view)
    return [Link(arr, _unflat(found, shape(arr)))]


@rule("interp", values=True)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Links:
    """Between two points: both, and the place asked for; at a point, beyond the ends: one value alone."""
    if period is not None:
        raise TypeError("a period")
    at, points = np.asarray(x, float), np.asarray(xp, float)
    n = len(points)
    above = np.searchsorted(points, at, "right")
    low, high = np.clip(above - 1, 0, n - 1), np.clip(above, 0, n - 1)
    inside = (at >= points[0]) & (at <= points[-1])
    targets = numbered(at.shape)
    lower = _ends(inside, at < points[0], left, right)
    found = _paired(at.shape, n, (targets[lower], low[lower]), (targets[inside], high[inside]))
    points_used = _paired(at.shape, n, (targets[inside], low[inside]), (targets[inside], high[inside]))
    where_x = np.where(inside, targets, -1)
    return [
        Link(x, moved(where_x, shape(x))),
        Link(xp, points_used),
        Link(fp, found),
        Link(x, Relation.identity(shape(x)), "selection"),
        Link(xp, Relation.whole(shape(x), shape(xp)), "selection"),
    ]


def _paired(out_shape: Shape, side: int, *pairs: tuple[Any, Any]) -> Relation:
    targets, sources = (np.concatenate([np.ravel(pair[i]) for pair in pairs]) for i in (0, 1))
    return linked(targets, sources, out_shape, (side,))


def _ends(inside: Any, below: Any, left: Any, right: Any) -> Any:
    """Where the lower point counts: inside, and beyond an end whose value is not given."""
    return inside | (below & (left is None)) | (~inside & ~below & (right is None))


@rule("bincount", values=True)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Links:
    """Each bin from the cells that fall into it."""
    codes = np.asarray(x)
    out = (max(int(codes.max(initial=-1)) + 1, minlength),)
    found = linked(codes, np.arange(len(codes)), out, shape(x))
    if weights is None:
        return [Link(x, found)]
    return [Link(weights, found), Link(x, found, "selection")]


@rule("searchsorted", values=True)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Links:
    """An index into the sorted array: both decided it."""
    out = shape(v)
    return [Link(a, Relation.whole(out, shape(a)), "selection"), Link(v, Relation.identity(out), "selection")]


@rule("digitize", values=True)
def digitize(x: Any, bins: Any, right: bool = False) -> Links:
    """The number of the bin: the cell and all edges decided it."""
    return [
        Link(x, Relation.identity(shape(x)), "selection"),
        Link(bins, Relation.whole(shape(x), shape(bins)), "selection"),
    ]


@rule("unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 6.283185307179586) -> Links:
    """Each cell, and every jump before it."""
    from whence.arrays.known.reductions import running

    return [Link(p, running(shape(p), axis_of(axis, len(shape(p)))))]


@rule("histogram", values=True)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Each bin from the cells inside its edges; the edges, unless given, from the least and the greatest cell."""
    if density or weights is not None:
        raise TypeError("a density, or weights")
    values = np.asarray(a).ravel()
    edges = np.histogram_bin_edges(values, bins, range)
    codes = np.searchsorted(edges, values, "right") - 1
    codes[values == edges[-1]] = len(edges) - 2
    inside = (codes >= 0) & (codes < len(edges) - 1)
    counted = linked(codes[inside], np.flatnonzero(inside), (len(edges) - 1,), shape(a))
    given = np.ndim(bins) == 1 or range is not None
    from_a = Relation.empty(edges.shape, shape(a)) if given else Relation.whole(edges.shape, shape(a))
    return ([Link(a, counted)], [Link(a, from_a)])


@rule("put_along_axis", "put", "place", "copyto", "putmask", "fill_diagonal")
def in_place(*_: Any, **__: Any) -> Links:
    """Functions that write into their first argument are no rule of an output."""
    raise TypeError("a function that writes into its argument")


def masked(in_shape: Shape, mask: Any) -> Relation:
    """a[mask]: the cells where a mask of the array's first axes holds."""
    full: Ints = numbered(in_shape)[np.asarray(mask, bool)]
    return moved(full, in_shape)


def picked(in_shape: Shape, key: Any) -> Relation:
    """Integer-array and mixed indexing."""
    return moved(np.asarray(numbered(in_shape)[key]), in_shape)
