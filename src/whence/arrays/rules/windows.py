"""Rules for functions of a few neighbours: differences, gradients, convolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whence.arrays.rules._rows import (
    Factor,
    Shape,
    affine,
    band,
    factor,
    placed,
    product,
    row,
    whole_in,
    whole_out,
)
from whence.arrays.rules._rules import Link, Links, axes_of, axis_of, rule, shape
from whence.arrays.rules.joining import concatenate
from whence.relation import Relation
from whence.relation.codec import Part


def along(in_shape: Shape, out_shape: Shape, axis: int, one: Factor) -> Relation:
    """Return the relation with this factor on one axis, and each other axis unchanged."""
    factors = [one if i == axis else affine(i, i, side) for i, side in enumerate(in_shape)]
    return product(out_shape, in_shape, factors)


def shifted(in_shape: Shape, out_shape: Shape, axis: int, start: int) -> Relation:
    """Return the relation of a longer output to a piece of it that begins at `start` along the axis."""
    return along(in_shape, out_shape, axis, placed(axis, axis, in_shape[axis], start))


def resized(one: Shape, axis: int, side: int) -> Shape:
    """Return the shape with another length of one axis."""
    return (*one[:axis], side, *one[axis + 1 :])


@rule("diff")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Links:
    """The n-th difference is a weighted sum of n + 1 neighbours, and no weight is zero."""
    axis = axis_of(axis, len(shape(a)))
    pieces = [each for each in (prepend, a, append) if each is not np._NoValue]
    one = resized(shape(a), axis, 1)
    shapes = [shape(each) or one for each in pieces]
    sides = sum(each[axis] for each in shapes)
    out = max(sides - n, 0)
    core = along(resized(one, axis, sides), resized(one, axis, out), axis, band(axis, axis, out, sides, 0, n))
    if len(pieces) == 1:
        return [Link(a, core)]
    from whence.arrays.rules.elementwise import broadcast

    links = []
    for each, link in zip(pieces, concatenate([np.broadcast_to(np.zeros(()), s) for s in shapes], axis), strict=True):
        relation = core.compose(link.relation)
        links.append(Link(each, relation if shape(each) else relation.compose(broadcast((), one))))
    return links


@rule("ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Links:
    """Differences of the flat array, between the values at the beginning and the end."""
    size = math.prod(shape(ary))
    core = band(0, 0, max(size - 1, 0), size, 0, 1)
    ends = [0 if each is None else int(np.size(each)) for each in (to_begin, to_end)]
    total = ends[0] + max(size - 1, 0) + ends[1]
    middle = product((max(size - 1, 0),), shape(ary), [core], in_view=(size,))
    links = [Link(ary, shifted((max(size - 1, 0),), (total,), 0, ends[0]).compose(middle))]
    for each, start in ((to_begin, 0), (to_end, total - ends[1])):
        if each is not None:
            side = int(np.size(each))
            links.append(Link(each, product((total,), shape(each), [placed(0, 0, side, start)], in_view=(side,))))
    return links


@rule("gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Inside, each cell comes from its neighbours on both sides; at the ends, from the first or last two or three
    cells.
    """
    in_shape = shape(f)
    axes = (
        axes_of(axis, len(in_shape))
        if axis is None or np.ndim(axis) == 0
        else [axis_of(i, len(in_shape)) for i in axis]
    )
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("distances for another number of axes")
    given = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    found = []
    for at, distance in zip(axes, given, strict=True):
        coordinates = len(shape(distance)) == 1
        even = not coordinates or bool((np.diff(np.diff(np.asarray(distance))) == 0).all())
        links = [Link(f, along(in_shape, in_shape, at, _gradient(at, in_shape[at], edge_order, even)))]
        if coordinates:
            links.append(
                Link(distance, product(in_shape, shape(distance), _coordinates(in_shape, at, edge_order, even)))
            )
        elif hasattr(distance, "shape"):
            links.append(Link(distance, Relation.whole(in_shape, shape(distance))))
        found.append(links)
    return found[0] if len(found) == 1 else tuple(found)


def _coordinates(in_shape: Shape, at: int, edge_order: int, even: bool) -> list[Factor]:
    """Return factors for the coordinates of one axis: equal distances come from the first two, others from the
    neighbours.
    """
    others = [whole_out(i, n) for i, n in enumerate(in_shape) if i != at or even]
    if even:
        return [*others, factor([], [0], [row((0, 1))])]
    one = _gradient(at, in_shape[at], edge_order, even)
    return [*others, Factor(one.outs, (0,), one.parts)]


def _gradient(at: int, side: int, edge_order: int, even: bool) -> Factor:
    rows: list[Part | None] = [
        row((0, 0), (0, edge_order)),
        row((side - 1, side - 1), (side - 1 - edge_order, side - 1)),
    ]
    if even:  # the cell itself has no weight
        rows += [row((1, side - 2), (-1, -1, 0, 1, 1)), row((1, side - 2), (1, 1, 0, 1, 1))]
    else:
        rows.append(row((1, side - 2), (-1, 1, 0, 1, 1)))
    return factor([at], [at], rows)


def _convolved(out: int, start: int, side: int, other: int) -> Factor:
    """Return the factor of an operand of a convolution, whose output b is cell b + start of the full convolution."""
    return band(0, 0, out, side, start - (other - 1), start)


def _modes(n: int, m: int, mode: Any) -> tuple[int, int]:
    """Return the length of a convolution's output, and its offset in the full convolution."""
    small, large = min(n, m), max(n, m)
    if mode in ("full", 2):
        return n + m - 1, 0
    if mode in ("same", 1):
        return large, (small - 1) // 2
    return large - small + 1, small - 1


@rule("convolve")
def convolve(a: Any, v: Any, mode: Any = "full") -> Links:
    """A window of one operand moves over the other."""
    n, m = (int(np.prod(shape(each))) for each in (a, v))
    out, start = _modes(n, m, mode)
    return [
        Link(a, product((out,), shape(a), [_convolved(out, start, n, m)], in_view=(n,))),
        Link(v, product((out,), shape(v), [_convolved(out, start, m, n)], in_view=(m,))),
    ]


@rule("correlate")
def correlate(a: Any, v: Any, mode: Any = "valid") -> Links:
    """A convolution with the second operand reversed."""
    n, m = (int(np.prod(shape(each))) for each in (a, v))
    out, start = _modes(n, m, mode)
    if mode in ("same", 1) and m > n:
        start = n // 2  # NumPy swaps the operands and reverses the result, so the offset rounds the other way
    # With f = b + start, cell f of the full result is a sum of a[f - (m - 1) + j] over j, so j decreases as b
    # increases.
    mirrored = turned(band(0, 0, out, m, start - (n - 1), start), m)
    return [
        Link(a, product((out,), shape(a), [_convolved(out, start, n, m)], in_view=(n,))),
        Link(v, product((out,), shape(v), [mirrored], in_view=(m,))),
    ]


def turned(one: Factor, side: int) -> Factor:
    """Return the same factor over the reversed input."""
    parts = []
    for part in one.parts:
        (lo_b, _), (lo_a, _) = part.lo
        (width_b, _), (width_a, _) = part.width
        parent, p, q = part.axes[1]
        low, high = side - 1 - (lo_a + width_a), side - 1 - lo_a
        axis = (low, high) if parent < 0 else (low, high, parent, -q, -p)
        parts.append(row((lo_b, lo_b + width_b), axis))
    return factor(one.outs, one.ins, parts)


def lane(in_shape: Shape, axis: int, out_side: int, used: int | None = None) -> Relation:
    """Every output cell along the axis comes from every (or the first `used`) input cell of the same slice.

    >>> lane((2, 3), 1, 5).backward([(1, 4)])
    Selection(shape=(2, 3), 3 cells: [1, 0:3])
    """
    side = in_shape[axis] if used is None else min(used, in_shape[axis])
    every = [whole_out(axis, out_side), whole_in(axis, side)]
    factors = [affine(i, i, n) for i, n in enumerate(in_shape) if i != axis]
    return product(resized(in_shape, axis, out_side), in_shape, [*factors, *every])
