"""Run functions without a rule on the tracked dtype, which follows everything that NumPy itself computes.

Unlike a traced run, it does not record the operations. So there is no call record, and no other call reuses the lineage
that it finds.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from whence.arrays.adapters.labelled import is_labelled
from whence.arrays.adapters.tables import guarded
from whence.arrays.dtype.arrays import TrackedFloat64, is_tracked, tracked, values
from whence.arrays.dtype.lineage import relation_of
from whence.arrays.dtype.losses import watch
from whence.arrays.overlap import overlaps_itself
from whence.arrays.recording.calls import Call, Captured, Edge, placed
from whence.arrays.recording.said import ALL_OF_IT
from whence.arrays.recording.structures import Array, Pairs, outputs_of, replaced_fields, write_back
from whence.arrays.tracing._code import handles_errors, mentioned
from whence.arrays.tracing._left import RunArray, plain_afterwards
from whence.arrays.tracing._rebound import rebound
from whence.arrays.tracing._tracked_array import laid_out
from whence.errors import NoRule
from whence.relation import Relation

MATRICES = frozenset(("asmatrix", "bmat", "mat", "matrix"))
TAKERS = frozenset(("item", "tolist"))

_runs = itertools.count()


def by_dtype(call: Call, error: NoRule, *, again: bool = False) -> Captured:
    """Run the call on tracked copies of its inputs; raise `error` if that is not possible.

    `again` means that the function has run before, so that its changes of arguments are done already.
    """
    if any(each.value.dtype != np.float64 for each in call.inputs):
        raise error  # results would have another dtype than the function's own
    if any(map(is_labelled, call.named.values())):
        raise error  # xarray would treat tracked cells as plain numbers
    if handles_errors(call.function):
        raise error  # it might catch a refusal, and compute something else
    names_in_code = {each for each in mentioned(call.function) if isinstance(each, str)}
    if "as_strided" in names_in_code:
        raise error  # strides of float64 would split tracked cells, and NumPy crashes if copying them fails
    if names_in_code & MATRICES:
        raise error  # tracked results are arrays, and their products are not those of BLAS
    try:
        names = [f"{call.label} {next(_runs)}: {number} {each.label}" for number, each in enumerate(call.inputs)]
        with plain_afterwards(call.function, names):
            found = _followed(call, names, again=again)
        if not again and names_in_code & TAKERS and any(isinstance(each.value, float) for each in found.outputs):
            raise error  # item() gives Python's numbers, and tracked cells cannot tell
        return found
    except Exception as refused:  # the dtype cannot follow it; errors of the function itself are raised again later
        raise error from refused


def _followed(call: Call, names: list[str], *, again: bool) -> Captured:
    inputs, label = call.inputs, call.label
    cells = [_laid_out(tracked(each.value, name), each.value) for each, name in zip(inputs, names, strict=True)]
    copies = [each.view(RunArray) for each in cells]
    before = [np.array(each) for each in cells]
    pairs: Pairs = []
    args, kwargs = placed(call, copies, pairs)
    function = rebound(call.function, _Constructors()) if again else call.function
    with watch() as lost, guarded():
        result = function(*args, **kwargs)
    if lost.cast_cells:
        raise NoRule(f"{label} has NumPy cast tracked numbers to plain ones, which come back without their lineage")
    outputs = outputs_of(result, label)
    if any(isinstance(each.value, np.ma.MaskedArray) for each in outputs):
        raise NoRule(f"{label} returns a masked array")
    loose = [at for at, each in enumerate(outputs) if type(each.value) is float]
    if not all(is_tracked(each.value) or at in loose for at, each in enumerate(outputs)):
        raise NoRule(f"{label} returns plain numbers for tracked ones")
    written = [n for n, copy in enumerate(copies) if not _same_cells(copy, before[n])]
    for n in written:
        if any(n != m and np.may_share_memory(inputs[n].value, each.value) for m, each in enumerate(inputs)):
            raise NoRule(f"{label} writes into an argument that shares memory with another: pass a copy")
    returned = {id(each.value) for each in outputs}
    outputs += [Array(inputs[n].label, copies[n]) for n in written if id(copies[n]) not in returned]
    edges = [
        Edge(at, n, "value", found)
        for at, each in enumerate(outputs)
        if at not in loose
        for n, name in enumerate(names)
        if len(found := relation_of(each.value, name))
    ]
    if lost.floats:
        edges += [Edge(at, n, "value", Relation.whole((), each.shape)) for at in loose for n, each in enumerate(inputs)]
    for n in written:
        inputs[n].value[...] = values(copies[n])
    notes = {"casts": lost.floats, "branches": lost.decisions}
    # Each array becomes one plain array, so that the returned object is the recorded one; arguments are the caller's
    # own.
    plain = {id(copy): each.value for copy, each in zip(copies, inputs, strict=True)}
    if not again:
        write_back(pairs, lambda each: _untracked(each, plain))
    return Captured(
        _untracked(result, plain),
        inputs,
        tuple(Array(each.label, _untracked(each.value, plain)) for each in outputs),
        tuple(edges),
        written=tuple(written),
        notes={key: count for key, count in notes.items() if count},
        said=tuple(ALL_OF_IT if lost.floats and at in loose else "" for at in range(len(outputs))),
    )


class _Constructors:
    """Replaces a traced run: float arrays that the function creates become tracked cells without lineage.

    It is used only if the results are known already, because cells differ from numbers (no conversion in place).
    """

    finished = False

    def fresh(self, array: Any) -> Any:
        """Return the array as tracked cells; other dtypes are returned unchanged."""
        return array.astype(TrackedFloat64).view(RunArray) if array.dtype == np.float64 else array


def _laid_out(cells: Any, like: Any) -> Any:
    """Return the tracked cells in the memory layout of the array, because NumPy's memory order may depend on it."""
    if overlaps_itself(like):
        raise NoRule("several cells of an argument share memory: pass a copy, np.array(x)")
    if not like.size or like.flags.c_contiguous:
        return cells
    steps = _steps_of(like)
    ends = [(side - 1) * step for side, step in zip(like.shape, steps, strict=True)]
    first, last = sum(min(each, 0) for each in ends), sum(max(each, 0) for each in ends)
    memory = np.zeros(last - first + 1, cells.dtype)
    size = cells.dtype.itemsize
    laid = np.lib.stride_tricks.as_strided(memory[-first:], like.shape, [size * step for step in steps])
    laid[...] = cells
    return laid


def _steps_of(array: Any) -> list[int]:
    """Return the strides in cells. Cells stay apart, even if the strides are not multiples of 8 bytes."""
    if not any(step % 8 for step in array.strides):
        return [step // 8 for step in array.strides]
    unit = math.gcd(*(step for step, side in zip(array.strides, array.shape, strict=True) if side > 1))
    return [2 * (step // unit) for step in array.strides]  # doubled, so that the array does not become contiguous


def _same_cells(a: Any, b: Any) -> bool:
    """Whether the numbers and their lineage are the same."""
    return bool(np.asarray(a).tobytes() == np.asarray(b).tobytes())


def _untracked(item: Any, made: dict[int, Any]) -> Any:
    """Return the same structure with plain numbers for tracked arrays and cells; `made` has earlier results by id."""
    if isinstance(item, dict):
        return {key: _untracked(each, made) for key, each in item.items()}
    if isinstance(item, (list, tuple)):
        parts = [_untracked(each, made) for each in item]
        return type(item)(*parts) if hasattr(item, "_fields") else type(item)(parts)
    if not is_tracked(item):
        return replaced_fields(item, lambda each: _untracked(each, made))
    if id(item) not in made:
        if not isinstance(item, np.ndarray):
            made[id(item)] = np.float64(item.value)
        else:
            flat = item.flags.forc
            made[id(item)] = values(item).copy(order="K") if flat else laid_out(values(np.asarray(item)), [])
    return made[id(item)]
