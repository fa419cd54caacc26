"""Rules for reductions along axes, and running totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.arrays.rules._rows import FREE, Factor, Shape, affine, product, triangle, whole_in, whole_out
from whence.arrays.rules._rules import Link, Links, axes_of, axis_of, rule, shape
from whence.arrays.rules.elementwise import broadcast
from whence.relation import Relation
from whence.relation.codec import Part

Axes = int | Sequence[int] | None


def reduced(in_shape: Shape, axis: Axes = None, keepdims: bool = False) -> Relation:
    """Every cell along the axes contributes.

    >>> reduced((3, 4), axis=1)
    Relation((3,) <- (3, 4), 12 tuples in 1 box)
    """
    axes = axes_of(axis, len(in_shape))
    factors: list[Factor] = []
    out_shape: list[int] = []
    for i, side in enumerate(in_shape):
        if i not in axes:
            factors.append(affine(len(out_shape), i, side))
            out_shape.append(side)
        else:
            factors.append(whole_in(i, side))
            if keepdims:
                factors.append(whole_out(len(out_shape), 1))
                out_shape.append(1)
    return product(tuple(out_shape), in_shape, factors)


def running(in_shape: Shape, axis: int) -> Relation:
    """Every cell up to this one along the axis contributes."""
    factors = [(triangle if i == axis else affine)(i, i, side) for i, side in enumerate(in_shape)]
    return product(in_shape, in_shape, factors)


@rule(
    "sum", "prod", "mean", "std", "var", "max", "min", "amax", "amin", "ptp", "all", "any", "count_nonzero",
    "nansum", "nanprod", "nanmean", "nanstd", "nanvar", "nanmax", "nanmin",
)  # fmt: skip
def reduction(a: Any, axis: Axes = None, *_: Any, keepdims: Any = False, **more: Any) -> Links:
    """Reductions to which every cell along the axes contributes; max and min compare all cells."""
    keep = keepdims is True or keepdims == 1
    links = [Link(a, reduced(shape(a), axis, keep))]
    out_shape = links[0].relation.out_shape
    if hasattr(initial := more.get("initial"), "shape"):
        links.append(Link(initial, broadcast(shape(initial), out_shape)))
    if hasattr(mean := more.get("mean"), "shape"):  # of np.var and np.std
        links.append(Link(mean, links[0].relation.compose(broadcast(shape(mean), shape(a)))))
    return links


def reduced_at(a: Any, indices: Any, axis: int) -> Links:
    """ufunc.reduceat: the cells from each index up to the next one; one cell, if the next index is not greater."""
    at, places = axis_of(axis, len(shape(a))), np.asarray(indices)
    ends = np.append(places[1:], shape(a)[at])
    width = np.maximum(ends - places, 1) - 1
    rows = Part(len(places), (FREE, FREE), ((0, 1), places.astype(np.int64)), ((0, 0), width.astype(np.int64)))
    out_shape = (*shape(a)[:at], len(places), *shape(a)[at + 1 :])
    factors = [Factor((i,), (i,), (rows,)) if i == at else affine(i, i, side) for i, side in enumerate(shape(a))]
    return [Link(a, product(out_shape, shape(a), factors) if len(places) else Relation.empty(out_shape, shape(a)))]


@rule("average")
def average(a: Any, axis: Axes = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """Each average comes from its cells and their weights; the optional second output is the sum of the weights."""
    relation = reduced(shape(a), axis, keepdims is True)
    values = [Link(a, relation)]
    sums: Links = []
    if weights is not None:
        spread = broadcast(shape(weights), shape(a)) if shape(weights) == shape(a) else _weights(weights, a, axis)
        sums = [Link(weights, relation.compose(spread))]
    return ([*values, *sums], sums) if returned else [*values, *sums]


def _weights(weights: Any, a: Any, axis: Axes) -> Relation:
    """Return the relation of weights that have only the averaged axes, broadcast to the whole array."""
    axes = [axis_of(each, len(shape(a))) for each in ([axis] if isinstance(axis, int) else list(axis or ()))]
    factors = [affine(i, axes.index(i), side) if i in axes else whole_out(i, side) for i, side in enumerate(shape(a))]
    return product(shape(a), shape(weights), factors)


@rule("argmax", "argmin", "nanargmax", "nanargmin")
def argument(a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = False) -> Links:
    """An index is not a cell's value: every cell along the axis is selection lineage."""
    return [Link(a, reduced(shape(a), axis, keepdims is True), "selection")]


@rule("cumsum", "cumprod", "nancumsum", "nancumprod")
def cumulative(a: Any, axis: int | None = None, *_: Any, **__: Any) -> Links:
    """Running totals; without an axis, of the flat array."""
    return [Link(a, _cumulative(shape(a), axis))]


@rule("cumulative_sum", "cumulative_prod")
def cumulative_of(x: Any, /, *, axis: int | None = None, include_initial: bool = False, **_: Any) -> Links:
    """Running totals, as named in the array API."""
    total = _cumulative(shape(x), 0 if axis is None and len(shape(x)) == 1 else axis)
    if not include_initial:
        return [Link(x, total)]
    from whence.arrays.rules.windows import shifted

    at = 0 if axis is None else axis_of(axis, len(shape(x)))
    longer = (*total.out_shape[:at], total.out_shape[at] + 1, *total.out_shape[at + 1 :])
    return [Link(x, shifted(total.out_shape, longer, at, 1).compose(total))]


def _cumulative(in_shape: Shape, axis: int | None) -> Relation:
    if axis is not None and in_shape:
        return running(in_shape, axis_of(axis, len(in_shape)))
    size = 1
    for side in in_shape:
        size *= side
    return product((size,), in_shape, [triangle(0, 0, size)], in_view=(size,))


@rule("trapezoid", "trapz")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Links:
    """Every cell along the axis contributes; a slice of one cell has no area, and no lineage."""
    axis = axis_of(axis, len(shape(y)))
    out_shape = (*shape(y)[:axis], *shape(y)[axis + 1 :])
    relation = reduced(shape(y), axis) if shape(y)[axis] > 1 else Relation.empty(out_shape, shape(y))
    links = [Link(y, relation)]
    if x is not None:
        if len(shape(x)) == 1 and shape(x) != (shape(y)[axis],):
            raise TypeError("places that are not as many as the values")
        spread = broadcast(shape(x), shape(y)) if len(shape(x)) != 1 else _weights(x, y, axis)
        links.append(Link(x, relation.compose(spread)))
    elif hasattr(dx, "shape"):
        raise TypeError("an array of distances")
    return links
