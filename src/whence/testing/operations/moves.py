"""Operations whose output cells come from at most one input cell each: rearrange, repeat, cut, place."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._raw import Ints, Raw, Shape, moved, numbered

Key = int | slice | EllipsisType | None
PadMode = Literal["constant", "edge", "reflect", "symmetric", "wrap"]


def _placed(sources_plus_one: Any, in_shape: Shape) -> Raw:
    # Numbers start at one, so that a zero that NumPy fills in means "from no cell".
    placed: Ints = np.asarray(sources_plus_one, np.int64) - 1
    return moved(placed, in_shape)


def negative(shape: Shape) -> Raw:
    """Any element-wise function of one array.

    >>> negative((2,)).tuples.tolist()
    [[0, 0], [1, 1]]
    """
    return moved(numbered(shape), shape)


def broadcast(shape: Shape, out_shape: Shape) -> Raw:
    """`np.broadcast_to`; also one operand of `a + b`, if the other has the shape that they broadcast to."""
    return moved(np.broadcast_to(numbered(shape), out_shape), shape)


def add(shape: Shape, other: Shape) -> Raw:
    """The left operand of `a + b`, with broadcasting.

    >>> add((3, 1), (2,)).tuples.tolist()[:3]
    [[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0]]
    """
    return broadcast(shape, np.broadcast_shapes(shape, other))


def meshgrid(shape: Shape, sides: Sequence[int], position: int) -> Raw:
    """The grid at `position` of `np.meshgrid(..., indexing="ij")`, where the 1-d array of this shape is."""
    axes = [np.zeros(side, np.int64) for side in sides]
    axes.insert(position, numbered(shape))
    return moved(np.meshgrid(*axes, indexing="ij")[position], shape)


def flip(shape: Shape, axis: int | tuple[int, ...] | None = None) -> Raw:
    """`np.flip`.

    >>> flip((3,)).tuples.tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    return moved(np.flip(numbered(shape), axis), shape)


def rot90(shape: Shape, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Raw:
    """`np.rot90`."""
    return moved(np.rot90(numbered(shape), k, axes), shape)


def sliced(shape: Shape, *key: Key) -> Raw:
    """Basic indexing, `a[key]`: integers, slices with any step, `...` and `None`.

    >>> sliced((6,), slice(None, None, -2)).tuples.tolist()
    [[0, 5], [1, 3], [2, 1]]
    """
    return moved(np.asarray(numbered(shape)[key], np.int64), shape)


def assigned(shape: Shape, out_shape: Shape, *key: Key) -> Raw:
    """`out[key] = a`: the cells of `out` that come from `a`, which is broadcast over the key's cells."""
    sources = np.full(out_shape, -1, np.int64)
    sources[key] = numbered(shape)
    return moved(sources, shape)


def transpose(shape: Shape, axes: Sequence[int] | None = None) -> Raw:
    """`np.transpose`, any rank."""
    return moved(numbered(shape).transpose(axes), shape)


def reshape(shape: Shape, out_shape: Shape, order: Literal["C", "F"] = "C") -> Raw:
    """`np.reshape`; ravel is `reshape(shape, (size,))`.

    >>> reshape((2, 3), (3, 2)).tuples.tolist()[2]
    [1, 0, 0, 2]
    """
    return moved(numbered(shape).reshape(out_shape, order=order), shape)


def transpose_reshape(shape: Shape, axes: Sequence[int], out_shape: Shape) -> Raw:
    """`a.transpose(axes).reshape(out_shape)`, which is neither a transpose nor a reshape alone."""
    return moved(numbered(shape).transpose(axes).reshape(out_shape), shape)


def roll(shape: Shape, shift: int, axis: int | None = None) -> Raw:
    """`np.roll`."""
    return moved(np.roll(numbered(shape), shift, axis), shape)


def tile(shape: Shape, reps: int | Sequence[int]) -> Raw:
    """`np.tile`."""
    return moved(np.tile(numbered(shape), reps), shape)


def repeat(shape: Shape, repeats: int, axis: int | None = None) -> Raw:
    """`np.repeat`.

    >>> repeat((2,), 2).tuples.tolist()
    [[0, 0], [1, 0], [2, 1], [3, 1]]
    """
    return moved(np.repeat(numbered(shape), repeats, axis), shape)


def upsample(shape: Shape, block: Sequence[int]) -> Raw:
    """Each cell becomes a block of cells: the left operand of `np.kron(a, np.ones(block))`."""
    return _placed(np.kron(numbered(shape) + 1, np.ones(tuple(block), np.int64)), shape)


def kron_left(shape: Shape, other: Shape) -> Raw:
    """The left operand of `np.kron(a, b)`."""
    return _placed(np.kron(numbered(shape) + 1, np.ones(other, np.int64)), shape)


def kron_right(shape: Shape, other: Shape) -> Raw:
    """The right operand of `np.kron(b, a)`."""
    return _placed(np.kron(np.ones(other, np.int64), numbered(shape) + 1), shape)


def outer_left(shape: Shape, other: int) -> Raw:
    """The left operand of `np.outer(a, b)`, b of `other` cells."""
    return _placed(np.outer(numbered(shape) + 1, np.ones(other, np.int64)), shape)


def outer_right(shape: Shape, other: int) -> Raw:
    """The right operand of `np.outer(b, a)`, b of `other` cells."""
    return _placed(np.outer(np.ones(other, np.int64), numbered(shape) + 1), shape)


def diag_extract(shape: Shape, k: int = 0) -> Raw:
    """`np.diagonal` of a matrix: a relation between two axes that must not become a square.

    >>> diag_extract((3, 3)).tuples.tolist()
    [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    """
    return moved(np.diagonal(numbered(shape), k), shape)


def diag_construct(shape: Shape, k: int = 0) -> Raw:
    """`np.diag` of a vector: a matrix with the vector on its k-th diagonal."""
    return _placed(np.diag(numbered(shape) + 1, k), shape)


def tril(shape: Shape, k: int = 0) -> Raw:
    """`np.tril`: the kept cells come from themselves, the zeros from no cell.

    >>> tril((2, 2)).tuples.tolist()
    [[0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]]
    """
    return _placed(np.tril(numbered(shape) + 1, k), shape)


def triu(shape: Shape, k: int = 0) -> Raw:
    """`np.triu`."""
    return _placed(np.triu(numbered(shape) + 1, k), shape)


def pad(shape: Shape, width: Any, mode: PadMode = "constant") -> Raw:
    """`np.pad`, in every mode that copies cells; with "constant", the border comes from no cell.

    >>> pad((3,), 1, "reflect").tuples.tolist()
    [[0, 1], [1, 0], [2, 1], [3, 2], [4, 1]]
    """
    return _placed(np.pad(numbered(shape) + 1, width, mode=mode), shape)


def concatenate(shape: Shape, axis: int, before: int, after: int) -> Raw:
    """One piece of `np.concatenate`, with this many cells of other pieces before and after it on the axis.

    >>> concatenate((2,), 0, 3, 1).tuples.tolist()
    [[3, 0], [4, 1]]
    """
    sides = list(shape)

    def other(side: int) -> Ints:
        sides[axis] = side
        return np.zeros(sides, np.int64)

    return _placed(np.concatenate([other(before), numbered(shape) + 1, other(after)], axis), shape)


def stack(shape: Shape, axis: int, position: int, count: int) -> Raw:
    """The piece at `position` of `np.stack` of `count` arrays."""
    pieces = [np.zeros(shape, np.int64) for _ in range(count)]
    pieces[position] = numbered(shape) + 1
    return _placed(np.stack(pieces, axis), shape)


def take(shape: Shape, indices: ArrayLike, axis: int | None = None) -> Raw:
    """`np.take`, with given indices in any order and number."""
    return moved(np.take(numbered(shape), np.asarray(indices, np.intp), axis), shape)


def fancy(shape: Shape, *indices: ArrayLike) -> Raw:
    """Integer array indexing, `a[rows, columns]`."""
    return moved(numbered(shape)[tuple(np.asarray(index, np.intp) for index in indices)], shape)


def one_hot(shape: Shape, classes: int) -> Raw:
    """`a[..., None] == np.arange(classes)`: each code determines a lane of flags."""
    return moved(np.broadcast_to(numbered(shape)[..., None], (*shape, classes)), shape)
