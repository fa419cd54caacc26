"""Draw relations as raw tuples (operations, unions of affine patterns, products, near misses, noise) and chains."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from whence.testing.operations import Raw
from whence.testing.oracle import Ints, Shape, sorted_unique

from ._operations import operations_on
from ._shapes import shapes

Direction = Literal["backward", "forward"]


def swapped(raw: Raw) -> Raw:
    """Return the same pairs with the sides swapped.

    >>> from whence.testing import operations as ops
    >>> swapped(ops.sum_over((2,))).tuples.tolist()
    [[0], [1]]
    """
    cut = len(raw.out_shape)
    tuples = np.concatenate([raw.tuples[:, cut:], raw.tuples[:, :cut]], axis=1)
    return Raw(sorted_unique(tuples), raw.in_shape, raw.out_shape)


def product(first: Raw, second: Raw) -> Raw:
    """Return the Cartesian product of two relations: each side has the axes of both.

    >>> from whence.testing import operations as ops
    >>> product(ops.flip((2,)), ops.sum_over((3,))).out_shape
    (2,)
    """
    a, b = np.meshgrid(np.arange(len(first.tuples)), np.arange(len(second.tuples)), indexing="ij")
    left, right = first.tuples[a.ravel()], second.tuples[b.ravel()]
    cut, other = len(first.out_shape), len(second.out_shape)
    tuples = np.concatenate([left[:, :cut], right[:, :other], left[:, cut:], right[:, other:]], axis=1)
    return Raw(sorted_unique(tuples), first.out_shape + second.out_shape, first.in_shape + second.in_shape)


@st.composite
def affine_tuples(draw: st.DrawFn, sides: Shape) -> Ints:
    """Draw the affine image of a small box, clipped to the sides: strides, ties, windows, mixed radices."""
    extents = draw(st.lists(st.integers(1, 6), max_size=3))
    steps = st.sampled_from([0, 0, 0, 1, 1, -1, 2, 3, -2])
    points = np.indices(extents).reshape(len(extents), math.prod(extents))
    rows = np.empty((points.shape[1], len(sides)), np.int64)
    for axis, side in enumerate(sides):
        slope = np.array([draw(steps) for _ in extents], np.int64)
        rows[:, axis] = draw(st.integers(0, max(side - 1, 0))) + slope @ points
    return rows[((rows >= 0) & (rows < np.array(sides, np.int64))).all(axis=1)]


@st.composite
def bounded_tuples(draw: st.DrawFn, sides: Shape) -> Ints:
    """Draw tuples with each axis within bounds that may depend on another axis.

    They form triangles, trapezoids and bands, nested in any order.
    """
    rows = np.zeros((1, len(sides)), np.int64)
    done: list[int] = []
    for axis in draw(st.permutations(range(len(sides)))):
        other = draw(st.sampled_from([None, *done]))
        first = draw(st.integers(-2, max(sides[axis] - 1, 0)))
        low = np.full(len(rows), first)
        high = low + draw(st.integers(0, 3))
        if other is not None:
            low = low + draw(st.integers(-2, 2)) * rows[:, other]
            high = high + draw(st.integers(-2, 2)) * rows[:, other]
        low, high = np.maximum(low, 0), np.minimum(high, sides[axis] - 1)
        widths = np.maximum(high - low + 1, 0)
        within = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
        values = np.repeat(low, widths) + within
        rows = np.repeat(rows, widths, axis=0)
        rows[:, axis] = values
        if len(rows) > 400:  # a prefix of a regular set is as good a test
            rows = rows[:400]
        done.append(axis)
    return rows


@st.composite
def box_tuples(draw: st.DrawFn, sides: Shape) -> Ints:
    """Draw all tuples of one box."""
    ranges = []
    for side in sides:
        first = draw(st.integers(0, max(side - 1, 0)))
        ranges.append(np.arange(first, min(first + draw(st.integers(1, 3)), side)))
    return np.stack([grid.ravel() for grid in np.meshgrid(*ranges, indexing="ij")], axis=1) if sides else _one_row()


def _one_row() -> Ints:
    return np.empty((1, 0), np.int64)


@st.composite
def loose_tuples(draw: st.DrawFn, sides: Shape, max_size: int = 12) -> Ints:
    """Draw tuples without structure."""
    if 0 in sides:
        return np.empty((0, len(sides)), np.int64)
    row = st.tuples(*(st.integers(0, side - 1) for side in sides))
    rows = draw(st.lists(row, max_size=max_size))
    return np.array(rows, np.int64).reshape(len(rows), len(sides))


@st.composite
def unions(draw: st.DrawFn, out_shape: Shape, in_shape: Shape) -> Raw:
    """Draw a union of random patterns between two given shapes."""
    sides = out_shape + in_shape
    pieces = [box_tuples(sides), loose_tuples(sides, 6), affine_tuples(sides), bounded_tuples(sides)]
    drawn = [draw(draw(st.sampled_from(pieces))) for _ in range(draw(st.integers(0, 3)))]
    rows = np.concatenate([np.empty((0, len(sides)), np.int64), *drawn])
    return Raw(sorted_unique(rows), out_shape, in_shape)


@st.composite
def near_misses(draw: st.DrawFn, raw: Raw) -> Raw:
    """Remove or add a few tuples of a regular relation, which a wrong generalization would miss."""
    gone = draw(st.sets(st.integers(0, max(len(raw.tuples) - 1, 0)), max_size=2))
    kept = np.delete(raw.tuples, [number for number in gone if number < len(raw.tuples)], axis=0)
    extra = draw(loose_tuples(raw.out_shape + raw.in_shape, 2))
    return raw._replace(tuples=sorted_unique(np.concatenate([kept, extra])))


@st.composite
def relations_from(draw: st.DrawFn, in_shape: Shape) -> Raw:
    """Draw a relation whose input has this shape; it is mostly structured."""
    kind = draw(st.sampled_from(["operation", "operation", "near miss", "union"]))
    if kind == "union":
        return draw(unions(draw(shapes(max_axes=3)), in_shape))
    raw = draw(operations_on(in_shape))
    return draw(near_misses(raw)) if kind == "near miss" else raw


@st.composite
def relations(draw: st.DrawFn) -> Raw:
    """Draw any relation, with 0 to 4 axes per side."""
    kind = draw(st.sampled_from(["one", "one", "swapped", "product", "union"]))
    if kind == "union":
        return draw(unions(draw(shapes()), draw(shapes())))
    if kind == "product":
        small = shapes(max_axes=2, max_cells=6)
        first, second = draw(operations_on(draw(small), 12, 2)), draw(operations_on(draw(small), 12, 2))
        return product(first, second)
    raw = draw(relations_from(draw(shapes())))
    return swapped(raw) if kind == "swapped" else raw


@st.composite
def scrambled(draw: st.DrawFn, tuples: Ints) -> NDArray[np.integer]:
    """Return the same tuples in another order, some of them repeated, in another integer type or memory layout."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    extra = rng.integers(0, len(tuples), draw(st.integers(0, 5))) if len(tuples) else np.empty(0, np.int64)
    rows = np.concatenate([tuples, tuples[extra]])
    rng.shuffle(rows)
    dtype = draw(st.sampled_from([np.int64, np.int32, np.int16, np.uint8, np.uint64]))
    return np.asarray(rows.astype(dtype), order=draw(st.sampled_from(["C", "F"])))


@st.composite
def chains(draw: st.DrawFn, max_steps: int = 6) -> list[Raw]:
    """Draw relations B <- A, C <- B, D <- C, ...: the input of each has the shape of the output before."""
    steps = [draw(relations_from(draw(shapes(max_cells=24))))]
    for _ in range(draw(st.integers(1, max_steps)) - 1):
        steps.append(draw(relations_from(steps[-1].out_shape)))
    return steps


@st.composite
def paths(draw: st.DrawFn, max_steps: int = 6) -> tuple[Shape, list[tuple[Raw, Direction]]]:
    """Draw a shape to start from, and steps along relations or against them."""
    here = start = draw(shapes(max_cells=24))
    steps: list[tuple[Raw, Direction]] = []
    for _ in range(draw(st.integers(1, max_steps))):
        raw = draw(relations_from(here))
        if draw(st.booleans()):
            steps.append((raw, "forward"))
        else:
            steps.append((swapped(raw), "backward"))
        here = raw.out_shape
    return start, steps
