"""What one call of a function of plain arrays did: its arrays, its results, and the lineage between them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whence.arrays import rules
from whence.arrays.recording.randomness import global_generators, unsteady
from whence.arrays.rules._reading import never_loaded, unread
from whence.arrays.tracing import Run, Traced
from whence.arrays.tracing._argument_usage import vouched
from whence.arrays.tracing._finished import Finished
from whence.arrays.tracing._origins import merged, natural_form, union
from whence.arrays.tracing._rebound import rebound
from whence.arrays.tracing._run import Overlapping, checked
from whence.arrays.tracing._sizes import LENGTH, Number, Size, bare
from whence.errors import BadType
from whence.relation import Relation

FEW = 4  # rows that are not worth folding
MANY = 64  # rows that have no form to be kept
MOST_TO_FOLD = 1 << 18

NO_VALUES = (
    "holds no value of what the call took; if values decided (a mask, an order, a comparison), "
    "log.track(..., lineage='value+selection') records which"
)
ALL_OF_IT = "is a number that Python computed from numbers taken out of arrays: any cell may have gone into it"

Shape = tuple[int, ...]
Function = Callable[..., Any]


class Halfway(rules.NoRule):
    """A run that stopped after it had changed its inputs."""


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a call took or gave, and what it is called there."""

    label: str
    value: Any

    @property
    def shape(self) -> Shape:
        """Its shape; a number is an array without axes."""
        return np.shape(self.value)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function whose lineage is wanted."""

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: tuple[str, ...]  # of the function's parameters
    label: str
    selection: bool
    winner: bool
    inputs: tuple[Array, ...]

    @property
    def named(self) -> dict[str, Any]:
        """All arguments by parameter."""
        return named(self.names, self.args, self.kwargs)


@dataclass(frozen=True, slots=True)
class Edge:
    """The lineage of one output from one input, by their positions."""

    output: int
    input: int
    kind: rules.Kind
    relation: Relation


@dataclass(frozen=True, slots=True)
class Captured:
    """A call, its lineage, and what is to be known before its lineage is used for another call."""

    result: Any
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    edges: tuple[Edge, ...]
    values_matter: bool = False  # other values may have another lineage
    sizes_compared: bool = False  # so may other shapes, beyond what can be seen from the lineage
    certain: bool = True  # whether the two above are known, and not guessed
    written: tuple[int, ...] = ()  # inputs that the function changed
    wrote: bool = False  # whether it wrote into any memory, so that it matters what is a view and what a copy
    unsteady: bool = False  # the same arguments may have another lineage next time
    unread: frozenset[str] = frozenset()  # arguments that this lineage surely does not follow from
    literal: frozenset[str] = frozenset()  # arguments whose integers decided something: they are no lengths
    marks: frozenset[int] = frozenset()  # integers of the function's own that met lengths
    divisors: frozenset[int] = frozenset()  # integers by which it divided lengths
    trail: str = ""  # what was done, if other calls that did the same can be recognised
    notes: dict[str, int] = field(default_factory=dict)  # casts, branches
    said: tuple[str, ...] = ()  # of each output, what its lineage does not hold, if that is anything


def parameters_of(function: Function) -> tuple[str, ...]:
    """The names of a function's parameters."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins do not say
        return ("a", "b", "c")


def named(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments by the parameter that each was given for; those beyond the last one are numbered.

    >>> named(("a", "more"), (1, 2, 3), {"axis": 0})
    {'a': 1, 'more': 2, 'more2': 3, 'axis': 0}
    """
    last = names[-1] if names else "a"
    found = {names[i] if i < len(names) else f"{last}{i}": item for i, item in enumerate(args)}
    return {**found, **kwargs}


def arrays_in(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Array]:
    """The arrays among arguments, with the parameter that each was given for; lists of arrays count."""
    for label, item in named(names, args, kwargs).items():
        yield from _arrays(label, item)


def _arrays(label: str, item: Any) -> Iterator[Array]:
    if isinstance(item, (np.ndarray, Traced)):
        yield Array(label, item)
    elif inspect.isgenerator(item) or inspect.iscoroutine(item):
        raise BadType(f"{label!r} is a {type(item).__name__}, which can be read only once: give a list of arrays")
    elif isinstance(item, (list, tuple)):
        for number, each in enumerate(item):
            yield from _arrays(f"{label}[{number}]", each)
    elif isinstance(item, dict):
        for key, each in item.items():
            yield from _arrays(f"{label}[{key!r}]", each)
    else:
        for key, each in _fields(item):
            yield from _arrays(f"{label}.{key}", each)


def _fields(item: Any) -> list[tuple[str, Any]]:
    """The fields of a dataclass's object, and of nothing else."""
    if isinstance(item, type) or not dataclasses.is_dataclass(type(item)):
        return []
    return [(each.name, getattr(item, each.name)) for each in dataclasses.fields(item) if hasattr(item, each.name)]


def replaced(item: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure with every array changed."""
    if isinstance(item, (np.ndarray, Traced)):
        return change(item)
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return type(item)(*(replaced(each, change) for each in item))
    if isinstance(item, (list, tuple)):
        return type(item)(replaced(each, change) for each in item)
    if isinstance(item, dict):
        return {key: replaced(each, change) for key, each in item.items()}
    return replaced_fields(item, lambda each: replaced(each, change))


def replaced_fields(item: Any, change: Callable[[Any], Any]) -> Any:
    """An object of a dataclass with its fields changed; anything else as it is."""
    own = [(key, each, change(each)) for key, each in _fields(item)]
    if any(before is not after for _, before, after in own):
        item = copy.copy(item)
        for key, _, after in own:
            object.__setattr__(item, key, after)  # a frozen one is changed before anybody sees it
    return item


def outputs_of(result: Any, label: str) -> list[Array]:
    """The arrays that a function returned: one, or those in a tuple, list, dict or dataclass; single numbers count."""
    if inspect.isgenerator(result) or inspect.isasyncgen(result) or inspect.iscoroutine(result):
        raise BadType(f"{label} returned a {type(result).__name__}: lineage is kept of arrays; return a list of them")
    if isinstance(result, (np.ndarray, Traced, np.number, np.bool_)) or type(result) is float:
        return [Array(label, result)]
    found: list[Array] = []
    if isinstance(result, dict):
        for key, each in result.items():
            found += outputs_of(each, f"{label}.{key}")
    elif isinstance(result, (list, tuple)):
        names = getattr(result, "_fields", range(len(result)))
        for key, each in zip(names, result, strict=True):
            found += outputs_of(each, f"{label}.{key}")
    for key, each in _fields(result):
        found += outputs_of(each, f"{label}.{key}")
    return found


def said(found: Captured) -> tuple[str, ...]:
    """What is to be said of the lineage of each output, if anything."""
    from_values = {edge.output for edge in found.edges if edge.kind == "value" and len(edge.relation)}
    notes = found.said or ("",) * len(found.outputs)
    return tuple(
        note or (NO_VALUES if found.inputs and at not in from_values and np.size(each.value) else "")
        for at, (note, each) in enumerate(zip(notes, found.outputs, strict=True))
    )


def by_rule(call: Call) -> Captured:
    """The call of a function that has a rule: no run but its own."""
    function, args, kwargs, inputs = call.function, call.args, call.kwargs, call.inputs
    if rules.argument(function, args, kwargs, "out") is not None:
        raise rules.NoRule(f"{rules.name_of(function)} with out=: assign its result instead, out[...] = ...")
    shown = [each.value.view() for each in inputs]  # an array that is given twice is two inputs
    numbers = {id(each): number for number, each in enumerate(shown)}
    given = placed(call, shown)
    links, values_matter = rules.watched(
        function, tuple(given[: len(args)]), dict(zip(kwargs, given[len(args) :], strict=True)),
        {id(each): each for each in shown},
    )  # fmt: skip
    result = function(*args, **kwargs)
    outputs = tuple(outputs_of(result, call.label))
    edges = [
        Edge(at, numbers[id(link.operand)], link.kind, link.relation)
        for at, per_output in enumerate(links)
        for link in per_output
        if id(link.operand) in numbers and (link.kind == "value" or call.selection)
    ]
    if len(outputs) != len(links):
        raise rules.NoRule(f"{rules.name_of(function)} returns more than arrays: a traced run knows what they are")
    for edge in edges:
        if edge.relation.out_shape != outputs[edge.output].shape:
            raise rules.NoRule(f"the rule of {rules.name_of(function)} does not know this way of calling it")
    places = dict(enumerate(named(call.names, args, {})))
    ignored = frozenset(places[each] if isinstance(each, int) else each for each in unread(function, args, kwargs))
    return Captured(
        result,
        inputs,
        outputs,
        _merged(edges),
        values_matter,
        wrote=rules.by_layout(function, args, kwargs),
        unread=ignored,
        divisors=frozenset(rules.divisors(function, args, kwargs)),
    )


def placed(call: Call, stand_ins: Sequence[Any], change: Callable[[str, Any], Any] = lambda _, item: item) -> list[Any]:
    """The arguments, those by place first, with the n-th of these in the place of the n-th array."""
    following = iter(stand_ins)
    return [replaced(change(key, item), lambda _: next(following)) for key, item in call.named.items()]


def by_tracing(call: Call) -> Captured:
    """The call of any function: a run on traced arrays over the same memory."""
    try:
        return _traced_once(call, shared=False)
    except Overlapping as error:
        same = [each.value for each in call.inputs]
        if not any(_same_memory(a, b) for n, a in enumerate(same) for b in same[:n]):
            raise _halfway(call) from error
    return _traced_once(call, shared=True)


def _halfway(call: Call) -> Halfway:
    return Halfway(
        f"{call.label} writes into an argument that shares memory with another one: pass a copy of one of them"
    )


def _after_all(call: Call, traced: list[Traced], error: rules.NoRule) -> rules.NoRule:
    """The error, or another one if the function has changed its arguments and cannot be run again."""
    if not any(each._buffer.version for each in traced):
        return error
    return Halfway(f"{error}; and {call.label} had already changed its arguments, so it cannot be run again")


def _same_memory(a: Any, b: Any) -> bool:
    return bool(
        a.__array_interface__["data"] == b.__array_interface__["data"]
        and (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    )


def _traced_once(call: Call, *, shared: bool) -> Captured:
    run = Run(selection=call.selection, winner=call.winner, outermost=_traced.__code__)
    try:
        return _traced(call, run, shared=shared)
    finally:
        run.finish()


def _traced(call: Call, run: Run, *, shared: bool) -> Captured:
    """One run; `shared`: arguments that are the same array are the same traced array, which may be written."""
    function, inputs, label = call.function, call.inputs, call.label
    traced: list[Traced] = []
    for each in inputs:
        same = [one for one in traced if shared and _same_memory(one.value, each.value)]
        traced.append(run.same_input(same[0]) if same else run.input(each.value, repr(each.label)))
    plain_given = call.named
    notices = vouched(function)
    given = placed(call, traced, (lambda key, item: _noticing(item, run, key)) if notices else lambda _, item: item)
    own = rebound(function, run)
    try:
        result = own(*given[: len(call.args)], **dict(zip(call.kwargs, given[len(call.args) :], strict=True)))
        if run.refused is not None:
            raise run.refused  # the function went on without what was refused, on a way that is not its own
    except Overlapping as error:
        if any(each._buffer.version for each in traced) or shared:
            raise _halfway(call) from error
        raise
    except rules.NoRule as error:
        raise _after_all(call, traced, error) from error
    except Exception as error:
        if run.refused is None and isinstance(error, TypeError) and "Traced" in str(error):  # np.frombuffer(x)
            run.refuse(rules.NoRule(f"{label} gives a traced array to code that reads plain memory ({error})"))
        if run.refused is None:
            raise
        raise _after_all(call, traced, run.refused) from error  # which may be why the function failed
    outputs = outputs_of(result, label)
    distinct = {id(each._buffer): number for number, each in reversed(list(enumerate(traced)))}
    written = [number for number in sorted(distinct.values()) if traced[number]._buffer.version]
    returned = {
        id(each.value._buffer) for each in outputs if isinstance(each.value, Traced) and each.value._view is None
    }
    outputs += [
        Array(inputs[number].label, traced[number]) for number in written if id(traced[number]._buffer) not in returned
    ]
    edges = [
        Edge(at, number, kind, relation)
        for at, each in enumerate(outputs)
        if isinstance(each.value, Traced)
        for (number, kind), relations in each.value.origins().items()
        for relation in map(_refolded, union(relations))
    ]
    loose = [at for at, each in enumerate(outputs) if not isinstance(each.value, Traced) and np.shape(each.value) == ()]
    notes = [""] * len(outputs)
    for at in loose:  # numbers that left the run, and may be of the inputs
        taken = run.taken.get(id(outputs[at].value))
        if taken is not None and taken[0] is outputs[at].value:
            edges += [Edge(at, n, kind, each) for (n, kind), every in taken[1].items() for each in union(every)]
        elif run.casts:
            edges += [Edge(at, n, "value", Relation.whole((), each.shape)) for n, each in enumerate(inputs)]
            notes[at] = ALL_OF_IT
    originals = {id(one.value): each.value for one, each in zip(traced, inputs, strict=True)}
    plain = tuple(Array(each.label, _plain(each.value, originals)) for each in outputs)
    run.step("results", [(each.label, each.value) for each in outputs])
    looked = run.looked_at | (set() if notices else set(plain_given))
    numbers_only = {key for key, item in plain_given.items() if type(item) in (int, float)}
    return Captured(
        bare(replaced(result, lambda each: _plain(each, originals))), inputs, plain, tuple(edges), run.values_matter,
        run.sizes_compared, wrote=run.wrote or run.by_layout, written=tuple(written), notes=run.notes,
        unread=never_loaded(function).union(numbers_only - looked - run.used), literal=frozenset(looked - {LENGTH}),
        marks=frozenset(run.marks), divisors=frozenset(run.divisors), trail=run.trail, said=tuple(notes),
    )  # fmt: skip


def _noticing(item: Any, run: Run, name: str) -> Any:
    """An argument whose numbers notice who looks at them."""
    if type(item) is float:
        return Number.of(item, run, frozenset([name]), name)
    if type(item) is int:
        return Size.of(item, run, frozenset([name]), name)
    if isinstance(item, (list, tuple)) and not hasattr(item, "_fields"):
        return type(item)(_noticing(each, run, name) for each in item)
    return item


def _plain(item: Any, originals: dict[int, Any]) -> Any:
    """The numbers of a traced array; a single one as NumPy returns it, an argument as it was given.

    They are remembered, so that a number that is recorded is the very object that is returned.
    """
    if type(item) is Finished:
        return item.value
    return originals.setdefault(id(item.value), item.plain) if isinstance(item, Traced) else item


def _refolded(relation: Relation) -> Relation:
    """A relation that was put together from many pieces (a loop over rows), in as few rows as its tuples need."""
    rows = len(relation)
    if rows <= FEW or relation.count() > MOST_TO_FOLD:
        return relation
    folded = natural_form(relation.to_array(), relation.out_shape, relation.in_shape)
    if folded is not None and len(folded) < rows:
        relation = folded
    if len(relation) <= MANY:
        return relation
    best = merged([relation])
    return best if len(best.to_bytes()) < len(relation.to_bytes()) else relation


def _merged(edges: list[Edge]) -> tuple[Edge, ...]:
    """One edge for each pair and kind, where that is cheap."""
    groups: dict[tuple[int, int, rules.Kind], list[Relation]] = {}
    for edge in edges:
        groups.setdefault((edge.output, edge.input, edge.kind), []).append(edge.relation)
    return tuple(Edge(*key, each) for key, relations in groups.items() for each in map(_refolded, union(relations)))


def captured(
    function: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: tuple[str, ...],
    label: str,
    *,
    selection: bool,
    winner: bool = False,
) -> Captured:
    """Call the function and find the lineage of what it returns."""
    call = Call(function, args, kwargs, names, label, selection, winner, tuple(arrays_in(names, args, kwargs)))
    for each in call.inputs:
        checked(each.value, repr(each.label))
    before = global_generators()
    found = _captured(call)
    if before != global_generators() or unsteady(function, args, kwargs):
        return replace(found, unsteady=True)
    return found


def _captured(call: Call) -> Captured:
    if rules.has_rule(call.function) and not (call.winner and call.function in rules.EXTREMES):
        try:
            return by_rule(call)
        except rules.NoRule:
            pass  # a way of calling it that the rule does not cover may still be traced, or be refused by name
    try:
        return by_tracing(call)
    except rules.NoRule as error:
        if call.selection or call.winner or isinstance(error, Halfway):
            raise
        from whence.arrays.dtype.runs import by_dtype  # which stands on this module

        return by_dtype(call, error)
