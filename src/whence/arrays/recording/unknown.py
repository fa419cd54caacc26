"""Calls that cannot be traced: compiled code, SciPy, scikit-learn, NumPy functions that have no rule.

The function runs as usual, and its results are returned. `unknown=` chooses its lineage:

- `whole`: every result comes from every cell. That is a superset for any function, and the answer says so.
- `elementwise`: each result comes from the cells at its own index, because the caller says so.
- `probe`: the function is called with changed inputs, see `whence.probe`.
- `error`: the call is refused, and nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from whence.arrays.linking.frames import array_behind, is_frame
from whence.arrays.probe import probe
from whence.arrays.rules.elementwise import broadcast
from whence.errors import BadType, NoRule, WhenceError
from whence.relation import Relation

if TYPE_CHECKING:
    from whence.arrays.recording.calls import Call, Captured
    from whence.arrays.recording.structures import Array

Unknown = Literal["whole", "elementwise", "probe", "error"]
WAYS: tuple[Unknown, ...] = get_args(Unknown)

Found = tuple[Relation, str]  # and a note about it


def by_guess(call: Call, unknown: Unknown, error: NoRule) -> Captured:
    """Record a call that no rule, no traced run and no tracked dtype can follow, as `unknown` says."""
    from whence.arrays.recording.calls import Captured, Edge
    from whence.arrays.recording.structures import Array

    if unknown == "error":
        raise error
    before = [np.array(each.value) for each in call.inputs]
    result = call.function(*call.args, **call.kwargs)
    written = [n for n, each in enumerate(call.inputs) if each.value.tobytes() != before[n].tobytes()]
    outputs = numbers_in(result, call.label)
    outputs += [Array(call.inputs[n].label, call.inputs[n].value) for n in written]
    ways = {"whole": _whole, "elementwise": _elementwise, "probe": _probed if not written else _whole}
    edges, notes = [], []
    for at, output in enumerate(outputs):
        said: list[str] = []
        for n, given in enumerate(call.inputs):
            relation, note = ways[unknown](call, at, output, n, given, str(error))
            edges.append(Edge(at, n, "value", relation))
            said += [note] if note and note not in said else []
        notes.append("; ".join(said))
    return Captured(
        result, call.inputs, tuple(outputs), tuple(edges), written=tuple(written), said=tuple(notes),
        guessed=str(error) if unknown == "whole" else "",
    )  # fmt: skip


def numbers_in(result: Any, label: str) -> list[Array]:
    """Return the arrays of numbers and the tables that a function returned."""
    from whence.arrays.recording.structures import outputs_of

    return [
        each
        for each in outputs_of(result, label)
        if is_frame(each.value) or np.asarray(each.value).dtype.kind in "biufc"
    ]


def _whole(call: Call, at: int, output: Array, n: int, given: Array, reason: str) -> Found:
    note = f"may come from only some cells: {call.label} is not followed ({reason})"
    return Relation.whole(output.shape, given.shape), note


def _elementwise(call: Call, at: int, output: Array, n: int, given: Array, reason: str) -> Found:
    try:
        fits = np.broadcast_shapes(given.shape, output.shape) == output.shape
    except ValueError:
        fits = False
    if not fits:
        raise BadType(
            f"{call.label} is tracked with unknown='elementwise', and returned an array of shape {output.shape} for "
            f"{given.label!r} of shape {given.shape}: use unknown='whole' or 'probe'"
        )
    return broadcast(given.shape, output.shape), "is assumed to be elementwise, because of unknown='elementwise'"


def _probed(call: Call, at: int, output: Array, n: int, given: Array, reason: str) -> Found:
    if is_frame(output.value) and array_behind(output.value) is None:
        relation, note = _whole(call, at, output, n, given, reason)
        return relation, f"{note}; only tables of numbers are probed"
    try:
        found = probe(_alone(call, at, n), given.value)
    except WhenceError as error:
        relation, note = _whole(call, at, output, n, given, reason)
        return relation, f"{note}; probing failed: {error}"
    return found.relation, "" if found.precise else f"was probed: {found.reason}"


def _alone(call: Call, at: int, n: int) -> Callable[[Any], Any]:
    """Return a function of one of the inputs, for one of the results; the other inputs stay the same."""
    from whence.arrays.recording.calls import placed

    def of_one(x: Any) -> Any:
        others: Sequence[Any] = [x if m == n else each.value.copy() for m, each in enumerate(call.inputs)]
        args, kwargs = placed(call, others)
        value = numbers_in(call.function(*args, **kwargs), call.label)[at].value
        return value.to_numpy() if is_frame(value) else value

    return of_one
