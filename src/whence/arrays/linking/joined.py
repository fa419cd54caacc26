"""Recognise arrays that were concatenated or stacked from known ones, by content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.linking.layout import Shape
from whence.arrays.rules._rows import Factor, affine, factor, placed, product, row
from whence.relation import Relation

Known = Callable[[NDArray[Any]], tuple[Any, Relation] | None]

MOST_LENGTHS = 8  # the most different lengths that are tried at each offset
MOST_PIECES = 4096


def joined(array: NDArray[Any], known: Known, shapes: Iterable[Shape]) -> tuple[tuple[Any, Relation], ...]:
    """Return the known arrays that an array was joined from, each with its relation; nothing if any piece is unknown.

    `known` returns the only known array with the content of a piece, and the relation of the piece to it; `shapes` are
    the shapes of known arrays.
    """
    every = set(shapes)
    for axis in range(array.ndim):
        rest = array.shape[:axis] + array.shape[axis + 1 :]
        found = _as_stack(array, axis, known) if rest in every else None
        if found is None:
            fitting = {s[axis] for s in every if len(s) == array.ndim and s[:axis] + s[axis + 1 :] == rest}
            lengths = sorted((n for n in fitting if 0 < n < array.shape[axis]), reverse=True)
            found = _as_concatenation(array, axis, known, lengths) if 0 < len(lengths) <= MOST_LENGTHS else None
        if found is not None:
            return tuple(found)
    return ()


def _as_stack(array: NDArray[Any], axis: int, known: Known) -> list[tuple[Any, Relation]] | None:
    if array.shape[axis] > MOST_PIECES:
        return None
    found = []
    for n in range(array.shape[axis]):
        piece = np.ascontiguousarray(np.take(array, n, axis))
        seen = known(piece)
        if seen is None:
            return None
        factors: list[Factor] = [factor([axis], [], [row((n, n))])]
        factors += [affine(k + (k >= axis), k, side) for k, side in enumerate(piece.shape)]
        found.append((seen[0], product(array.shape, piece.shape, factors).compose(seen[1])))
    return found


def _as_concatenation(
    array: NDArray[Any], axis: int, known: Known, lengths: list[int]
) -> list[tuple[Any, Relation]] | None:
    found = []
    at = 0
    while at < array.shape[axis]:
        for length in lengths:
            piece = array[(slice(None),) * axis + (slice(at, at + length),)]
            seen = known(np.ascontiguousarray(piece)) if piece.shape[axis] == length else None
            if seen is not None:
                factors = [
                    placed(k, k, length, at) if k == axis else affine(k, k, side) for k, side in enumerate(piece.shape)
                ]
                found.append((seen[0], product(array.shape, piece.shape, factors).compose(seen[1])))
                at += length
                break
        else:
            return None
        if len(found) > MOST_PIECES:
            return None
    return found
