"""Rules for functions that reshape, repeat, roll, pad, take triangles of, or delete parts of an array."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from whence.arrays.rules._layouts import axes_read, order_of
from whence.arrays.rules._rows import (
    Factor,
    Shape,
    affine,
    factor,
    gathered,
    moved,
    numbered,
    only_in,
    pieces,
    placed,
    product,
    repeated,
    row,
    whole_out,
)
from whence.arrays.rules._rules import Link, Links, axis_of, rule, shape
from whence.relation import Relation
from whence.relation.codec import Part


def reshaped(in_shape: Shape, out_shape: Shape) -> Relation:
    """The same cells in row-major order: one row over flat views of both sides.

    >>> reshaped((4, 6), (3, 8)).backward([(1, 0)])
    Selection(shape=(4, 6), 1 cell: [1, 2])
    """
    size = math.prod(in_shape)
    if in_shape == out_shape:
        return Relation.identity(in_shape)
    return product(out_shape, in_shape, [affine(0, 0, size)], (size,), (size,))


@rule("reshape")
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: Any = None) -> Links:
    """Row-major by two flat views; column-major by transposing both sides."""
    before = tuple(np.shape(a)) if not hasattr(a, "shape") else tuple(a.shape)
    after = np.broadcast_to(np.zeros(()), before).reshape(shape).shape if 0 in before else _resolved(before, shape)
    if (letter := order_of(order)) == "C" or (letter == "A" and not (hasattr(a, "flags") and a.flags.fnc)):
        return [Link(a, reshaped(before, after))]
    if letter not in ("A", "F"):
        raise TypeError(f"the order {order!r}")
    swapped = reshaped(before[::-1], after[::-1])
    return [Link(a, _transposed(after[::-1]).compose(swapped).compose(_transposed(before)))]


def _transposed(in_shape: Shape, axes: tuple[int, ...] | None = None) -> Relation:
    order = tuple(reversed(range(len(in_shape)))) if axes is None else axes
    out_shape = tuple(in_shape[axis] for axis in order)
    return product(out_shape, in_shape, [affine(i, axis, in_shape[axis]) for i, axis in enumerate(order)])


def _resolved(before: Shape, after: Any) -> Shape:
    sides = [int(side) for side in after] if isinstance(after, (tuple, list)) else [int(after)]
    if -1 in sides:
        sides[sides.index(-1)] = math.prod(before) // math.prod(side for side in sides if side != -1)
    return tuple(sides)


@rule("ravel")
def ravel(a: Any, order: str = "C") -> Links:
    """The flat array; the orders A and K depend on the memory layout."""
    size, letter = (math.prod(shape(a)),), order_of(order)
    if letter in ("C", "F") or not hasattr(a, "strides"):
        return reshape(a, size, letter if letter in ("C", "F") else "C")
    turned = _transposed(shape(a), axes_read(a, letter))
    return [Link(a, reshaped(turned.out_shape, size).compose(turned))]


@rule("repeat")
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Links:
    """Each cell is repeated; an array gives a separate count for each."""
    in_shape = shape(a)
    view = (math.prod(in_shape),) if axis is None else in_shape
    at = 0 if axis is None else axis_of(axis, len(in_shape))
    side = view[at]
    counts = np.asarray(repeats)
    if counts.size == 1:
        times = int(counts.reshape(()))
        one, total = repeated(at, at, side, times), side * times
    else:
        indices = np.repeat(np.arange(side), counts)
        one, total = gathered(at, at, indices, side), len(indices)
    out_shape = (*view[:at], total, *view[at + 1 :])
    factors = [one if i == at else affine(i, i, n) for i, n in enumerate(view)]
    return [Link(a, product(out_shape, in_shape, factors, in_view=view))]


@rule("tile")
def tile(A: Any, reps: Any) -> Links:
    """The array next to itself: each axis is split into (repeats, side)."""
    times = tuple(int(r) for r in np.atleast_1d(np.asarray(reps)))
    in_shape = shape(A)
    rank = max(len(times), len(in_shape))
    times = (1,) * (rank - len(times)) + times
    sides = (1,) * (rank - len(in_shape)) + in_shape
    out_shape = tuple(t * s for t, s in zip(times, sides, strict=True))
    view = tuple(itertools.chain.from_iterable(zip(times, sides, strict=True)))
    factors: list[Factor] = []
    for i, (t, s) in enumerate(zip(times, sides, strict=True)):
        factors += [whole_out(2 * i, t), affine(2 * i + 1, i, s)]
    return [Link(A, product(out_shape, in_shape, factors, view, sides))]


@rule("roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Links:
    """Two ranges for each axis: the cells that move up, and those that wrap around."""
    in_shape = shape(a)
    if axis is None:
        size = math.prod(in_shape)
        whole = _rolled_axis(0, size, int(np.sum(shift)))
        return [Link(a, product(in_shape, in_shape, [whole], (size,), (size,)))]
    totals: dict[int, int] = {}
    for s, at in np.broadcast(shift, axis):
        position = axis_of(int(at), len(in_shape))
        totals[position] = totals.get(position, 0) + int(s)
    factors = [
        _rolled_axis(i, side, totals[i]) if i in totals else affine(i, i, side) for i, side in enumerate(in_shape)
    ]
    return [Link(a, product(in_shape, in_shape, factors))]


def _rolled_axis(at: int, side: int, shift: int) -> Factor:
    shift = shift % side if side else 0
    return pieces(at, at, [(0, shift - 1, side - shift, 1), (shift, side - 1, 0, 1)])


@rule("pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Links:
    """The array in the middle; the padding comes from nothing, from the edge, or from other cells of the array."""
    in_shape = shape(array)
    widths = _pad_widths(pad_width, len(in_shape))
    out_shape = tuple(side + before + after for side, (before, after) in zip(in_shape, widths, strict=True))
    if mode in ("constant", "empty"):
        factors = [placed(i, i, side, widths[i][0]) for i, side in enumerate(in_shape)]
    elif mode in ("edge", "wrap", "reflect", "symmetric") and options.get("reflect_type", "even") == "even":
        factors = [_padded(i, side, widths[i], mode) for i, side in enumerate(in_shape)]
    else:
        raise TypeError(f"padding with mode {mode!r}")
    links = [Link(array, product(out_shape, in_shape, factors))]
    if mode == "constant" and hasattr(around := options.get("constant_values"), "shape"):
        links.append(Link(around, _padding_from(in_shape, widths, shape(around))))
    return links


def _padding_from(in_shape: Shape, widths: list[tuple[int, int]], constants: Shape) -> Relation:
    """Return the relation to the constants; np.pad decides, because at corners the last axis wins."""
    each = np.broadcast_to(numbered(constants), (len(in_shape), 2))
    return moved(np.pad(np.full(in_shape, -1), widths, constant_values=each), constants)


def _pad_widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        found = [(0, 0)] * rank
        for axis, each in pad_width.items():
            found[axis_of(axis, rank)] = (each, each) if isinstance(each, int) else (each[0], each[1])
        return found
    return [(int(b), int(a)) for b, a in np.broadcast_to(np.asarray(pad_width), (rank, 2))]


def _padded(at: int, side: int, width: tuple[int, int], mode: Any) -> Factor:
    before, after = width
    if mode == "edge":
        ends = [row((0, before - 1), (0, 0)), row((before + side, before + side + after - 1), (side - 1, side - 1))]
        return factor([at], [at], [row((before, before + side - 1), (-before, -before, 0, 1, 1)), *ends])
    indices = np.pad(np.arange(side), width, mode=mode)
    return gathered(at, at, indices, side)


@rule("diag")
def diag(v: Any, k: int = 0) -> Links:
    """A matrix's diagonal, or a vector on the diagonal of a matrix, where both output axes follow the input."""
    in_shape = shape(v)
    if len(in_shape) == 2:
        from whence.arrays.rules.views import viewed

        return [Link(v, viewed(in_shape, lambda x: np.diagonal(x, k)))]
    return [Link(v, _on_diagonal(in_shape, in_shape[0], k))]


@rule("diagflat")
def diagflat(v: Any, k: int = 0) -> Links:
    """A flat array on the diagonal of a matrix."""
    return [Link(v, _on_diagonal(shape(v), math.prod(shape(v)), k))]


def _on_diagonal(in_shape: Shape, side: int, k: int) -> Relation:
    down, right = max(-k, 0), max(k, 0)
    tied = row((down, down, 2, 1, 1), (right, right, 2, 1, 1), (0, side - 1))
    full = side + abs(k)
    return product((full, full), in_shape, [factor([0, 1], [0], [tied])], in_view=(side,))


@rule("tril")
def tril(m: Any, k: int = 0) -> Links:
    """The remaining cells come from themselves, the zeros from nothing."""
    return [Link(m, _triangle_kept(shape(m), k, lower=True))]


@rule("triu")
def triu(m: Any, k: int = 0) -> Links:
    """The remaining cells come from themselves, the zeros from nothing."""
    return [Link(m, _triangle_kept(shape(m), k, lower=False))]


def _triangle_kept(in_shape: Shape, k: int, *, lower: bool) -> Relation:
    if len(in_shape) < 2:  # NumPy repeats a vector as each row of a square
        side = in_shape[0]
        square = (side, side)
        spread = product(square, in_shape, [whole_out(0, side), affine(1, 0, side)])
        return _triangle_kept(square, k, lower=lower).compose(spread)
    *batch, rows, columns = in_shape
    n = len(batch)
    factors = [affine(i, i, side) for i, side in enumerate(batch)]
    same = ((0, 0, 0, 1, 1), (0, 0, 1, 1, 1))
    made: list[Part | None] = []
    if lower:  # column <= row + k: from row -k on, and all columns from row columns - 1 - k on
        full = min(max(columns - 1 - k, 0), rows)
        made = [
            row((max(-k, 0), full - 1), (0, k, 0, 0, 1), *same) if max(-k, 0) < full else None,
            row((max(full, -k), rows - 1), (0, columns - 1), *same),
        ]
    else:  # column >= row + k: up to row columns - 1 - k, and all columns up to row -k
        every = min(max(-k + 1, 0), rows)
        last = min(columns - 1 - k, rows - 1)
        made = [
            row((0, min(every - 1, last)), (0, columns - 1), *same),
            row((every, last), (k, columns - 1, 0, 1, 0), *same),
        ]
    factors.append(factor([n, n + 1], [n, n + 1], made))
    return product(in_shape, in_shape, factors)


@rule("resize")
def resize(a: Any, new_shape: Any) -> Links:
    """The flat array, repeated until the shape is full."""
    in_shape, size = shape(a), math.prod(shape(a))
    out_shape = tuple(int(side) for side in np.atleast_1d(new_shape))
    total = math.prod(out_shape)
    if size == 0 or total == 0:
        return [Link(a, Relation.empty(out_shape, in_shape))]
    rounds = [(first, min(first + size, total) - 1, 0, 1) for first in range(0, total, size)]
    if total % size == 0 and len(rounds) > 1:
        factors = [whole_out(0, len(rounds)), affine(1, 0, size)]
        return [Link(a, product(out_shape, in_shape, factors, (len(rounds), size), (size,)))]
    return [Link(a, product(out_shape, in_shape, [pieces(0, 0, rounds)], (total,), (size,)))]


@rule("take")
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Links:
    """Cells selected by an array of indices."""
    in_shape, chosen = shape(a), np.asarray(indices)
    view = (math.prod(in_shape),) if axis is None else in_shape
    at = 0 if axis is None else axis_of(axis, len(in_shape))
    picked = np.take(np.arange(view[at]), chosen, mode=mode)  # type: ignore[call-overload] # any string
    return [Link(a, _picked(in_shape, view, at, picked))]


def _picked(in_shape: Shape, view: Shape, at: int, picked: Any) -> Relation:
    """Return the relation of a[..., picked, ...] along one axis of a view of the input."""
    flat = picked.ravel()
    middle = (*view[:at], len(flat), *view[at + 1 :])
    out_shape = (*view[:at], *picked.shape, *view[at + 1 :])
    if 0 in out_shape:
        return Relation.empty(out_shape, in_shape)
    if len(flat) == 1:
        one = [whole_out(at, 1), only_in(at, int(flat[0]))]
    else:
        one = [gathered(at, at, flat, view[at])]
    factors = [*one, *(affine(i, i, side) for i, side in enumerate(view) if i != at)]
    return product(out_shape, in_shape, factors, middle, view)


@rule("compress")
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Links:
    """Cells selected by a mask."""
    return take(a, np.flatnonzero(condition), axis)


@rule("delete")
def delete(arr: Any, obj: Any, axis: int | None = None) -> Links:
    """The remaining cells, in order."""
    in_shape = shape(arr)
    view = (math.prod(in_shape),) if axis is None else in_shape
    at = 0 if axis is None else axis_of(axis, len(in_shape))
    left = np.delete(np.arange(view[at]), obj)
    return [Link(arr, _picked(in_shape, view, at, left))]


@rule("trim_zeros", values=True)
def trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> Links:
    """Which cells remain depends on the values."""
    from whence.arrays.rules.views import viewed

    at = numbered(shape(filt))
    kept = np.trim_zeros(np.asarray(filt), trim, axis)
    if 0 in kept.shape:
        return [Link(filt, Relation.empty(kept.shape, shape(filt)))]
    nonzero = np.argwhere(np.asarray(filt))
    first = nonzero.min(axis=0) if "f" in trim.lower() else np.zeros(at.ndim, int)
    if axis is not None:
        axes = np.lib.array_utils.normalize_axis_tuple(axis, at.ndim)
        first = np.array([f if i in axes else 0 for i, f in enumerate(first)])
    key = tuple(slice(int(f), int(f) + n) for f, n in zip(first, kept.shape, strict=True))
    return [
        Link(filt, viewed(shape(filt), lambda x: x[key])),
        Link(filt, Relation.whole(kept.shape, shape(filt)), "selection"),
    ]


@rule("insert")
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Links:
    """Insert flat indices with NumPy to see where the cells of both arrays go: that depends only on the indices."""
    in_shape, size = shape(arr), math.prod(shape(arr))
    new = numbered(shape(values)) + size
    placed_all = np.insert(numbered(in_shape), obj, new, axis)
    links = [Link(arr, moved(np.where(placed_all < size, placed_all, -1), in_shape))]
    if hasattr(values, "shape") or isinstance(values, (list, tuple)):
        links.append(Link(values, moved(np.where(placed_all >= size, placed_all - size, -1), shape(values))))
    return links
