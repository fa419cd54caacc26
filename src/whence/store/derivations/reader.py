"""Answering questions: the graph in memory, updated from the catalog, and the relations it refers to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whence.errors import Damaged
from whence.relation import Relation, RelationLike
from whence.relation.parts import PartedRelation
from whence.relation.table_cells import restored
from whence.selection import Selection
from whence.store.blobs.local import MAPPED
from whence.store.catalog import statements
from whence.store.catalog.kinds import refuse
from whence.store.derivations.adjacency import ROWS, RUN, Adjacency, Way
from whence.store.derivations.cache import RelationCache
from whence.store.derivations.walk import Load

if TYPE_CHECKING:
    from whence.store.blobs.local import Blobs
    from whence.store.catalog.database import Database, Stamp

Answer = TypeVar("Answer")
Given = TypeVar("Given", covariant=True)


class Followed(Protocol[Given]):
    """A plan that a selection can follow."""

    def follow(self, selection: Selection, load: Load) -> Given:
        """Return the cells that the selection leads to."""


class Reader:
    """The graph and the open relations of one log, for all its threads."""

    def __init__(self, database: Database, blobs: Blobs, cache: int) -> None:
        self._database = database
        self._blobs = blobs
        self._cache = RelationCache(cache)
        self._stamp: Stamp | None = None
        self._graph = Adjacency()
        self._names: dict[int, str] = {}
        self._last_dataset = self._last_edge = self._last_activity = -1
        self._in_catalog: set[str] = set()  # small relations, stored in the catalog
        self.open_run: Callable[[Mapping[str, Any], str, str], RelationLike]  # takes document, output and input
        self.open_rows: Callable[[Relation, str, str], RelationLike]  # from rows to cells

    def shapes(self, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of datasets, or raise UnknownName."""
        with self._database.lock:
            graph = self._current()
            return {name: graph.shape(name) for name in names}

    def has(self, name: str) -> bool:
        """Whether there is a dataset with that name."""
        with self._database.lock:
            return name in self._current().shapes

    def columns(self, name: str) -> tuple[str, ...] | None:
        """Return the column names of a table; None if the dataset is not a table."""
        with self._database.lock:
            return self._current().tables.get(name)

    def all_cells(self, name: str) -> Selection:
        """Return all cells of a dataset."""
        return Selection.of("...", self.shapes((name,))[name])

    def selected(self, name: str, cells: object) -> Selection:
        """Return the given cells of a dataset as a selection."""
        return Selection.of(cells, self.shapes((name,))[name])

    def called(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the datasets that names mean, the latest of several versions; or raise UnknownName."""
        with self._database.lock:
            graph = self._current()
            return tuple(graph.meant(name) for name in names)

    def ask(self, start: str, cells: object, plan: Callable[[Adjacency], Followed[Answer]]) -> Answer:
        """Plan over the current graph with the lock held, then follow the cells of `start` without the lock.

        If a relation is missing because its dataset was deleted meanwhile, the question is answered again over the new
        graph.
        """
        asked: dict[tuple[int, ...], Selection] = {}
        while True:
            with self._database.lock:
                graph = self._current()
                shape, made, stamp = graph.shape(start), plan(graph), self._stamp
            if shape not in asked:
                asked[shape] = Selection.of(cells, shape)
            try:
                return made.follow(asked[shape], self.load)
            except Damaged:
                present = self._database.stamp()
                if stamp is None or present.removals == stamp.removals:
                    raise

    def load(self, way: Way) -> RelationLike:
        """Return the relation of a derivation: a stored one, or one that a run answers."""
        if way.kind == RUN:
            return self._run(way)
        relation = self.boxes(way.hash, way.output, way.input)
        return relation if way.kind != ROWS else self.open_rows(relation, way.output, way.input)

    def boxes(self, hash: str, output: str = "a dataset", input: str = "another") -> Relation:
        """Return a stored relation, from the cache if possible."""
        lock = self._database.lock
        with lock:
            relation = self._cache.get(hash)
            if relation is not None:
                return relation
        what = f"the lineage of {output!r} from {input!r}"
        data = self._small(hash)
        relation = self._blobs.open(hash, what) if data is None else restored(data, what)
        with lock:
            self._cache.put(hash, relation, self._weight(relation))
        return relation

    def _run(self, way: Way) -> RelationLike:
        data = self._small(way.hash)
        what = f"how {way.output!r} came from {way.input!r}"
        try:
            document = json.loads(data or b"")
        except ValueError as error:
            raise Damaged(f"{what} is not readable in the catalog: run the pipeline again") from error
        match document:
            case {"asked": "run", "run": int(), "source": str(), "out_shape": [*_], "in_shape": [*_]}:
                return self.open_run(document, way.output, way.input)
        raise Damaged(f"{what} is not readable in the catalog: run the pipeline again, or upgrade whence")

    def _small(self, hash: str) -> bytes | None:
        """Return the bytes of a relation in the catalog; None if it is in the blobs."""
        if hash not in self._in_catalog:
            return None
        with self._database.read() as connection:
            return statements.content(connection, hash)

    def _current(self) -> Adjacency:
        """Update the graph from the catalog and return it; the caller holds the lock.

        Ids grow in the order of commits, so new rows have higher ids than those in the graph.
        """
        if self._database.stamp() == self._stamp:
            return self._graph
        with self._database.read() as connection:
            stamp = statements.stamp(connection)
            if self._stamp is None or stamp.removals != self._stamp.removals:
                self._graph, self._names, self._in_catalog = Adjacency(), {}, set()
                self._last_dataset = self._last_edge = self._last_activity = -1
            datasets = statements.datasets_after(connection, self._last_dataset)
            edges = statements.edges_after(connection, self._last_edge)
            activities = statements.loose_after(connection, self._last_activity)
            last_activity = statements.last_activity(connection)
        try:
            self._add(datasets, edges, activities)
        except KeyError as error:
            self._stamp = None
            refuse(f"there is no entity {error}, to which a derivation or an activity refers", error)
        self._last_activity = last_activity
        self._stamp = stamp
        return self._graph

    def _add(
        self,
        datasets: Iterable[Any],
        edges: Iterable[statements.Derived],
        activities: Iterable[statements.Loose],
    ) -> None:
        for id, name, shape, kind, properties in datasets:
            self._names[id] = name
            self._graph.add_dataset(name, tuple(shape))
            self._graph.describe(name, kind, properties)
            self._last_dataset = id
        derived: list[tuple[str, str, str]] = []
        for id, output, input, relation, kind, in_catalog, activity in edges:
            self._last_edge = id
            if relation is None:
                derived.append((self._names[output], self._names[input], kind))
                continue
            if in_catalog:
                self._in_catalog.add(relation)
            self._graph.add_edge(self._names[output], self._names[input], relation, kind, activity)
        self._add_loose(activities, derived)

    def _add_loose(self, activities: Iterable[statements.Loose], derived: Iterable[tuple[str, str, str]]) -> None:
        """Add what is related as a whole only.

        If the result of an operation has a note, the operation recorded that no cell went into it. What a commit
        changed is the history of a file, not the lineage of its content.
        """
        graph, names = self._graph, self._names
        committed: set[str] = set()
        for each in activities:
            outputs = [names[one] for one in each.generated]
            if each.kind == "commit":
                committed.update(outputs)
                continue
            if each.kind == "operation":
                outputs = [one for one in outputs if one not in graph.notes]
            graph.add_activity(each.number, each.label, [names[one] for one in each.used], outputs)
        for output, input, kind in derived:
            if output not in committed:
                graph.add_derivation(output, input, kind)

    def is_table(self, name: str) -> bool:
        """Whether a dataset is a table."""
        with self._database.lock:
            return name in self._current().tables

    def tables(self, names: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Return the names that mean tables, each with its dataset and the names of its columns."""
        with self._database.lock:
            graph = self._current()
            if not graph.tables:
                return {}
            meant = ((name, graph.every(name)[-1:]) for name in names)
            return {name: (own[0], graph.tables[own[0]]) for name, own in meant if own and own[0] in graph.tables}

    def is_file(self, name: str) -> bool:
        """Whether a dataset is a version of a file or directory, which has no cells."""
        with self._database.lock:
            return name in self._current().artifacts

    def _weight(self, relation: Relation) -> int:
        """Estimate the bytes of a relation in memory.

        A relation that may be memory-mapped counts as at least 1/512 of the limit, so that the cache keeps at most 512
        files open; one with parts, which keeps several files open, as 1/16.
        """
        if isinstance(relation, PartedRelation):
            return self._cache.limit >> 4
        size = 512 + 8 * relation.numbers
        return size if size < MAPPED else max(size, self._cache.limit >> 9)
