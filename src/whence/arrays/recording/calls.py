"""What one call of a function of plain arrays did: its arrays, its results, and the lineage between them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whence.arrays import rules
from whence.arrays.recording.randomness import global_generators, unsteady
from whence.arrays.rules._reading import never_loaded, unread
from whence.arrays.tracing import Run, Traced
from whence.arrays.tracing._origins import merged, natural_form, union
from whence.arrays.tracing._rebound import rebound
from whence.arrays.tracing._run import checked
from whence.arrays.tracing._sight import vouched
from whence.arrays.tracing._sizes import LENGTH, Number, Size, bare
from whence.errors import BadType
from whence.relation import Relation

FEW = 4  # rows that are not worth folding
MANY = 64  # rows that have no form to be kept
MOST_TO_FOLD = 1 << 18

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
    return item


def outputs_of(result: Any, label: str) -> list[Array]:
    """The arrays that a function returned: one, or those in a tuple, list or dict; numbers of NumPy count."""
    if inspect.isgenerator(result) or inspect.isasyncgen(result) or inspect.iscoroutine(result):
        raise BadType(f"{label} returned a {type(result).__name__}: lineage is kept of arrays; return a list of them")
    if isinstance(result, (np.ndarray, Traced, np.number, np.bool_)):
        return [Array(label, result)]
    found: list[Array] = []
    if isinstance(result, dict):
        for key, each in result.items():
            found += outputs_of(each, f"{label}.{key}")
    elif isinstance(result, (list, tuple)):
        names = getattr(result, "_fields", range(len(result)))
        for key, each in zip(names, result, strict=True):
            found += outputs_of(each, f"{label}.{key}")
    return found


def by_rule(call: Call) -> Captured:
    """The call of a function that has a rule: no run but its own."""
    function, args, kwargs, inputs = call.function, call.args, call.kwargs, call.inputs
    if kwargs.get("out") is not None or (isinstance(function, np.ufunc) and len(args) > function.nin):
        raise rules.NoRule(f"{rules.name_of(function)} with out=: assign its result instead, out[...] = ...")
    links, values_matter = rules.watched(function, args, kwargs, {id(each.value): each.value for each in inputs})
    result = function(*args, **kwargs)
    outputs = tuple(outputs_of(result, call.label))
    numbers: dict[int, list[int]] = {}
    for number, each in enumerate(inputs):
        numbers.setdefault(id(each.value), []).append(number)
    edges = [
        Edge(at, numbers[id(link.operand)][0], link.kind, link.relation)
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
        unread=ignored,
        divisors=frozenset(rules.divisors(function, args, kwargs)),
    )


def by_tracing(call: Call) -> Captured:
    """The call of any function: a run on traced arrays over the same memory."""
    function, inputs, label = call.function, call.inputs, call.label
    run = Run(selection=call.selection, winner=call.winner)
    traced: dict[int, Traced] = {}
    for each in inputs:
        if id(each.value) not in traced:
            traced[id(each.value)] = run.input(each.value, repr(each.label))
    numbers = {id(each): n for n, each in enumerate(traced.values())}
    first = [next(i for i, each in enumerate(inputs) if id(each.value) == key) for key in traced]
    plain_given = call.named
    noticed = (
        {key: _noticing(item, run, key) for key, item in plain_given.items()} if vouched(function) else plain_given
    )
    given = {key: replaced(item, lambda each: traced[id(each)]) for key, item in noticed.items()}
    own = rebound(function, run)
    try:
        result = own(*list(given.values())[: len(call.args)], **{key: given[key] for key in call.kwargs})
    except rules.NoRule as error:
        if any(each._buffer.version for each in traced.values()):
            raise Halfway(
                f"{error}; and {label} had already changed its arguments, so it cannot be run again"
            ) from error
        raise
    outputs = outputs_of(result, label)
    written = [each for each in traced.values() if each._buffer.version]
    for changed_input in written:
        _must_not_overlap(changed_input, list(traced.values()), label)
    returned = {
        id(each.value._buffer) for each in outputs if isinstance(each.value, Traced) and each.value._view is None
    }
    changed = [each for each in written if id(each._buffer) not in returned]
    outputs += [Array(inputs[first[numbers[id(each)]]].label, each) for each in changed]
    edges = [
        Edge(at, first[number], kind, relation)
        for at, each in enumerate(outputs)
        if isinstance(each.value, Traced)
        for (number, kind), relations in each.value.origins().items()
        for relation in map(_refolded, union(relations))
    ]
    plain = tuple(Array(each.label, _plain(each.value)) for each in outputs)
    run.step("results", [(each.label, each.value) for each in outputs])
    looked = run.looked_at | (set(given) if noticed is plain_given else set())
    numbers_only = {key for key, item in plain_given.items() if type(item) in (int, float)}
    return Captured(
        bare(replaced(result, _plain)), inputs, plain, tuple(edges), run.values_matter, run.sizes_compared,
        wrote=run.wrote, written=tuple(first[numbers[id(each)]] for each in written), notes=run.notes,
        unread=never_loaded(function).union(numbers_only - looked - run.used), literal=frozenset(looked - {LENGTH}),
        marks=frozenset(run.marks), divisors=frozenset(run.divisors), trail=run.trail,
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


def _must_not_overlap(written: Traced, all_inputs: list[Traced], label: str) -> None:
    """Memory that two inputs share has two origins; as long as nobody writes to it, they say the same."""
    if any(other is not written and np.may_share_memory(written.value, other.value) for other in all_inputs):
        raise Halfway(
            f"{label} writes into an argument that shares memory with another one: pass a copy of one of them"
        )


def _plain(item: Any) -> Any:
    """The numbers of a traced array; a single one as NumPy returns it."""
    return item.plain if isinstance(item, Traced) else item


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
