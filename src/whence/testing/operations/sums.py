"""Operations whose output cells come from many input cells: reductions, products, windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from ._raw import Ints, Raw, Shape, along, linked, numbered


def sum_over(shape: Shape, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Raw:
    """`np.sum`, and any other reduction that reads every cell.

    >>> sum_over((2, 2), axis=1).tuples.tolist()
    [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    """
    empty = np.empty(shape, np.bool_)
    out_shape = np.shape(empty.sum(axis=axis, keepdims=keepdims))
    kept = numbered(np.shape(empty.sum(axis=axis, keepdims=True)))
    return linked(np.broadcast_to(kept, shape), numbered(shape), out_shape, shape)


def all_to_all(shape: Shape, out_shape: Shape) -> Raw:
    """Every output cell comes from every input cell: an FFT, a softmax over the whole array, an artifact."""
    outputs, inputs = numbered(out_shape).ravel(), numbered(shape).ravel()
    return linked(np.repeat(outputs, len(inputs)), np.tile(inputs, len(outputs)), out_shape, shape)


def nothing(shape: Shape, out_shape: Shape) -> Raw:
    """No cell comes from any cell: `np.zeros_like`."""
    return linked([], [], out_shape, shape)


def cumsum(shape: Shape, axis: int = 0) -> Raw:
    """`np.cumsum`: a triangle in every lane.

    >>> cumsum((3,)).tuples.tolist()
    [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2]]
    """
    side = shape[axis]
    return along(shape, axis, side, *np.tril_indices(side))


def diff(shape: Shape, axis: int = -1) -> Raw:
    """`np.diff`: each cell from two neighbours."""
    side = max(shape[axis] - 1, 0)
    here = np.arange(side)
    return along(shape, axis, side, np.concatenate([here, here]), np.concatenate([here, here + 1]))


def gradient(shape: Shape, axis: int = 0) -> Raw:
    """`np.gradient` along one axis: both neighbours inside, the cell and its neighbour at either end."""
    side = shape[axis]
    inner = np.arange(1, side - 1)
    targets = np.concatenate([[0, 0], inner, inner, [side - 1, side - 1]])
    return along(shape, axis, side, targets, np.concatenate([[0, 1], inner - 1, inner + 1, [side - 2, side - 1]]))


def convolve(shape: Shape, taps: int, mode: Literal["full", "same", "valid"] = "full") -> Raw:
    """`np.convolve` of a vector with a kernel of `taps` non-zero weights: a window, shortened at the edges.

    >>> convolve((3,), 2).tuples.tolist()
    [[0, 0], [1, 0], [1, 1], [2, 1], [2, 2], [3, 2]]
    """
    one_based = numbered(shape) + 1
    # Convolving with the k-th unit vector shows the source that the k-th weight multiplies.
    seen = [np.convolve(one_based, unit, mode) - 1 for unit in np.eye(taps, dtype=np.int64)]
    sources = np.stack(seen, axis=-1)
    targets = np.broadcast_to(np.arange(len(sources))[:, None], sources.shape)
    inside = sources >= 0
    return linked(targets[inside], sources[inside], (len(sources),), shape)


def convolve_nd(shape: Shape, kernel: Sequence[int], mode: Literal["full", "same", "valid"] = "same") -> Raw:
    """A window of the kernel's shape over every axis, padded with zeros: image filters with any number of axes."""
    pads = {
        "full": [(side - 1, side - 1) for side in kernel],
        "same": [(side // 2, side - 1 - side // 2) for side in kernel],
        "valid": [(0, 0) for _ in kernel],
    }[mode]
    padded = np.pad(numbered(shape) + 1, pads)
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(kernel)) - 1
    out_shape = windows.shape[: len(shape)]
    targets = np.broadcast_to(numbered(out_shape).reshape(out_shape + (1,) * len(kernel)), windows.shape)
    inside = windows >= 0
    return linked(targets[inside], windows[inside], out_shape, shape)


def pool(shape: Shape, block: Sequence[int]) -> Raw:
    """Block pooling: each output cell comes from one block of the input; a remainder at the end is dropped.

    >>> pool((5,), (2,)).tuples.tolist()
    [[0, 0], [0, 1], [1, 2], [1, 3]]
    """
    out_shape = tuple(side // step for side, step in zip(shape, block, strict=True))
    sources = numbered(shape)[tuple(slice(side * step) for side, step in zip(out_shape, block, strict=True))]
    targets = np.kron(numbered(out_shape), np.ones(tuple(block), np.int64))
    return linked(targets, sources, out_shape, shape)


def matmul_left(shape: Shape, columns: int) -> Raw:
    """The left operand of `a @ b`, where b has that many columns; leading axes are a batch.

    >>> matmul_left((1, 2), 2).tuples.tolist()
    [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 1]]
    """
    out_shape = (*shape[:-1], columns)
    return _contracted(numbered(out_shape)[..., None], numbered(shape)[..., None, :], out_shape, shape)


def matmul_right(shape: Shape, rows: int) -> Raw:
    """The right operand of `b @ a`, where b has that many rows; leading axes are a batch.

    >>> matmul_right((2, 1), 2).tuples.tolist()
    [[0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [1, 0, 1, 0]]
    """
    out_shape = (*shape[:-2], rows, shape[-1])
    sources = np.swapaxes(numbered(shape), -1, -2)[..., None, :, :]
    return _contracted(numbered(out_shape)[..., None], sources, out_shape, shape)


def matvec(shape: Shape) -> Raw:
    """The matrix of `a @ v`."""
    return sum_over(shape, axis=-1)


def matvec_vector(shape: Shape, rows: int) -> Raw:
    """The vector of `m @ v`, where m has that many rows."""
    return all_to_all(shape, (rows,))


def _contracted(targets: Ints, sources: Ints, out_shape: Shape, in_shape: Shape) -> Raw:
    both = np.broadcast_shapes(targets.shape, sources.shape)
    return linked(np.broadcast_to(targets, both), np.broadcast_to(sources, both), out_shape, in_shape)


def matmul_left_chunks(shape: Shape, columns: int, rows: int) -> Iterator[Ints]:
    """Yield the sorted tuples of `matmul_left` of a matrix, `rows` rows at a time: 1000^3 do not fit into memory.

    >>> import numpy as np
    >>> bool(np.array_equal(np.concatenate(list(matmul_left_chunks((5, 2), 3, 2))), matmul_left((5, 2), 3).tuples))
    True
    """
    height, inner = shape
    for start in range(0, height, rows):
        chunk = matmul_left((min(rows, height - start), inner), columns).tuples
        chunk[:, [0, 2]] += start
        yield chunk


def matmul_right_chunks(shape: Shape, height: int, rows: int) -> Iterator[Ints]:
    """Yield the sorted tuples of `matmul_right` of a matrix, `rows` rows of the output at a time."""
    for start in range(0, height, rows):
        chunk = matmul_right(shape, min(rows, height - start)).tuples
        chunk[:, 0] += start
        yield chunk
