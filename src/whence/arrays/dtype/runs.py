"""Calls of functions that no rule covers: a run on the tracked dtype, which sees whatever NumPy itself computes.

It knows less than a traced run: that a mask was made of values is counted, but not what code did with lengths, or with
memory. What it finds is therefore not certified for other calls until they have confirmed it.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from whence.arrays.dtype.arrays import axes_in_memory, is_tracked, tracked, values
from whence.arrays.dtype.lineage import relation_of
from whence.arrays.dtype.losses import watch
from whence.arrays.recording.calls import Array, Call, Captured, Edge, outputs_of, replaced
from whence.errors import NoRule, WhenceError

_runs = itertools.count()


def by_dtype(call: Call, error: NoRule) -> Captured:
    """The call on tracked copies of its inputs; the error that led here, where that cannot be done either."""
    if any(each.value.dtype != np.float64 for each in call.inputs):
        raise error  # results would be of another type than the function's own
    try:
        return _followed(call)
    except (TypeError, WhenceError) as refused:  # what no dtype can carry, or a plain result, which lost its lineage
        raise error from refused


def _followed(call: Call) -> Captured:
    inputs, label = call.inputs, call.label
    run = next(_runs)
    copies: dict[int, Any] = {}
    for number, each in enumerate(inputs):
        if id(each.value) not in copies:
            copies[id(each.value)] = tracked(each.value, f"{label} {run}: {number} {each.label}")
    first = {key: next(i for i, each in enumerate(inputs) if id(each.value) == key) for key in copies}
    before = {key: copy.copy() for key, copy in copies.items()}
    with watch() as lost:
        result = call.function(
            *replaced(call.args, lambda item: copies[id(item)]),
            **replaced(call.kwargs, lambda item: copies[id(item)]),
        )
    outputs = outputs_of(result, label)
    if not all(is_tracked(each.value) for each in outputs):
        raise NoRule(f"{label} returns plain numbers for tracked ones")
    written = [key for key, copy in copies.items() if not _same(copy, before[key])]
    if any(not _in_one_piece(inputs[first[key]].value) for key in written):
        raise NoRule(f"{label} writes into an array with gaps, of which a copy has none: pass a copy of it")
    outputs += [Array(inputs[first[key]].label, copies[key]) for key in written]
    edges = [
        Edge(at, first[key], "value", found)
        for at, each in enumerate(outputs)
        for key in copies
        if len(found := relation_of(each.value, f"{label} {run}: {first[key]} {inputs[first[key]].label}"))
    ]
    for key in written:
        inputs[first[key]].value[...] = values(copies[key])
    notes = {"casts": lost.cast_cells + lost.floats, "branches": lost.decisions}
    return Captured(
        _plain(result),
        inputs,
        tuple(Array(each.label, _plain(each.value)) for each in outputs),
        tuple(edges),
        values_matter=lost.any or lost.looks > 0,
        certain=False,
        wrote=True,  # for all that is known
        written=tuple(first[key] for key in written),
        notes={key: count for key, count in notes.items() if count},
    )


def _in_one_piece(array: Any) -> bool:
    return bool(array.transpose(axes_in_memory(array)).flags.c_contiguous)


def _same(a: Any, b: Any) -> bool:
    """The same numbers from the same cells."""
    return bool(np.asarray(a).tobytes() == np.asarray(b).tobytes())


def _plain(item: Any) -> Any:
    """The same with the numbers of tracked arrays and cells."""
    if isinstance(item, dict):
        return {key: _plain(each) for key, each in item.items()}
    if isinstance(item, (list, tuple)):
        parts = [_plain(each) for each in item]
        return type(item)(*parts) if hasattr(item, "_fields") else type(item)(parts)
    if not is_tracked(item):
        return item
    return values(item).copy() if isinstance(item, np.ndarray) else np.float64(item.value)
