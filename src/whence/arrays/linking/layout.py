"""Find the cells of a known array that a view shows, from memory addresses and strides.

An array's cell [i, j, ...] is at address + i * strides[0] + j * strides[1] + ... . If no two cells overlap, an offset
gives the indices digit by digit, the largest stride first. So every view of a known array (slices, steps, flips,
transposes, new axes, reshapes, diagonals, windows) has an exact relation to it, and no cell is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.rules._rows import Factor, factor, moved, only_in, product, row, whole_out
from whence.relation import Relation

Shape = tuple[int, ...]

MOST_CELLS = 1 << 22
"""The most cells of a view without a simple form. Its relation is found cell by cell."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The memory layout of an array: the address of its first cell, and its strides in bytes."""

    address: int
    shape: Shape
    strides: Shape
    dtype: str

    @classmethod
    def of(cls, array: NDArray[Any]) -> Layout:
        """The layout of an array."""
        return cls(array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)

    @property
    def itemsize(self) -> int:
        """The size of a cell in bytes."""
        return np.dtype(self.dtype).itemsize

    @property
    def bounds(self) -> tuple[int, int]:
        """The first address, and the address after the last byte."""
        if 0 in self.shape:
            return self.address, self.address
        ends = [(side - 1) * step for side, step in zip(self.shape, self.strides, strict=True)]
        first = self.address + sum(min(each, 0) for each in ends)
        return first, self.address + sum(max(each, 0) for each in ends) + self.itemsize

    def array(self, owner: Any) -> NDArray[Any]:
        """Return the array itself, over memory that the owner keeps referenced."""
        return np.asarray(_Shown(self, owner))


class _Shown:
    """Exposes memory at an address as an array, and keeps its owner referenced."""

    def __init__(self, layout: Layout, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (layout.address, True), "shape": layout.shape, "strides": layout.strides, "typestr": layout.dtype,
            "version": 3,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of a known array, with a positive step in memory."""

    position: int
    side: int
    step: int  # bytes
    flipped: bool


def shown(view: Layout, known: Layout) -> Relation | None:
    """Return the relation of a view to a known array; None if it has other cells, or no relation was found.

    >>> x = np.arange(24.0).reshape(4, 6)
    >>> shown(Layout.of(x[::2, 5]), Layout.of(x)).to_array().tolist()
    [[0, 0, 5], [1, 2, 5]]
    >>> shown(Layout.of(x), Layout.of(x[1:])) is None
    True
    """
    if view.dtype != known.dtype:
        return None
    if 0 in view.shape:
        return Relation.empty(view.shape, known.shape)
    axes = _axes_by_step(known)
    if axes is None:
        return None
    low, high = known.bounds
    if view.bounds[0] < low or view.bounds[1] > high:
        return None
    delta = view.address - low
    for out_view, in_view, steps, own in _forms(view, known, axes):
        factors = _factors_of_view(out_view, steps, own, delta)
        if factors is not None:
            whole = [*factors, *(only_in(n, 0) for n in range(len(in_view)) if n not in {a.position for a in own})]
            return product(view.shape, known.shape, whole, out_view, in_view)
    return _from_addresses(view, known, axes, delta)


def _axes_by_step(known: Layout) -> list[_Axis] | None:
    """Return the axes that have more than one cell, the largest step first; None if cells overlap."""
    found = [
        _Axis(n, side, abs(step), step < 0)
        for n, (side, step) in enumerate(zip(known.shape, known.strides, strict=True))
        if side > 1
    ]
    found.sort(key=lambda axis: -axis.step)
    reach = known.itemsize
    for axis in reversed(found):
        if axis.step < reach:
            return None
        reach += axis.step * (axis.side - 1)
    return found


def _forms(view: Layout, known: Layout, axes: list[_Axis]) -> Iterator[tuple[Shape, Shape, Shape, list[_Axis]]]:
    """Yield equivalent shapes for the same cells in the same order: (view's, known's, view's steps, known's axes)."""
    yield view.shape, known.shape, view.strides, axes
    size = math.prod(known.shape)
    item = known.itemsize
    if not _is_row_major(known):
        return
    sides, steps = _merged_axes(view.shape, view.strides)
    yield sides, (size,), steps, [_Axis(0, size, item, False)] if size > 1 else []
    radix = _radix(size * item, item, steps, sides)
    if radix is not None:
        places = [math.prod(radix[n + 1 :]) * item for n in range(len(radix))]
        own = [_Axis(n, side, places[n], False) for n, side in enumerate(radix) if side > 1]
        yield sides, radix, steps, own


def _is_row_major(layout: Layout) -> bool:
    """Whether the array is contiguous in row-major order."""
    expected = layout.itemsize
    for side, step in zip(reversed(layout.shape), reversed(layout.strides), strict=True):
        if side > 1 and step != expected:
            return False
        expected *= side
    return True


def _merged_axes(shape: Shape, strides: Shape) -> tuple[Shape, Shape]:
    """Merge neighbouring axes if the second continues the first."""
    sides: list[int] = []
    steps: list[int] = []
    for side, step in zip(shape, strides, strict=True):
        if side == 1 and sides:
            continue
        if sides and (steps[-1] == side * step or sides[-1] == 1):
            sides[-1], steps[-1] = sides[-1] * side, step
        else:
            sides.append(side)
            steps.append(step)
    return tuple(sides), tuple(steps)


def _radix(size: int, item: int, steps: Shape, sides: Shape) -> Shape | None:
    """Return the lengths of axes that have the steps of a view, if each step divides the next larger one."""
    wanted = sorted({abs(step) for step, side in zip(steps, sides, strict=True) if side > 1 and step} | {item})
    lengths: list[int] = []
    above = size
    for step in reversed(wanted):
        if above % step:
            return None
        lengths.append(above // step)
        above = step
    return tuple(lengths)


def _factors_of_view(sides: Shape, steps: Shape, axes: list[_Axis], delta: int) -> list[Factor] | None:
    """Return the relation as factors, if each axis of the known array follows at most one axis of the view; else
    None.
    """
    start = _digits(delta, axes)
    if start is None:
        return None
    along: list[list[tuple[int, int]]] = [[] for _ in axes]  # for each known axis: (axis of the view, its step)
    for k, (side, step) in enumerate(zip(sides, steps, strict=True)):
        if side > 1 and step:
            moves = _digits(abs(step), axes)
            if moves is None:
                return None
            for n, move in enumerate(moves):
                if move:
                    along[n].append((k, move if step > 0 else -move))
    children: dict[int, list[tuple[int, int, int]]] = {}
    factors: list[Factor] = []
    for axis, first, moving in zip(axes, start, along, strict=True):
        if len(moving) > 1:
            return None
        k, move = moving[0] if moving else (-1, 0)
        last = first + move * (sides[k] - 1) if moving else first
        if not (0 <= first < axis.side and 0 <= last < axis.side):
            return None
        if axis.flipped:
            first, move = axis.side - 1 - first, -move
        if moving:
            children.setdefault(k, []).append((axis.position, first, move))
        else:
            factors.append(only_in(axis.position, first))
    for k, side in enumerate(sides):
        if k in children:
            under = [(first, first, 0, move, move) for _, first, move in children[k]]
            factors.append(factor([k], [position for position, _, _ in children[k]], [row((0, side - 1), *under)]))
        else:
            factors.append(whole_out(k, side))
    return factors


def _digits(distance: int, axes: list[_Axis]) -> list[int] | None:
    """Return how many steps along each axis make up a distance; None if it is not a sum of steps."""
    found = []
    for axis in axes:
        digit, distance = divmod(distance, axis.step)
        found.append(digit)
    return None if distance else found


def _from_addresses(view: Layout, known: Layout, axes: list[_Axis], delta: int) -> Relation | None:
    if math.prod(view.shape) > MOST_CELLS:
        return None
    left = np.full(view.shape, delta, np.int64)
    for k, (side, step) in enumerate(zip(view.shape, view.strides, strict=True)):
        left += (np.arange(side, dtype=np.int64) * step).reshape([-1 if i == k else 1 for i in range(len(view.shape))])
    cells = np.zeros(view.shape, np.int64)
    for axis in axes:
        index, left = np.divmod(left, axis.step)
        if (index >= axis.side).any():
            return None
        cells += (axis.side - 1 - index if axis.flipped else index) * math.prod(known.shape[axis.position + 1 :])
    return None if left.any() else moved(cells, known.shape)
