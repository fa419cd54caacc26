"""Tracked calls in the log: names for their arrays, and one transaction for what they did.

A call that was traced is recorded before it returns. A call answered by reuse costs microseconds, a transaction costs
milliseconds; so such calls wait for a while, and are recorded with the next traced call, before any question is
answered, when the log is closed, and when the program ends.
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.recording.calls import Array, Captured, Edge
from whence.arrays.reuse import Level, ReuseIndex, ReuseRule
from whence.errors import BadType, Redefined, UnknownName
from whence.store.catalog import reuse, statements
from whence.store.catalog.clock import now
from whence.store.recording import bulk
from whence.store.recording.writer import Prepared, commit, prepare
from whence.store.values import name_of, plain

if TYPE_CHECKING:
    import sqlalchemy as sa

    from whence.store import Store

WAITING = 4096  # calls
PATIENCE = 5.0  # seconds
MOST_MEMORIES = 256  # functions


@dataclass(slots=True)
class Record:
    """What a call was recorded as, and what its lineage does not hold.

    `notes` counts the values taken out of arrays as plain numbers ("casts"), the decisions of Python code that looked
    at one ("branches"), and those made into text ("texts").
    """

    operation: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reused: bool
    notes: Mapping[str, int] = field(default_factory=dict)

    def rename(self, other: Mapping[str, str]) -> None:
        """Another program was faster to take these names."""
        self.inputs = tuple(other.get(name, name) for name in self.inputs)
        self.outputs = tuple(other.get(name, name) for name in self.outputs)


@dataclass(slots=True)
class _Waiting:
    record: Record
    shapes: dict[str, tuple[int, ...]]
    given: set[str]  # names that may be there already
    edges: tuple[Edge, ...]
    args: dict[str, Any]
    started: str


class Tracker:
    """What log.track and log.capture write into, one for each open log."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = store.database
        self._reader = store.reader
        self._owner = os.getpid()
        self._waiting: list[_Waiting] = []
        self._rules: dict[tuple[str, str, str], ReuseRule] = {}
        self._counts: dict[reuse.Count, list[int]] = {}
        self._since = 0.0
        self._names: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._taken: set[str] | None = None
        self._chosen: dict[str, tuple[int, ...]] = {}  # names that users gave
        self._numbers: dict[str, int] = {}  # where to look for the next free one
        self._memories: dict[str, ReuseIndex] = {}
        self._prepared: dict[int, tuple[Edge, Prepared]] = {}
        self._flushing = False
        _trackers.add(self)

    # --- what tracked functions ask for

    def ready(self) -> None:
        """An error before the function runs, if its call could not be recorded."""
        self._database.require_open()
        self._database.require_writable("write to")

    def learned(self, name: str) -> ReuseIndex:
        """What is known of the runs of functions of this name."""
        memory = self._memories.get(name)
        if memory is None:
            with self._database.lock:  # one lock for both, lest two threads wait for each other
                memory = self._memories.get(name)
                if memory is None:
                    if len(self._memories) >= MOST_MEMORIES:  # what they learned is in the log
                        self._memories.clear()
                    memory = self._memories[name] = ReuseIndex(self, name)
        return memory

    def record(
        self, call: str, found: Captured, names: Mapping[str, str], scalars: dict[str, Any], reused: bool
    ) -> Record:
        """Name the arrays and record the call: now if it was traced, soon if not."""
        with self._database.lock:
            self._after_fork()
            given: set[str] = set()
            shapes: dict[str, tuple[int, ...]] = {}
            inputs = tuple(self._input(each, names, given, shapes) for each in found.inputs)
            outputs = tuple(self._output(each, names, given, shapes) for each in found.outputs)
            record = Record(call, inputs, outputs, reused, found.notes)
            args = {key: _recordable(value, key) for key, value in scalars.items()}
            self._waiting.append(_Waiting(record, shapes, given, found.edges, args, now()))
            for name, array in zip((*inputs, *outputs), (*found.inputs, *found.outputs), strict=True):
                self._remember(array.value, name)
            self._arm()
            if not reused or len(self._waiting) >= WAITING or time.monotonic() - self._since > PATIENCE:
                self.flush()
            return record

    # --- names

    def _input(self, array: Array, names: Mapping[str, str], given: set[str], shapes: dict[str, Any]) -> str:
        if array.label in names:
            return self._given(names[array.label], array, given, shapes)
        known = self._names.get(id(array.value))
        if known is not None and known[0]() is array.value:
            shapes[known[1]] = array.shape
            given.add(known[1])
            return known[1]
        return self._new(array, shapes)

    def _output(self, array: Array, names: Mapping[str, str], given: set[str], shapes: dict[str, Any]) -> str:
        chosen = names.get(array.label) if array.label not in shapes else None
        if chosen is None and "." not in array.label:
            chosen = names.get("return")
        return self._given(chosen, array, given, shapes) if chosen is not None else self._new(array, shapes)

    def _given(self, name: str, array: Array, given: set[str], shapes: dict[str, Any]) -> str:
        name = name_of(name)
        there = shapes.get(name) or self._chosen.get(name)
        if there is None:
            there = self._there(name)
        if there is not None and there != array.shape:
            raise Redefined(f"{name!r} is already an array of shape {there}, not {array.shape}: choose another name")
        given.add(name)
        shapes[name] = self._chosen[name] = array.shape
        return name

    def _there(self, name: str) -> tuple[int, ...] | None:
        """The shape of a dataset of the log, if it has one of that name."""
        try:
            return self._reader.shapes((name,))[name]
        except UnknownName:
            return None

    def _new(self, array: Array, shapes: dict[str, Any]) -> str:
        if self._taken is None:
            with self._database.read() as connection:
                self._taken = set(statements.names(connection))
        name = array.label
        if name in self._taken:
            number = self._numbers.get(name, 2)
            while f"{name}#{number}" in self._taken:
                number += 1
            self._numbers[array.label] = number + 1
            name = f"{name}#{number}"
        self._taken.add(name)
        shapes[name] = array.shape
        return name

    def _remember(self, array: Any, name: str) -> None:
        """The same array later is the same dataset."""
        if not isinstance(array, np.generic):  # a number is not the same one later
            key = id(array)
            self._names[key] = (weakref.ref(array, lambda _: self._names.pop(key, None)), name)

    def _renamed(self, other: Mapping[str, str]) -> None:
        if other:
            self._names = {key: (ref, other.get(name, name)) for key, (ref, name) in self._names.items()}

    # --- the shelf of reuse rules

    def load(self, identity: str) -> list[ReuseRule]:
        """The rules of one function."""
        with self._database.read() as connection:
            return reuse.load(connection, identity)

    def put(self, rule: ReuseRule) -> None:
        """Keep a rule, with the next call that is recorded."""
        with self._database.lock:
            self._rules[rule.identity, rule.level, rule.signature] = rule
            self._arm()

    def count(self, identity: str, level: Level, signature: str, *, hits: int = 0, misses: int = 0) -> None:
        """Count a use of a rule."""
        with self._database.lock:
            counted = self._counts.setdefault((identity, level, signature), [0, 0])
            counted[0] += hits
            counted[1] += misses
            self._arm()

    # --- writing

    @property
    def closed(self) -> bool:
        """Whether the log was closed, which wrote what waited."""
        return self._database.closed

    def _arm(self) -> None:
        """From now on, whoever opens a transaction writes what waits first."""
        if self._database.before is None:
            self._since = time.monotonic()
            self._database.before = self.flush

    def _after_fork(self) -> None:
        """What waited when the process forked is its parent's to write."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._waiting, self._rules, self._counts = [], {}, {}

    def flush(self) -> None:
        """Record all that waits, in one transaction; on failure it waits on."""
        with self._database.lock:
            self._after_fork()
            if self._flushing:
                return
            waiting, kept, counts = self._waiting, self._rules, self._counts
            self._database.before = None
            if not (waiting or kept or counts):
                return
            self._flushing = True
            self._waiting, self._rules, self._counts = [], {}, {}
            try:
                items = {id(edge): self._prepare(edge) for each in waiting for edge in each.edges}
                distinct = {item.edge.relation.hash: item for item in items.values()}
                calls = [_call(each, items) for each in waiting]

                def write(connection: sa.Connection) -> None:
                    renamed = bulk.add(connection, calls)
                    for each, other in zip(waiting, renamed, strict=True):
                        each.record.rename(other)
                        self._renamed(other)
                    for rule in kept.values():
                        reuse.put(connection, rule)
                    for what, (hits, misses) in counts.items():
                        reuse.count(connection, what, hits, misses)

                commit(self._store, list(distinct.values()), write)
            except BaseException:
                self._waiting, self._rules, self._counts = waiting + self._waiting, {**kept, **self._rules}, counts
                raise
            finally:
                self._flushing = False

    def _prepare(self, edge: Edge) -> Prepared:
        found = self._prepared.get(id(edge))
        if found is None or found[0] is not edge:
            if len(self._prepared) > 1 << 12:
                self._prepared.clear()
            found = self._prepared[id(edge)] = (edge, prepare("", "", edge.relation))
        return found[1]


_trackers: weakref.WeakSet[Tracker] = weakref.WeakSet()


@atexit.register
def _at_exit() -> None:
    for each in list(_trackers):
        if not each.closed:
            each.flush()


def _call(waiting: _Waiting, items: dict[int, Prepared]) -> bulk.Call:
    record = waiting.record
    edges: list[tuple[int, int, str, statements.Stored]] = [
        (edge.output, edge.input, "boxes" if edge.kind == "value" else edge.kind, items[id(edge)].edge.relation)
        for edge in waiting.edges
    ]
    return bulk.Call(
        record.operation, record.inputs, record.outputs, waiting.shapes, waiting.given, edges, waiting.args,
        waiting.started, record.reused,
    )  # fmt: skip


def _recordable(value: Any, key: str) -> Any:
    try:
        return plain(value, key)
    except BadType:
        return {"$": type(value).__name__, "value": repr(value)[:200]}
