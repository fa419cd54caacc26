"""One call of a tracked function: its input arrays, its results, and the lineage between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from whence.arrays import rules
from whence.arrays.adapters import load
from whence.arrays.adapters.foreign import stand_in
from whence.arrays.adapters.tables import guarded, refuse_traced
from whence.arrays.linking.frames import is_frame
from whence.arrays.recording.again import undoing
from whence.arrays.recording.folding import refolded
from whence.arrays.recording.loops import MANY_WRITES, edges_by_cells
from whence.arrays.recording.said import A_TABLE, ALL_OF_IT, THROUGH_TEXT
from whence.arrays.recording.structures import (
    Array,
    Function,
    Pairs,
    Shape,
    arrays_in,
    named,
    outputs_of,
    replaced,
    stored_by,
    write_back,
)
from whence.arrays.recording.unknown import Unknown, by_guess
from whence.arrays.tracing import Run, Traced
from whence.arrays.tracing._code import reads_text
from whence.arrays.tracing._finished import Finished, letting_go
from whence.arrays.tracing._operations import Step, unsupported
from whence.arrays.tracing._origins import union
from whence.arrays.tracing._rebound import rebound
from whence.arrays.tracing._run import Overlapping, checked, mode_of
from whence.arrays.tracing._spelling import Spelled
from whence.arrays.tracing._tape import CallRecord, Tape
from whence.errors import TooLarge
from whence.relation import Relation
from whence.relation.compress import drafting


class Halfway(rules.NoRule):
    """A run stopped after the function had changed its inputs."""


class TooMuch(rules.NoRule):
    """The lineage is known, but has too many tuples to be stored."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function whose lineage is to be found."""

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: tuple[str, ...]  # of the function's parameters
    label: str
    selection: bool
    winner: bool
    inputs: tuple[Array, ...]
    memory: ReuseLookup | None = None

    @property
    def named(self) -> dict[str, Any]:
        """All arguments by parameter."""
        return named(self.names, self.args, self.kwargs)


@dataclass(frozen=True, slots=True)
class Edge:
    """The lineage of one output from one input; `output` and `input` are indices."""

    output: int
    input: int
    kind: rules.Kind
    relation: Relation


@dataclass(frozen=True, slots=True)
class Captured:
    """A call and its lineage."""

    result: Any
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    edges: tuple[Edge, ...]
    call_record: CallRecord | None = None  # None if the operations could not all be followed
    written: tuple[int, ...] = ()  # indices of the inputs that the function changed
    reused: bool = False  # whether the lineage is that of an earlier call with the same call record
    notes: Mapping[str, int] = field(default_factory=dict)  # counts of casts, branches and strings
    said: tuple[str, ...] = ()  # for each output, how its lineage is incomplete or not exact; "" if it is neither
    guessed: str = ""  # why the function could not be followed, if its results are taken to come from every cell
    met: tuple[Any, ...] = ()  # plain arrays that it used together with traced ones


class ReuseLookup(Protocol):
    """Finds known lineage by call record; see whence.arrays.reuse."""

    def find(self, call_record: CallRecord, outputs: tuple[Shape, ...]) -> Known | None: ...


class Known(Protocol):
    """The known lineage of a call."""

    @property
    def edges(self) -> tuple[Edge, ...]: ...
    @property
    def notes(self) -> Mapping[str, int]: ...


def _known(memory: ReuseLookup | None, call_record: CallRecord | None, outputs: Sequence[Array]) -> Known | None:
    if memory is None or call_record is None:
        return None
    return memory.find(call_record, tuple(each.shape for each in outputs))


def by_rule(call: Call) -> Captured:
    """Find the lineage of a call by the function's rule: the function runs once, and is one step on the tape."""
    function, args, kwargs, inputs = call.function, call.args, call.kwargs, call.inputs
    if rules.argument(function, args, kwargs, "out") is not None:
        raise rules.NoRule(f"{rules.name_of(function)} with out=: assign its result instead, out[...] = ...")
    step, tape = Step(function, Spelled(), args, kwargs), Tape()
    if len(step.spelled.arrays) != len(inputs):
        raise rules.NoRule(f"{rules.name_of(function)} takes arrays inside an object that is not a list")
    with _refused(function):
        operation = step.identified()
        read = step.read(operation, tape)
        places = step.places(operation, read) if call.memory is None else None
    result = function(*args, **kwargs)
    outputs = tuple(outputs_of(result, call.label))
    made = tuple(side for each in outputs for side in each.shape)
    tape.add((operation.text, read, [(each.label, len(each.shape)) for each in outputs]), operation.given, made)
    tape.divisors |= operation.divisors
    call_record = tape.call_record(mode_of(call.selection, call.winner), [each.shape for each in inputs])
    known = _known(call.memory, call_record, outputs)
    if known is not None:
        return Captured(result, inputs, outputs, known.edges, call_record, reused=True)
    if places is None:
        with _refused(function):
            places = step.places(operation, read)
    if len(outputs) != len(places):
        raise rules.NoRule(f"{rules.name_of(function)} returns more than arrays")
    edges = [
        Edge(at, place.array, place.kind, place.relation)
        for at, per_output in enumerate(places)
        for place in per_output
        if place.kind == "value" or call.selection
    ]
    for edge in edges:
        if edge.relation.out_shape != outputs[edge.output].shape:
            raise unsupported(function)
    return Captured(result, inputs, outputs, _merged(edges), call_record)


@contextmanager
def _refused(function: Function) -> Iterator[None]:
    """A rule that fails does not support the arguments, which may be wrong."""
    try:
        yield
    except rules.NoRule:
        raise
    except Exception as error:
        raise unsupported(function) from error


def placed(call: Call, stand_ins: Sequence[Any], pairs: Pairs | None = None) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments, by position and by name, with the n-th stand-in in place of the n-th array."""
    following = iter(stand_ins)
    given = [replaced(item, lambda _: next(following), pairs) for item in (*call.args, *call.kwargs.values())]
    return given[: len(call.args)], dict(zip(call.kwargs, given[len(call.args) :], strict=True))


def by_tracing(call: Call) -> Captured:
    """Find the lineage of a call of any function by a run on traced arrays over the same memory."""
    try:
        return _traced_once(call, shared=False)
    except Overlapping as error:
        same = [each.value for each in call.inputs]
        if not any(_same_memory(a, b) for n, a in enumerate(same) for b in same[:n]):
            raise _overlapping(call) from error
    return _traced_once(call, shared=True)


def _overlapping(call: Call) -> rules.NoRule:
    return rules.NoRule(
        f"{call.label} writes into an argument that shares memory with another one: pass a copy of one of them"
    )


def _after_all(call: Call, traced: list[Traced], error: rules.NoRule) -> rules.NoRule:
    """Return the error, or Halfway if the function has changed its arguments and cannot be run again."""
    if not traced or traced[0]._run.put_back() or not any(each._buffer.version for each in traced):
        return error
    return Halfway(f"{error}; {call.label} had already changed its arguments, so whence cannot run it again")


def _same_memory(a: Any, b: Any) -> bool:
    return bool(
        a.__array_interface__["data"] == b.__array_interface__["data"]
        and (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    )


def _is_of_objects(value: Any) -> bool:
    return bool(getattr(getattr(value, "dtype", None), "kind", "") == "O")


def _traced_once(call: Call, *, shared: bool) -> Captured:
    run = Run(selection=call.selection, winner=call.winner, at_once=call.memory is None)
    try:
        with letting_go(), drafting(), guarded():
            return _traced(call, run, shared=shared)
    finally:
        run.finish()


def _traced(call: Call, run: Run, *, shared: bool) -> Captured:
    """Run the function once. If `shared`, arguments that are the same array become one traced array, which may be
    written.
    """
    function, inputs, label = call.function, call.inputs, call.label
    traced: list[Traced] = []
    for each in inputs:
        same = [one for one in traced if shared and _same_memory(one.value, each.value)]
        traced.append(run.same_input(same[0]) if same else run.input(each.value, repr(each.label)))
    pairs: Pairs = []
    args, kwargs = placed(call, traced, pairs)
    arguments = {id(one): each.value for one, each in zip(traced, inputs, strict=True)}

    def as_given(each: Any) -> Any:
        return arguments.get(id(each), each)  # other arrays become plain when the run ends

    try:
        own = rebound(function, run)
        result = own(*(stand_in(run, each) for each in args), **{k: stand_in(run, each) for k, each in kwargs.items()})
        outputs = outputs_of(result, label)
        refuse_traced(
            "an array", [each.value for each in outputs if np.ndim(each.value) and _is_of_objects(each.value)]
        )
        if run.refused is not None:
            raise run.refused  # the function caught the error, so its results differ
    except Overlapping as error:
        if any(each._buffer.version for each in traced) or shared:
            raise _after_all(call, traced, _overlapping(call)) from error
        raise
    except rules.NoRule as error:
        raise _after_all(call, traced, error) from error
    except Exception as error:
        if run.refused is None and isinstance(error, TypeError) and "Traced" in str(error):  # np.frombuffer(x)
            run.refuse(rules.NoRule(f"{label} passes a traced array to code that reads plain memory ({error})"))
        if run.refused is None:
            write_back(pairs, as_given)
            raise
        raise _after_all(call, traced, run.refused) from error  # the refusal may be why the function failed
    write_back(pairs, as_given)
    distinct = {id(each._buffer): number for number, each in reversed(list(enumerate(traced)))}
    written = [number for number in sorted(distinct.values()) if traced[number]._buffer.version]
    returned = {
        id(each.value._buffer) for each in outputs if isinstance(each.value, Traced) and each.value._view is None
    }
    outputs += [
        Array(inputs[number].label, traced[number]) for number in written if id(traced[number]._buffer) not in returned
    ]
    others = {id(each) for each in (*traced, *(one.value for one in outputs))}
    outputs += stored_by(function, call.named, label, lambda each: run.holds(each) and id(each) not in others)
    originals = run.plain = {id(one.value): each.value for one, each in zip(traced, inputs, strict=True)}
    plain = tuple(Array(each.label, _untraced(each.value, originals)) for each in outputs)
    theirs = {id(each): each for each in call.named.values()} | {id(after): before for before, after in pairs}
    is_theirs = not isinstance(result, (tuple, Traced)) and id(result) in theirs
    returns = theirs[id(result)] if is_theirs else replaced(result, lambda each: _untraced(each, originals))
    # A result may be a number that was taken out of an array. If it is none of these, it may come from all of them.
    taken = [None if isinstance(each.value, Traced) else run.taken_as(each.value) for each in outputs]
    loose = [not isinstance(each.value, Traced) and one is None for each, one in zip(outputs, taken, strict=True)]
    tables = [is_frame(each.value) and bool(inputs) for each in outputs]
    notes = tuple(
        A_TABLE if table else ALL_OF_IT if each and run.has_casts else ""
        for each, table in zip(loose, tables, strict=True)
    )
    doubt = THROUGH_TEXT if run.texts and (call.selection or reads_text(function)) else ""
    run.tape.add(
        [
            (each.label, getattr(each.value, "_number_in_run", 0), np.ndim(each.value), one and one.number)
            for each, one in zip(outputs, taken, strict=True)
        ]
    )
    call_record = run.call_record
    met = tuple(run.met.values())
    known = _known(call.memory, call_record, plain)
    doubts = tuple(note or doubt for note in notes)
    if known is not None:
        return Captured(
            returns, inputs, plain, known.edges, call_record, tuple(written), True, known.notes, doubts, met=met
        )
    if run.most_writes > MANY_WRITES and not written and not any(loose) and not any(taken):
        by_cells = edges_by_cells(call, plain, run.selects)
        if by_cells is not None:
            return Captured(returns, inputs, plain, by_cells, call_record, notes=run.notes, said=doubts, met=met)
    try:
        edges = [
            Edge(at, number, kind, relation)
            for at, (each, one) in enumerate(zip(outputs, taken, strict=True))
            if isinstance(each.value, Traced) or one is not None
            for (number, kind), relations in (each.value if one is None else one).origins().items()
            for relation in map(refolded, union(relations))
        ]
        edges += [
            Edge(at, number, kind, relation)
            for at, each in enumerate(plain if run.selection else ())
            for (number, kind), relations in run.decisions(np.shape(each.value)).items()
            for relation in map(refolded, union(relations))
        ]
    except TooLarge as error:
        raise _after_all(call, traced, TooMuch(str(error))) from error
    except rules.NoRule as error:
        raise _after_all(call, traced, error) from error
    lined = {edge.output for edge in edges}
    edges += [  # numbers that were taken out may have come back in a result that seems to have no lineage
        Edge(at, number, "value", Relation.whole(out.shape, each.shape))
        for at, (note, out) in enumerate(zip(notes, plain, strict=True))
        if note or ((run.has_casts or doubt) and at not in lined)
        for number, each in enumerate(inputs)
    ]
    return Captured(
        returns, inputs, plain, tuple(edges), call_record, tuple(written), notes=run.notes, said=doubts, met=met
    )


def _untraced(item: Any, originals: dict[int, Any]) -> Any:
    """Return the plain value of a traced array: a single number as NumPy returns it, an argument as it was passed.

    The values are stored, so that the number that is recorded is the same object as the one that is returned.
    """
    if type(item) is Finished:
        return item.value
    return originals.setdefault(id(item.value), item.plain) if isinstance(item, Traced) else item


def _merged(edges: list[Edge]) -> tuple[Edge, ...]:
    """Merge edges of the same output, input and kind, if that is cheap."""
    groups: dict[tuple[int, int, rules.Kind], list[Relation]] = {}
    for edge in edges:
        groups.setdefault((edge.output, edge.input, edge.kind), []).append(edge.relation)
    return tuple(Edge(*key, each) for key, relations in groups.items() for each in map(refolded, union(relations)))


def captured(
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: tuple[str, ...],
    label: str,
    *,
    selection: bool,
    winner: bool = False,
    memory: ReuseLookup | None = None,
    unknown: Unknown = "error",
) -> Captured:
    """Call the function and find the lineage of its results; reuse lineage in `memory` of a call with the same
    record.
    """
    call = Call(function, args, kwargs, names, label, selection, winner, tuple(arrays_in(names, args, kwargs)), memory)
    for each in call.inputs:
        checked(each.value, repr(each.label))
    load()
    if rules.has_rule(function) and not (winner and function in rules.EXTREMES):
        try:
            return by_rule(call)
        except rules.NoRule:
            pass  # tracing may support the arguments, or raises NumPy's error, or one that names the reason
    undo = undoing(function, call.named, [each.value for each in call.inputs])
    try:
        return by_tracing(call)
    except rules.NoRule as error:
        if isinstance(error, Halfway):
            raise
        refused = error
        undo()
    if not selection and not winner and not isinstance(refused, TooMuch):
        from whence.arrays.dtype.runs import by_dtype  # imports this module

        try:
            return by_dtype(call, refused)
        except rules.NoRule as error:
            refused = error
            undo()
    return by_guess(call, unknown, refused)
