"""The class `Log`. Its methods are in the other modules of this folder, a few lines each on top of the store."""

from __future__ import annotations

import html
import os
import sys
from typing import TYPE_CHECKING

from whence.errors import Closed, WhenceError
from whence.log.contents import Contents
from whence.log.pipelines import Pipelines
from whence.log.project import Project
from whence.log.questions import Questions
from whence.log.recording import Recording
from whence.words import counted

if TYPE_CHECKING:
    from types import TracebackType

    from whence.store import Store
    from whence.store._store import Tables as StoreTables
    from whence.store.recording.files import Files

SHOWN_DATASETS = 20  # datasets listed in a notebook
DRAWN_DATASETS = 500  # a log with more datasets is shown without its picture
RUN = "WHENCE_RUN_NOTES"  # set in the environment of programs that `whence run` runs

# Modules that import SQLAlchemy are imported on use: `import whence` would otherwise take twice as long.


class Log(Recording, Contents, Questions, Project, Pipelines):
    """Datasets, the operations between them, and where each cell came from. `whence.open` makes one.

    A log may be used by many threads and many processes at once; a forked child may go on using it.

    >>> import tempfile, whence as wh
    >>> directory = tempfile.TemporaryDirectory()
    >>> with wh.open(directory.name) as log:
    ...     _ = log.array("A", shape=(3, 2)), log.array("B", shape=(3,))
    ...     _ = log.lineage("B", "A", lambda index: [(index[0], 0), (index[0], 1)])
    ...     log.backward("B", [(1,)], to="A").cells().tolist()
    [[1, 0], [1, 1]]
    >>> directory.cleanup()
    """

    def __init__(self, store: Store, *, watch: bool = True) -> None:
        self._store = store
        store.connect_tables = lambda: _tables(store)
        self._files: Files | None = None
        if watch and RUN in os.environ and not store.database.read_only:
            # This program was started by `whence run`: no `with log.activity(...)` block says which files it uses.
            # A second log over one store need not watch again.
            self._files = store.tracker.watched()

    @property
    def where(self) -> str:
        """The directory of the log, or its URL without the password."""
        return self._store.where

    @property
    def read_only(self) -> bool:
        """Whether the log cannot be written here. Questions still work."""
        return self._store.database.read_only

    def close(self) -> None:
        """Close the catalog. Using the log afterwards raises Closed; closing it again does nothing."""
        if self._files is not None:
            self._files.stop()
            self._files = None
        self._store.database.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Log({self.where!r}: {self._summary()})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        from whence.shown import bundle

        return bundle(self)

    def _repr_html_(self) -> str:
        title = f"<b>{html.escape(self.where)}</b>: {html.escape(self._summary())}"
        try:
            datasets = self.datasets()
            picture = self.graph._repr_svg_() or "" if len(datasets) <= DRAWN_DATASETS else ""
        except WhenceError:
            return title
        cells = [
            (each.name, each.kind, str(each.shape), each.created or "unknown") for each in datasets[-SHOWN_DATASETS:]
        ]
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in cells)
        head = "<tr><th>dataset</th><th>kind</th><th>shape</th><th>created</th></tr>"
        return f"{title}{picture}<table>{head}{rows}</table>"

    def _summary(self) -> str:
        from whence.store.catalog import statements

        try:
            with self._store.database.read() as connection:
                datasets, operations, derivations = statements.counts(connection)
        except WhenceError as error:  # a log that cannot be read must still print
            return "closed" if isinstance(error, Closed) else str(error)
        things = ((datasets, "dataset"), (operations, "operation"), (derivations, "derivation"))
        return ", ".join(counted(number, thing) for number, thing in things)


def _tables(store: Store) -> StoreTables:
    """Return the functions that read tables. They import Spark only if a question needs it."""
    from whence.spark.tables.stored_rows import AskedTables

    return AskedTables(store)


def open(
    path_or_url: str | os.PathLike[str],
    *,
    blobs: str | os.PathLike[str] | None = None,
    create: bool = True,
    timeout: float = 30.0,
    cache: int = 256 * 1024 * 1024,
) -> Log:
    """Open a log; create it if it does not exist.

    A path is a directory with a SQLite catalog and the blobs; a log on a read-only disk opens for
    questions. A URL such as postgresql://user@host/database is a catalog that a team shares; `blobs` then says where
    the blobs are: a path, or a URL that fsspec supports. `create=False` refuses to make a log. `timeout`: how many
    seconds to wait for other writers. `cache`: how many bytes of relations to keep open.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as directory, open(os.path.join(directory, "a.whence")) as log:
    ...     log.array("A", shape=(3, 2)).shape
    (3, 2)
    """
    from whence.store import open_store

    if "pyspark" in sys.modules:  # to follow checkpoints that are created from now on
        from whence.spark.sources.checkpoints import remember_checkpoints

        remember_checkpoints()
    return Log(open_store(path_or_url, blobs=blobs, create=create, timeout=timeout, cache=cache))
