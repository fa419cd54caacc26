"""Answering questions: the graph in memory, kept as fresh as the catalog, and the relations it leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

from whence.errors import Damaged
from whence.relation import Relation
from whence.selection import Selection
from whence.store.blobs.local import MAPPED
from whence.store.catalog import statements
from whence.store.derivations.cache import RelationCache
from whence.store.derivations.walk import Adjacency, Load

if TYPE_CHECKING:
    from whence.store.blobs.local import Blobs
    from whence.store.catalog.database import Database, Stamp

Answer = TypeVar("Answer")
Given = TypeVar("Given", covariant=True)


class Followed(Protocol[Given]):
    """A plan that cells can be sent along."""

    def follow(self, selection: Selection, load: Load) -> Given:
        """What the selection leads to."""


class Reader:
    """The graph and the open relations of one log, for all its threads."""

    def __init__(self, database: Database, blobs: Blobs, cache: int) -> None:
        self._database = database
        self._blobs = blobs
        self._cache = RelationCache(cache)
        self._stamp: Stamp | None = None
        self._graph = Adjacency()
        self._names: dict[int, str] = {}
        self._last_dataset = self._last_edge = -1
        self._in_catalog: set[str] = set()  # relations that are small

    def shapes(self, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """The shapes of datasets, or UnknownName."""
        with self._database.lock:
            graph = self._current()
            return {name: graph.shape(name) for name in names}

    def has(self, name: str) -> bool:
        """Whether there is a dataset of that name."""
        with self._database.lock:
            return name in self._current().shapes

    def all_cells(self, name: str) -> Selection:
        """The whole of a dataset."""
        return Selection.of("...", self.shapes((name,))[name])

    def selected(self, name: str, cells: object) -> Selection:
        """Cells of a dataset."""
        return Selection.of(cells, self.shapes((name,))[name])

    def called(self, names: Iterable[str]) -> tuple[str, ...]:
        """The datasets that are meant by names: of an array with versions the latest; or UnknownName."""
        with self._database.lock:
            graph = self._current()
            return tuple(graph.meant(name) for name in names)

    def ask(self, start: str, cells: object, plan: Callable[[Adjacency], Followed[Answer]]) -> Answer:
        """Plan over the present graph, then follow the cells of `start` without holding anybody up.

        A relation that vanishes in between because its dataset was deleted is not damage: the question is then
        asked of the graph without it.
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

    def load(self, hash: str) -> Relation:
        """A relation, opened once and kept while there is room."""
        lock = self._database.lock
        with lock:
            relation = self._cache.get(hash)
            if relation is not None:
                return relation
            output, input = self._graph.endpoints.get(hash, ("a dataset", "another"))  # deleted since it was planned
        what = f"the lineage of {output!r} from {input!r}"
        data = self._small(hash)
        relation = self._blobs.open(hash, what) if data is None else Relation.from_bytes(data, what)
        with lock:
            self._cache.put(hash, relation, self._weight(relation))
        return relation

    def _small(self, hash: str) -> bytes | None:
        """The bytes of a relation that lies in the catalog, if it does."""
        if hash not in self._in_catalog:
            return None
        with self._database.read() as connection:
            return statements.content(connection, hash)

    def _current(self) -> Adjacency:
        """The graph as the catalog has it now; the caller holds the lock.

        Ids grow in the order of commits, so that what was added can be told from what is known.
        """
        if self._database.stamp() == self._stamp:
            return self._graph
        with self._database.read() as connection:
            stamp = statements.stamp(connection)
            if self._stamp is None or stamp.removals != self._stamp.removals:
                self._graph, self._names, self._in_catalog = Adjacency(), {}, set()
                self._last_dataset = self._last_edge = -1
            datasets = statements.datasets_after(connection, self._last_dataset)
            edges = statements.edges_after(connection, self._last_edge)
        for id, name, shape, kind, properties in datasets:
            self._names[id] = name
            self._graph.add_dataset(name, tuple(shape))
            self._graph.describe(name, kind, properties)
            self._last_dataset = id
        for id, output, input, relation, kind, in_catalog in edges:
            if in_catalog:
                self._in_catalog.add(relation)
            self._graph.add_edge(self._names[output], self._names[input], relation, kind)
            self._last_edge = id
        self._stamp = stamp
        return self._graph

    def _weight(self, relation: Relation) -> int:
        """Roughly the bytes of a relation once all of it was read: two numbers for each axis of each box.

        One that may be mapped weighs so much that the cache never holds more than 512 files open.
        """
        size = 512 + 16 * len(relation) * (len(relation.out_shape) + len(relation.in_shape))
        return size if size < MAPPED else max(size, self._cache.limit >> 9)
