"""Layouts of tuples before they are folded: the views of both arrays, and the order of axes.

Folding finds runs along the given axes, in the given order. Most operations are regular in their own shapes with the
output first. Some are regular only in another view of the same cells (a reshape: both sides flat; a tile: the repeated
axis split in two) or another order (a repeat: the input first; a grouped table: rows before columns). A layout never
changes which tuples are stored, only how many rows they need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

Shape = tuple[int, ...]

MOST_AXES_TO_PERMUTE = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """A view of each side, and the order in which the axes of both (output first) are sorted and folded."""

    out_view: Shape
    in_view: Shape
    order: tuple[int, ...]

    @property
    def view(self) -> Shape:
        """The axes of both sides, output first."""
        return self.out_view + self.in_view

    @property
    def dims(self) -> Shape:
        """The lengths of the axes in sorting order."""
        view = self.view
        return tuple(view[v] for v in self.order)


def natural(out_shape: Shape, in_shape: Shape) -> Layout:
    """Return the layout of both sides in their own shapes, the output first.

    >>> natural((2,), (2, 3)).order
    (0, 1, 2)
    """
    return Layout(out_shape, in_shape, tuple(range(len(out_shape) + len(in_shape))))


def candidates(out_shape: Shape, in_shape: Shape) -> Iterator[Layout]:
    """Yield other layouts to try if the natural one needs many rows, likely ones first, without duplicates."""
    seen = {natural(out_shape, in_shape)}
    for out_view, in_view in _views(out_shape, in_shape):
        for order in _orders(len(out_view), len(in_view)):
            layout = Layout(out_view, in_view, order)
            if layout not in seen:
                seen.add(layout)
                yield layout


def _orders(outs: int, ins: int) -> Iterator[tuple[int, ...]]:
    out_axes, in_axes = tuple(range(outs)), tuple(range(outs, outs + ins))
    yield out_axes + in_axes
    yield in_axes + out_axes
    if outs > 1 or ins > 1:
        yield _interleave(out_axes, in_axes)
        yield _interleave(in_axes, out_axes)


def _interleave(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    shared = min(len(a), len(b))
    pairs = tuple(axis for pair in zip(a, b, strict=False) for axis in pair)
    return pairs + a[shared:] + b[shared:]


def _views(out_shape: Shape, in_shape: Shape) -> Iterator[tuple[Shape, Shape]]:
    yield out_shape, in_shape
    out_size, in_size = math.prod(out_shape), math.prod(in_shape)
    if len(out_shape) > 1 or len(in_shape) > 1:
        yield (out_size,), (in_size,)
    yield from _cuts(out_shape, in_shape)
    yield from ((out_view, in_view) for in_view, out_view in _cuts(in_shape, out_shape))
    if out_size == in_size:
        # A transpose combined with a reshape: one side has the axes of the other, permuted.
        for ours, theirs, swap in ((out_shape, in_shape, False), (in_shape, out_shape, True)):
            axes = tuple(d for d in theirs if d > 1)
            if 2 <= len(axes) <= MOST_AXES_TO_PERMUTE and axes != ours:
                for view in dict.fromkeys(permutations(axes)):
                    yield (theirs, view) if swap else (view, theirs)


def _cuts(long: Shape, short: Shape) -> Iterator[tuple[Shape, Shape]]:
    """Yield views in which an axis of one side is split by an axis of the other: (r, n) for a tile, (n, r) for a
    repeat.
    """
    fits = [(i, j) for i, n in enumerate(long) for j, d in enumerate(short) if d > 1 and n > d and n % d == 0]
    aligned = [(i, j) for i, j in fits if i - len(long) == j - len(short)]
    for pairs in [aligned] * (len(aligned) > 1) + [[pair] for pair in fits[:4]]:
        by = dict(pairs)
        for last in (True, False):
            view: list[int] = []
            for i, n in enumerate(long):
                if i not in by:
                    view.append(n)
                elif last:
                    view += [n // short[by[i]], short[by[i]]]
                else:
                    view += [short[by[i]], n // short[by[i]]]
            yield tuple(view), short
