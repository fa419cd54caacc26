"""An oracle for any function of plain arrays: change each cell of each input, and compare the results.

It finds what a change does to these inputs. Use several trials, with inputs whose cells can all matter, to find all of
the lineage.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whence.arrays.recording.calls import captured
from whence.arrays.recording.structures import outputs_of
from whence.arrays.recording.unknown import Unknown

Tuples = dict[tuple[int, int], set[tuple[int, ...]]]
"""Pairs of cells (indices of the output, then of the input), by the indices of the output and the input."""

Change = Callable[[Any], Any]


def by_step(number: Any) -> Any:
    """Add one half to a number; negate a boolean."""
    return not number if isinstance(number, (bool, np.bool_)) else number + 0.5


def influences(function: Callable[..., Any], inputs: Sequence[Any], *changes: Change) -> Tuples:
    """Return which cells of the results change with which cells of the inputs.

    >>> sorted(influences(lambda x: x[::2] * 2, [np.arange(3.0)])[0, 0])
    [(0, 0), (1, 2)]
    """
    before = _results(function, inputs)
    found: Tuples = {(o, i): set() for o in range(len(before)) for i in range(len(inputs))}
    for number, given in enumerate(inputs):
        for cell in np.ndindex(given.shape):
            for change in changes or (by_step,):
                other = np.array(given)
                other[cell] = change(other[cell])
                after = _results(function, [*inputs[:number], other, *inputs[number + 1 :]])
                for o, (a, b) in enumerate(zip(before, after, strict=True)):
                    differs = ~np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
                    found[o, number] |= {(*map(int, at), *cell) for at in np.argwhere(differs)}
    return found


def recorded(
    function: Callable[..., Any], inputs: Sequence[Any], *, selection: bool = False, unknown: Unknown = "error"
) -> Tuples:
    """Return the same pairs as a tracked call of the function records them.

    >>> sorted(recorded(lambda x: x[::2] * 2, [np.arange(3.0)])[0, 0])
    [(0, 0), (1, 2)]
    """
    names = tuple(f"a{n}" for n in range(len(inputs)))
    call = captured(function, tuple(map(np.array, inputs)), {}, names, "f", selection=selection, unknown=unknown)
    found: Tuples = {(o, i): set() for o in range(len(call.outputs)) for i in range(len(inputs))}
    for edge in call.edges:
        found[edge.output, edge.input].update(map(tuple, edge.relation.to_array().tolist()))
    return found


def _results(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return [np.asarray(each.value, float) for each in outputs_of(function(*map(np.array, inputs)), "f")]
