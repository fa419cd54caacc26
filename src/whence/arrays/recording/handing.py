"""Arguments of a tracked call that are not arrays: numbers returned by other calls, tables, lists of numbers.

A number with known lineage becomes an array without axes in the traced run, so that its lineage is followed. Tables,
lists of numbers and global arrays are not followed: every result may come from all of them, and the answer says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.adapters.labelled import coordinates, is_labelled
from whence.arrays.linking.besides import is_data, surroundings
from whence.arrays.linking.frames import array_behind, is_frame, is_listed
from whence.arrays.recording.calls import Captured, Edge
from whence.arrays.recording.structures import Array, Function, arrays_in, is_followed, named
from whence.relation import Relation

if TYPE_CHECKING:
    from whence.arrays.recording.track import Recorder


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The arguments of a call with known numbers as arrays, its opaque inputs, and what the log knows about all
    inputs.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: tuple[Array, ...]
    opaque: tuple[Array, ...]
    handed: Any
    closed: tuple[str, ...] = ()  # names of models that cannot be inspected


def handed_over(
    recorder: Recorder, function: Function, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> HandedOver:
    """Collect the inputs of a call, before the function runs."""
    inputs = tuple(arrays_in(names, args, kwargs))
    # A Python float combined with narrower arrays takes their dtype; an array in its place would not.
    narrow = any(each.value.dtype.kind == "f" and each.value.dtype != np.float64 for each in inputs)

    def known(item: Any) -> Any:
        found = None if narrow and type(item) is float else recorder.number(item)
        return item if found is None else found

    given, options = tuple(_numbers(item, known) for item in args), {k: _numbers(v, known) for k, v in kwargs.items()}
    if any(a is not b for a, b in zip((*given, *options.values()), (*args, *kwargs.values()), strict=True)):
        inputs = tuple(arrays_in(names, given, options))
    opaque = [*_opaque(function, names, given, options, recorder)]
    passed = {id(each.value) for each in (*inputs, *opaque)}
    others = {key: item for key, item in named(names, given, options).items() if id(item) not in passed}
    besides, closed = surroundings(function, others)
    for name, each in besides.items():
        own = recorder.number(each, outside=True) if isinstance(each, (float, np.number)) else each
        if id(own) not in passed:
            passed.add(id(own))
            opaque.append(Array(name, own))
    handed = recorder.arrived(each.value for each in (*inputs, *opaque))
    return HandedOver(given, options, inputs, tuple(opaque), handed, closed)


def with_met(recorder: Recorder, own: HandedOver, met: tuple[Any, ...]) -> HandedOver:
    """Add the plain arrays that the function used, such as global ones, if their lineage is known."""
    passed = [each for item in (*own.inputs, *own.opaque) if (each := array_behind(item.value)) is not None]
    others = [each for each in met if not any(np.may_share_memory(each, one) for one in passed)]
    if not others:
        return own
    found, place = recorder.arrived(others)
    known = [each for each in found if each.found is not None and each.found.sources]
    opaque = tuple(Array(f"another {n}" if n else "another", each.value) for n, each in enumerate(known))
    return replace(own, opaque=(*own.opaque, *opaque), handed=((*own.handed[0], *known), place))


def _numbers(item: Any, change: Callable[[Any], Any]) -> Any:
    """Return the same structure with its numbers changed."""
    if isinstance(item, (float, np.number)):
        return change(item)
    if type(item) in (list, tuple):
        parts = [_numbers(each, change) for each in item]
        return type(item)(parts) if any(a is not b for a, b in zip(parts, item, strict=True)) else item
    if type(item) is dict:
        own = {key: _numbers(each, change) for key, each in item.items()}
        return own if any(own[key] is not item[key] for key in item) else item
    return item


def _opaque(
    function: Function,
    names: tuple[str, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    recorder: Recorder,
) -> Iterator[Array]:
    mentioned = getattr(getattr(function, "__code__", None), "co_names", ())
    for label, item in named(names, args, kwargs).items():
        if is_frame(item) or is_listed(item) or (isinstance(item, np.ndarray) and not is_followed(item)):
            yield Array(label, item)
            if isinstance(item, np.ma.MaskedArray) and item.mask is not np.ma.nomask:
                yield Array(f"{label}.mask", np.asarray(item.mask))
        elif is_labelled(item):
            for key, each in coordinates(item).items():
                if key in mentioned:
                    yield Array(f"{label}.{key}", each)
        elif isinstance(item, (float, np.inexact)):
            known = recorder.number(item, outside=is_data(item) and recorder.suspects(item))
            if known is not None:
                yield Array(label, known)


def with_opaque(found: Captured, opaque: tuple[Array, ...], closed: tuple[str, ...] = ()) -> Captured:
    """Add an edge from every opaque input to each output: each may come from all of it."""
    if closed:
        models = ", ".join(map(repr, closed))
        found = _noted(
            found,
            f"also comes from the data that {models} was fitted on, which was not recorded: fit and use it in one"
            " tracked call",
        )
    if not opaque:
        return found
    first = len(found.inputs)
    edges = tuple(
        Edge(at, first + n, "value", Relation.whole(out.shape, each.shape))
        for at, out in enumerate(found.outputs)
        for n, each in enumerate(opaque)
    )
    labels = ", ".join(repr(each.label) for each in opaque)
    note = (
        f"may come from only some cells of {labels}: tables, lists, masked arrays, texts, numbers, globals and "
        "attributes are not followed"
    )
    found = _noted(found, note)
    return replace(found, inputs=(*found.inputs, *opaque), edges=(*found.edges, *edges))


def with_files(found: Captured, paths: Sequence[str]) -> Captured:
    """Add a note about files that the function read itself."""
    if not paths:
        return found
    names = ", ".join(repr(os.path.basename(each)) for each in paths[:5])
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    return _noted(
        found,
        f"may also come from {names}{more}, which the function read itself: read files before the call, inside"
        " log.capture() or log.activity(), and pass their arrays",
    )


def _noted(found: Captured, note: str) -> Captured:
    notes = tuple(f"{own}; it {note}" if own else note for own in (found.said or ("",) * len(found.outputs)))
    return replace(found, said=notes)
