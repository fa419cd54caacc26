"""The connection to the catalog: threads take turns with it, processes never share it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from whence.errors import Closed, StoreError
from whence.store.catalog.backends import Backend
from whence.store.catalog.migrations import MIGRATIONS, migrate, pending
from whence.store.failures import explained, no_space

Freed = TypeVar("Freed")


class Stamp(NamedTuple):
    """The number of writes to the catalog, and how many of these removed something."""

    changes: int
    removals: int


_STAMP = "SELECT changes, removals FROM log"


class Database:
    """The catalog's connection, with its transactions.

    No user code runs while the lock is held, so a fork, which waits for the lock, never waits for long.
    """

    def __init__(self, backend: Backend) -> None:
        self.lock = threading.RLock()
        self.where = backend.where
        self.read_only = backend.read_only
        self._backend = backend
        self._closed = False
        self.before: Callable[[], None] | None = None  # called before every read, to write what is pending
        self._connections: list[sa.Connection] = []  # at most one; a list so that the finalizer can share it
        self._cursor: Any = None
        self._finalizer = weakref.finalize(self, _close_all, self._connections)
        _open_databases.add(self)

    def migrate(self, *, create: bool = True) -> None:
        """Create the tables of a new log, or migrate those of an older one."""
        with self.read("open") as connection:
            missing = pending(connection, self.where)
        if not missing:
            return
        if missing == MIGRATIONS and not create:
            raise StoreError(f"there is no log at {self.where}: check the address; whence.open makes one")
        if self.read_only:
            raise StoreError(f"{self.where} needs an upgrade, but is read-only: open it once where you can write")
        with self._transaction("open", self._backend.begin_migration) as connection:
            migrate(connection, self.where)

    @contextmanager
    def read(self, doing: str = "read") -> Iterator[sa.Connection]:
        """Open a transaction that sees one state of the catalog from beginning to end."""
        with self._transaction(doing, self._backend.begin_read) as connection:
            yield connection

    @contextmanager
    def write(self, doing: str = "write to", *, removing: bool = False) -> Iterator[sa.Connection]:
        """Open a transaction that changes the catalog; both databases allow one writer at a time."""
        with self.hold(doing) as connection:
            yield connection
            connection.exec_driver_sql(f"UPDATE log SET changes = changes + 1, removals = removals + {int(removing)}")

    @contextmanager
    def hold(self, doing: str = "lock") -> Iterator[sa.Connection]:
        """Take the writers' lock, for changes to the blobs that no writer may see incomplete."""
        self.require_writable(doing)
        with self._transaction(doing, self._backend.begin_write) as connection:
            yield connection

    def require_writable(self, doing: str = "write to") -> None:
        """Raise an error before any work is done if the log is read-only."""
        if self.read_only:
            raise StoreError(f"cannot {doing} {self.where}: it is read-only; copy the log to where you can write")

    def freeing(self, free: Callable[[], Freed]) -> Freed:
        """Call `free`, which frees space; if the disk is full, call it again after removing the reserve file."""
        try:
            freed = free()
        except StoreError as error:
            if not no_space(error) or not self._backend.use_reserve():
                raise
            return free()
        if not self.read_only:
            self._backend.restore_reserve()
        return freed

    def stamp(self) -> Stamp:
        """Return the current counts of the catalog; every question calls this, so it bypasses SQLAlchemy."""
        self._settle()
        with self.lock, explained("read", self.where):
            connection = self._connected()
            try:
                (row,) = self._cursor.execute(_STAMP).fetchall()
            except connection.dialect.loaded_dbapi.Error:  # the server may have been restarted: connect again
                self._disconnect()
                row = self._connected().exec_driver_sql(_STAMP).one()
            return Stamp(*row)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def require_open(self) -> None:
        """Raise Closed if it is closed."""
        if self._closed:
            raise Closed(f"the log at {self.where} is closed: open it again with whence.open")

    def _settle(self) -> None:
        if self.before is not None and not self._closed:
            self.before()

    def close(self) -> None:
        """Write what is pending and close the connection; later uses raise Closed."""
        self._settle()
        with self.lock:
            self._disconnect()
            self._closed = True

    @contextmanager
    def _transaction(self, doing: str, begin: tuple[str, ...]) -> Iterator[sa.Connection]:
        self._settle()
        with self.lock, explained(doing, self.where):
            connection = self._connected()
            if not self._backend.answers(connection):
                self._disconnect()
                connection = self._connected()
            try:
                for statement in begin:
                    connection.exec_driver_sql(statement)
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                # Closing rolls back, in whatever state the failure left the connection.
                self._disconnect()
                raise

    def _connected(self) -> sa.Connection:
        self.require_open()
        if self._connections and self._backend.stale():
            self._disconnect()
        if not self._connections:
            connection = self._backend.connect()
            self._connections.append(connection)
            self._cursor = connection.connection.cursor()
        return self._connections[0]

    def _disconnect(self) -> None:
        self._cursor = None
        _close_all(self._connections)


def _close_all(connections: list[sa.Connection]) -> None:
    while connections:
        connection = connections.pop()
        connection.invalidate()  # closes without an error, even if the server is gone
        connection.close()


# A child process that inherits a connection would share its locks (SQLite) or its stream of bytes (PostgreSQL) with
# its parent, and must not even close it. So connections are closed before a fork, and both processes connect again.
_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_forking = threading.local()


def _before_fork() -> None:
    _forking.databases = []
    for database in sorted(_open_databases, key=id):  # in one order, to avoid a deadlock of two forking threads
        database.lock.acquire()
        _forking.databases.append(database)
        database._disconnect()


def _after_fork_in_parent() -> None:
    for database in _forking.databases:
        database.lock.release()
    del _forking.databases


def _after_fork_in_child() -> None:
    for database in _forking.databases:
        database.lock = threading.RLock()  # threads that do not exist in the child may wait for the old one
    del _forking.databases


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
