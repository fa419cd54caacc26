"""Recording tracked calls: naming their arrays, and writing many calls in one transaction.

A traced call is recorded before it returns. A call that reuses lineage takes microseconds, a transaction takes
milliseconds; so such calls wait, and are recorded with the next traced call, before any question is answered, when the
log is closed, and when the program ends. In a process that another Python process started (joblib), they are recorded
immediately, because it may be ended at any time.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.linking.content import digest_of
from whence.arrays.linking.frames import array_behind, table_digest
from whence.arrays.linking.places import CodeLine
from whence.arrays.recording.calls import Captured, Edge
from whence.arrays.recording.said import Doubt, said
from whence.arrays.recording.structures import Array
from whence.arrays.reuse import Level, ReuseIndex, ReuseRule
from whence.errors import BadType
from whence.store.catalog import reuse, statements
from whence.store.catalog.clock import now
from whence.store.recording import bulk
from whence.store.recording.arriving import Draft, Handed
from whence.store.recording.files import Files
from whence.store.recording.links import Links
from whence.store.recording.naming import Names
from whence.store.recording.writer import Prepared, commit, prepare
from whence.store.values import plain

if TYPE_CHECKING:
    import sqlalchemy as sa

    from whence.store import Store

WAITING = 4096  # calls
PATIENCE = 5.0  # seconds
SMALL = 4096  # bytes; smaller relations are stored in the catalog, so that a thousand calls do not write as many files
MOST_MEMORIES = 256  # functions


@dataclass(slots=True)
class Record:
    """The names under which a call was recorded, and counts of what its lineage does not include.

    `notes` counts the values converted to Python numbers ("casts"), used in conditions of Python code ("branches"), and
    converted to strings ("texts").
    """

    operation: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reused: bool
    notes: Mapping[str, int] = field(default_factory=dict)

    def rename(self, other: Mapping[str, str]) -> None:
        """Rename datasets whose names another program took first."""
        self.inputs = tuple(other.get(name, name) for name in self.inputs)
        self.outputs = tuple(other.get(name, name) for name in self.outputs)


@dataclass(slots=True)
class _Waiting:
    record: Record
    draft: Draft
    args: dict[str, Any]
    started: str
    place: CodeLine | None = None  # of the call


class Tracker:
    """The recorder of log.track and log.capture, one for each open log."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = store.database
        self._owner = os.getpid()
        self._waiting: list[_Waiting] = []
        self._rules: dict[tuple[str, str, str], ReuseRule] = {}
        self._counts: dict[reuse.Count, list[int]] = {}
        self._since = 0.0
        self.names = Names(store)
        self.links = Links(self.names)
        self._memories: dict[str, ReuseIndex] = {}
        self._prepared: dict[int, tuple[Edge, Prepared]] = {}
        self._loaded: dict[Hashable, str] = {}  # datasets read from files, by content
        self._flushing = False
        _trackers.add(self)

    # --- used by tracked functions

    @property
    def address(self) -> tuple[Callable[..., Tracker], tuple[Any, ...]]:
        """A function and arguments with which another process opens a tracker of the same log."""
        return tracker_at, self._store.opened_as

    def ready(self) -> None:
        """Raise an error, before the function runs, if its call cannot be recorded."""
        self._database.require_open()
        self._database.require_writable("write to")

    def learned(self, name: str) -> ReuseIndex:
        """Return the reuse rules of functions with this name."""
        memory = self._memories.get(name)
        if memory is None:
            with self._database.lock:  # one lock for both, to avoid a deadlock
                memory = self._memories.get(name)
                if memory is None:
                    if len(self._memories) >= MOST_MEMORIES:  # their rules are in the log
                        self._memories.clear()
                    memory = self._memories[name] = ReuseIndex(self, name)
        return memory

    def arrived(self, values: Iterable[Any]) -> Handed:
        """Look up the arguments of a call, before the function runs and may change them."""
        with self._database.lock:
            return self.links.arrived(values)

    def array_of(self, name: str) -> Any:
        """Return the array of a dataset, if it is still referenced in this program and unchanged; else None."""
        with self._database.lock:
            return self.links.living.array_of(name)

    def defined(self, value: Any, name: str) -> None:
        """Remember the array of a dataset that log.array defined, unless it is known already."""
        with self._database.lock:
            if self.links.living.find(value).how == "new":
                self.links.source(value, name)

    def watched(self, *, hand_overs: bool = False) -> Files:
        """Record files that are read and written until `stop`; with `hand_overs`, also frames that go from Spark to
        pandas and back."""
        made = Files(self._store, hand_overs=hand_overs)
        made.start()
        return made

    def number(self, value: Any, *, outside: bool = False) -> Any:
        """Return an array for a number that a tracked call returned, in this log or another; else None.

        With `outside`, also for a number that no tracked call returned.
        """
        with self._database.lock:
            name = self.links.numbers.name_of(value)
            if name is None:
                return self.links.numbers.foreign(value, outside=outside)
            array = np.asarray(value)
            self.links.living.keep(array, name, digest_of(array), result=True, part=False, copy=True)
            return array

    def suspects(self, number: Any) -> bool:
        """Whether an unknown number may have been computed from results of tracked calls."""
        with self._database.lock:
            return self.links.suspects(number)

    def record(
        self, call: str, found: Captured, names: Mapping[str, str], scalars: dict[str, Any], reused: bool,
        handed: Handed | None = None,
    ) -> Record:  # fmt: skip
        """Name the arrays and record the call: now if it was traced, later if its lineage was reused."""
        with self._database.lock:
            self._after_fork()
            arrived, place = handed or self.links.arrived(each.value for each in found.inputs)
            draft = Draft(call, edges=found.edges)
            links: list[Draft] = []
            draft.inputs = tuple(
                self.links.input(each.label, each.shape, own, names.get(each.label), place, draft, links)
                for each, own in zip(found.inputs, arrived, strict=True)
            )
            draft.outputs = tuple(self._output(each, names, draft) for each in found.outputs)
            for name, note in zip(draft.outputs, said(found), strict=True):
                if note:
                    about = {"note": str(note), "doubt": isinstance(note, Doubt), "line": str(place)}
                    draft.properties.setdefault(name, {}).update(about)
            record = Record(call, draft.inputs, draft.outputs, reused, found.notes)
            args = {key: _recordable(value, key) for key, value in scalars.items()}
            started = now()
            for link in links:
                own_record = Record(link.operation, link.inputs, link.outputs, False)
                self._waiting.append(_Waiting(own_record, link, {"line": str(place)}, started))
            self._waiting.append(_Waiting(record, draft, args, started, place))
            for number, (name, own) in enumerate(zip(draft.inputs, arrived, strict=True)):
                if number not in found.written:
                    self.links.remember(name, own)
            written = {id(found.inputs[number].value): arrived[number] for number in found.written}
            for name, array in zip(draft.outputs, found.outputs, strict=True):
                into = written.get(id(array.value))
                self.links.result(array.value, name, written=into is not None)
                if into is not None and (around := self.links.around(into, name, place)) is not None:
                    own_record = Record(around.operation, around.inputs, around.outputs, False)
                    self._waiting.append(_Waiting(own_record, around, {"line": str(place)}, started))
            self._arm()
            late = len(self._waiting) >= WAITING or time.monotonic() - self._since > PATIENCE
            if not reused or late or _is_started_by_another():  # the parent may end it at any time
                self.flush()
            return record

    def loaded(self, value: Any, label: str) -> str:
        """Return the dataset of an array or a table that was read from a file; record it if it is new."""
        with self._database.lock:
            array = array_behind(value)
            key = (label, np.shape(value), table_digest(value) if array is None else digest_of(array))
            name = self._loaded.get(key)
            if name is None:
                name = self._loaded[key] = self.names.fresh(label)
                draft = Draft("")
                draft.needs(name, np.shape(value), there=False)
                self._write_datasets(draft, [])
            self.links.source(value, name)
            return name

    def known_as(self, value: Any, label: str) -> str:
        """Return the dataset of an array or a table; record it as a source if it is unknown."""
        with self._database.lock:
            (arrived,), place = self.links.arrived([value])
            draft, links = Draft(""), list[Draft]()
            name = self.links.input(arrived.variable or label, np.shape(value), arrived, None, place, draft, links)
            self.links.remember(name, arrived)
            self._write_datasets(draft, links)
            return name

    def linked_as(self, table: Any, label: str) -> str | None:
        """Return the dataset of a table if it has rows and columns of known tables, and record it; else None."""
        with self._database.lock:
            return self.known_as(table, label) if self.links.is_linked(table) else None

    def _write_datasets(self, draft: Draft, links: list[Draft]) -> None:
        for each in (draft, *links):
            self._waiting.append(_Waiting(Record(each.operation, each.inputs, each.outputs, False), each, {}, now()))
        self._arm()
        self.flush()

    def _output(self, array: Array, names: Mapping[str, str], draft: Draft) -> str:
        chosen = names.get(array.label)
        if chosen is None and array.label == draft.operation:
            chosen = names.get("return")
        return self.links.output(array.label, array.shape, chosen, draft)

    # --- reuse rules

    def load(self, identity: str) -> list[ReuseRule]:
        """Return the reuse rules of one function."""
        with self._database.read() as connection:
            return reuse.load(connection, identity)

    def put(self, rule: ReuseRule) -> None:
        """Store a rule with the next call that is recorded."""
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
        """Whether the log was closed, which also writes pending calls."""
        return self._database.closed

    def _arm(self) -> None:
        """Make the next transaction write pending calls first."""
        if self._database.before is None:
            self._since = time.monotonic()
            self._database.before = self.flush

    def _after_fork(self) -> None:
        """Drop pending calls in a forked child: the parent writes them."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._waiting, self._rules, self._counts = [], {}, {}

    def flush(self) -> None:
        """Record all pending calls in one transaction; if it fails, they stay pending."""
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
                items = {id(edge): self._prepare(edge) for each in waiting for edge in each.draft.edges}
                distinct = {item.edge.relation.hash: item for item in items.values()}
                calls = [_call(each, items) for each in waiting]

                def write(connection: sa.Connection) -> None:
                    renamed = bulk.add(connection, calls)
                    for each, other in zip(waiting, renamed, strict=True):
                        each.record.rename(other)
                        self.links.renamed(other)
                    for rule in kept.values():
                        reuse.put(connection, rule)
                    for what, (hits, misses) in counts.items():
                        reuse.count(connection, what, hits, misses)

                large = [item for item in distinct.values() if item.edge.relation.data is None]
                commit(self._store, large, write)
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
            found = self._prepared[id(edge)] = (edge, prepare("", "", edge.relation, small=SMALL))
        return found[1]


_trackers: weakref.WeakSet[Tracker] = weakref.WeakSet()
_opened: dict[tuple[Any, ...], Store] = {}  # logs opened for functions of other processes


def tracker_at(where: str, blobs: str | None) -> Tracker:
    """Return the tracker of a log, which is opened unless it is open in this process."""
    from whence.store import open_store

    for each in list(_trackers):
        if each._store.opened_as == (where, blobs) and not each.closed:
            return each
    store = _opened.get((where, blobs))
    if store is None or store.database.closed:
        store = _opened[where, blobs] = open_store(where, blobs=blobs, create=False)
    return store.tracker


@atexit.register
def _at_exit() -> None:
    for each in list(_trackers):
        if not each.closed:
            each.flush()


def _call(waiting: _Waiting, items: dict[int, Prepared]) -> bulk.Call:
    record, draft = waiting.record, waiting.draft
    edges: list[tuple[int, int, str, statements.Stored]] = [
        (edge.output, edge.input, "boxes" if edge.kind == "value" else edge.kind, items[id(edge)].edge.relation)
        for edge in draft.edges
    ]
    return bulk.Call(
        record.operation, record.inputs, record.outputs, draft.shapes, draft.given, edges, waiting.args,
        waiting.started, record.reused, draft.properties, draft.revisions, draft.chosen, _where(waiting.place),
    )  # fmt: skip


def _is_started_by_another() -> bool:
    """Whether another Python process started this one, as joblib and multiprocessing do."""
    found = sys.modules.get("multiprocessing.process")
    return found is not None and found.parent_process() is not None


def _where(place: CodeLine | None) -> dict[str, Any]:
    return {} if place is None or not place.line else {"script": os.path.basename(place.file), "line": place.line}


def _recordable(value: Any, key: str) -> Any:
    try:
        return plain(value, key)
    except BadType:
        return {"$": type(value).__name__, "value": repr(value)[:200]}
