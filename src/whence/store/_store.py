"""The parts of a log: the catalog, the blobs, and the derivations in memory. `whence.log.Log` is what users hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from whence.graph import Graph
    from whence.relation import Relation, RelationLike
    from whence.selection import Selection
    from whence.store.blobs.local import Blobs
    from whence.store.catalog.database import Database, Stamp
    from whence.store.recording.activity import Activity
    from whence.store.recording.tracking import Tracker


class Stoppable(Protocol):
    """Something that goes on until it is stopped."""

    def stop(self) -> None: ...


class Tables(Protocol):
    """What the layer above knows of tables: how their rows are read, and how a run is asked."""

    def selected(self, name: str, rows: object, columns: Sequence[str] | None) -> Selection:
        """The cells of a table in rows that are given by what they hold."""

    def arrow(self, name: str, numbers: NDArray[np.int64], columns: Sequence[int] | None) -> pa.Table:
        """Rows of a table by their numbers."""

    def relation(self, document: Mapping[str, Any], output: str, input: str) -> RelationLike:
        """How the output of a run came from one of its sources."""

    def by_rows(self, relation: Relation, output: str, input: str) -> RelationLike:
        """The same where the rows are stored: what it says of cells."""

    def watched(self) -> Stoppable:
        """From now on, until it is stopped, frames that go from Spark to pandas and back are known."""


class Store:
    """An open log: `database` holds the catalog, `blobs` the relations and saved results, `reader` answers questions.

    It may be used by many threads and many processes at once.
    """

    def __init__(self, where: str, database: Database, blobs: Blobs, cache: int) -> None:
        # All that recording and asking need is imported now: were one thread to import it while another forks, the
        # child would wait for ever for an import that nobody finishes.
        import pcodec  # noqa: F401 # loaded before it is needed

        from whence.store.derivations.reader import Reader
        from whence.store.prov import circumstances  # noqa: F401 # as above
        from whence.store.recording import writer  # noqa: F401 # likewise

        self.where = where  # the directory, or the URL without its password
        self.opened_as: tuple[str, str | None] = (where, None)  # path or URL, and blobs, for other processes
        self.database = database
        self.blobs = blobs
        self.reader = Reader(database, blobs, cache)
        self._tables: Tables | None = None
        self.connect_tables: Callable[[], Tables] = _no_tables  # `Log` says how
        self.reader.open_run = lambda *run: self.tables.relation(*run)
        self.reader.open_rows = lambda *rows: self.tables.by_rows(*rows)
        self._tracker: Tracker | None = None
        self._graph: tuple[Stamp, Graph] | None = None

    @property
    def tracker(self) -> Tracker:
        """What records the calls of tracked functions."""
        from whence.store.recording.tracking import Tracker

        if self._tracker is None:
            self._tracker = Tracker(self)
        return self._tracker

    @property
    def tables(self) -> Tables:
        """What is known of tables."""
        if self._tables is None:
            self._tables = self.connect_tables()
        return self._tables

    def forget_name(self, name: str) -> None:
        """A dataset of that name is about to be defined or deleted."""
        if self._tracker is not None:
            with self.database.lock:
                self._tracker.flush()
                self._tracker.names.forget(name)

    @property
    def graph(self) -> Graph:
        """The project graph, read again after changes."""
        from whence.store.prov.project import graph_of

        stamp = self.database.stamp()
        known = self._graph
        if known is None or known[0] != stamp:
            with self.database.read() as connection:
                known = self._graph = (stamp, graph_of(connection))
        return known[1]

    def activity(
        self, name: str, *, command: str | None = None, agent: str | None = None, **properties: Any
    ) -> Activity:
        """Something that is done from now on; see `Log.activity`."""
        from whence.store.recording.activity import Activity

        return Activity(self, name, command, agent, properties)


def _no_tables() -> Tables:
    raise AssertionError("the store was opened without a log")
