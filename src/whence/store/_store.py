"""The parts of a log: the catalog, the blobs, and the derivations in memory. Users work with `whence.log.Log`."""

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
    """A watcher that is active until `stop` is called."""

    def stop(self) -> None: ...


class Tables(Protocol):
    """Functions of the Spark layer that read the rows of tables and answer questions about runs."""

    def selected(self, name: str, rows: object, columns: Sequence[str] | None) -> Selection:
        """Return the cells of a table in the rows with the given values."""

    def arrow(self, name: str, numbers: NDArray[np.int64], columns: Sequence[int] | None) -> pa.Table:
        """Return rows of a table by their row numbers."""

    def relation(self, document: Mapping[str, Any], output: str, input: str) -> RelationLike:
        """Return the relation between the output of a run and one of its sources."""

    def by_rows(self, relation: Relation, output: str, input: str) -> RelationLike:
        """Return the relation between cells of two tables, from a stored relation between their rows."""

    def watched(self) -> Stoppable:
        """Record frames that go from Spark to pandas and back, until the returned watcher is stopped."""


class Store:
    """An open log: `database` has the catalog, `blobs` the relations and saved results, `reader` answers questions.

    It may be used by many threads and many processes at once.
    """

    def __init__(self, where: str, database: Database, blobs: Blobs, cache: int) -> None:
        # Import all modules for recording and questions now: if one thread imported them while another forks, the child
        # would wait forever for an import that no thread finishes.
        import pcodec  # noqa: F401 # see above

        from whence.store.derivations.reader import Reader
        from whence.store.prov import circumstances  # noqa: F401 # see above
        from whence.store.recording import writer  # noqa: F401 # see above

        self.where = where  # the directory, or the URL without its password
        self.opened_as: tuple[str, str | None] = (where, None)  # path or URL, and blobs, for other processes
        self.database = database
        self.blobs = blobs
        self.reader = Reader(database, blobs, cache)
        self._tables: Tables | None = None
        self.connect_tables: Callable[[], Tables] = _no_tables  # `Log` replaces it
        self.reader.open_run = lambda *run: self.tables.relation(*run)
        self.reader.open_rows = lambda *rows: self.tables.by_rows(*rows)
        self._tracker: Tracker | None = None
        self._graph: tuple[Stamp, Graph] | None = None

    @property
    def tracker(self) -> Tracker:
        """The recorder of calls of tracked functions, created at first use."""
        from whence.store.recording.tracking import Tracker

        if self._tracker is None:
            self._tracker = Tracker(self)
        return self._tracker

    @property
    def tables(self) -> Tables:
        """The functions that read tables, connected at first use."""
        if self._tables is None:
            self._tables = self.connect_tables()
        return self._tables

    def forget_name(self, name: str) -> None:
        """Write pending calls and forget the name, before a dataset of that name is defined or deleted."""
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
        """Return an activity that starts now; see `Log.activity`."""
        from whence.store.recording.activity import Activity

        return Activity(self, name, command, agent, properties)


def _no_tables() -> Tables:
    raise AssertionError("the store was opened without a log")
