"""Functions of arrays, each with the same function on an array of sets: the source cells of each cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Sets = np.ndarray[Any, Any]  # frozensets, in the shape of the array


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a two-dimensional array, and the same function on its sets, which may also use the values."""

    run: Callable[[Any], Any]
    sets: Callable[[Sets, Any], Sets]
    least: int = 1  # the rows that it needs


def cells_of(shape: tuple[int, ...]) -> Sets:
    """Return an array of that shape in which each cell contains itself.

    >>> cells_of((1, 2)).tolist()
    [[frozenset({(0, 0)}), frozenset({(0, 1)})]]
    """
    made = np.empty(shape, object)
    for cell in np.ndindex(*shape):
        made[cell] = frozenset([cell])
    return made


def together(sets: Sets, axis: int) -> Sets:
    """Return the union along an axis, which remains with length one."""
    lanes = np.moveaxis(sets, axis, -1)
    made = np.empty(lanes.shape[:-1], object)
    for cell in np.ndindex(*made.shape):
        made[cell] = frozenset().union(*lanes[cell])
    return np.expand_dims(made, axis)


def both(a: Sets, b: Sets) -> Sets:
    """The union of two arrays of sets, cell by cell."""
    a, b = np.broadcast_arrays(a, b)
    made = np.empty(a.shape, object)
    for cell in np.ndindex(*a.shape):
        made[cell] = a[cell] | b[cell]
    return made


def _running(sets: Sets, _: Any) -> Sets:
    made = sets.copy()
    for row in range(1, len(made)):
        made[row : row + 1] = both(made[row - 1 : row], made[row : row + 1])
    return made


def _kept(sets: Sets, values: Any) -> Sets:
    made = sets.copy()
    for cell in np.ndindex(*made.shape):
        made[cell] = made[cell] if values[cell] > 1 else frozenset()
    return made


def _weights(width: int) -> Any:
    return np.arange(1.0, 2 * width + 1).reshape(width, 2)


def _with_first_row_last(values: Any) -> Any:
    made = values.copy()
    made[0] = values[-1]
    return made


def _as_sets(function: Callable[[Any], Any]) -> Callable[[Sets, Any], Sets]:
    """A function that only moves cells does the same to sets."""
    return lambda sets, _: function(sets)


def _moving(function: Callable[[Any], Any], least: int = 1) -> Function:
    return Function(function, _as_sets(function), least)


FUNCTIONS = {
    "element-wise": Function(lambda x: x * 2 + 1, lambda sets, _: sets, 0),
    "two calls": Function(lambda x: np.abs(x) - np.minimum(x, 2.0), lambda sets, _: sets, 0),
    "turned": _moving(lambda x: x[::-1], 0),
    "columns turned": _moving(lambda x: x[:, ::-1], 0),
    "slice": _moving(lambda x: x[1:]),
    "every other": _moving(lambda x: x[::2]),
    "repeated": _moving(lambda x: np.concatenate([x, x[:1]])),
    "written in part": _moving(_with_first_row_last),
    "cumsum": Function(lambda x: np.cumsum(x, axis=0), _running),
    "sort": Function(
        lambda x: np.sort(x, axis=0, kind="stable"),
        lambda sets, x: np.take_along_axis(sets, np.argsort(x, axis=0, kind="stable"), axis=0),
    ),
    "argsort": Function(
        lambda x: x[np.argsort(x[:, 0], kind="stable")], lambda sets, x: sets[np.argsort(x[:, 0], kind="stable")]
    ),
    "mask": Function(lambda x: x[x[:, 0] > 1], lambda sets, x: sets[x[:, 0] > 1]),
    "where": Function(lambda x: np.where(x > 1, x, 0.0), _kept),
    "matrix product": Function(
        lambda x: x @ _weights(x.shape[1]), lambda sets, _: np.repeat(together(sets, 1), 2, axis=1)
    ),
    "centred": Function(lambda x: x - x.mean(axis=0), lambda sets, _: both(sets, together(sets, 0))),
    "differences": Function(lambda x: x[1:] - x[:-1], lambda sets, _: both(sets[1:], sets[:-1])),
    "total": Function(lambda x: x.sum(axis=0, keepdims=True), lambda sets, _: together(sets, 0)),
    "of rows": Function(
        lambda x: np.column_stack([x.sum(axis=1), x.max(axis=1)]),
        lambda sets, _: np.repeat(together(sets, 1), 2, axis=1),
    ),
}
"""Tracked functions."""

PLAIN = {
    "nothing": _moving(lambda x: x, 0),
    "view of rows": _moving(lambda x: x[1:]),
    "view of columns": _moving(lambda x: x[:, -1:], 0),
    "turned view": _moving(lambda x: x[::-1, ::-1], 0),
    "copy": _moving(lambda x: x.copy(), 0),
}
"""Operations between tracked calls, which the log does not see."""
