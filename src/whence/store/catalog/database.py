"""One connection to the catalog: threads take turns with it, processes never share it."""

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
    """How many writes, and how many removals among them, the catalog has seen."""

    changes: int
    removals: int


_STAMP = "SELECT changes, removals FROM log"


class Database:
    """The catalog's connection, with its transactions.

    No code of the user runs while the lock is held; so a fork, which waits for the lock, never waits for long.
    """

    def __init__(self, backend: Backend) -> None:
        self.lock = threading.RLock()
        self.where = backend.where
        self.read_only = backend.read_only
        self._backend = backend
        self._closed = False
        self.before: Callable[[], None] | None = None  # what has to be written before anything is read
        self._connections: list[sa.Connection] = []  # one, or none; a list so that the finalizer can share it
        self._cursor: Any = None
        self._finalizer = weakref.finalize(self, _close_all, self._connections)
        _open_databases.add(self)

    def migrate(self, *, create: bool = True) -> None:
        """Make the tables of a new log, or bring those of an older one up to date."""
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
        """A transaction that sees one state of the catalog from its beginning to its end."""
        with self._transaction(doing, self._backend.begin_read) as connection:
            yield connection

    @contextmanager
    def write(self, doing: str = "write to", *, removing: bool = False) -> Iterator[sa.Connection]:
        """A transaction that changes the catalog; one writer at a time, on either database."""
        with self.hold(doing) as connection:
            yield connection
            connection.exec_driver_sql(f"UPDATE log SET changes = changes + 1, removals = removals + {int(removing)}")

    @contextmanager
    def hold(self, doing: str = "lock") -> Iterator[sa.Connection]:
        """The writers' lock, for changes to the blobs that no writer may see half done."""
        self.require_writable(doing)
        with self._transaction(doing, self._backend.begin_write) as connection:
            yield connection

    def require_writable(self, doing: str = "write to") -> None:
        """Fail at once, before any work is done, if nothing can be written."""
        if self.read_only:
            raise StoreError(f"cannot {doing} {self.where}: it is read-only; copy the log to where you can write")

    def freeing(self, free: Callable[[], Freed]) -> Freed:
        """Do what frees space; on a full disk, once more, in the space that is set aside for that."""
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
        """The catalog's present counts: what every question asks first, so it bypasses all that it can."""
        self._settle()
        with self.lock, explained("read", self.where):
            connection = self._connected()
            try:
                (row,) = self._cursor.execute(_STAMP).fetchall()
            except connection.dialect.loaded_dbapi.Error:  # the server may have been restarted: ask it once more
                self._disconnect()
                row = self._connected().exec_driver_sql(_STAMP).one()
            return Stamp(*row)

    @property
    def closed(self) -> bool:
        """Whether it was closed for good."""
        return self._closed

    def require_open(self) -> None:
        """An error, Closed, if it is not."""
        if self._closed:
            raise Closed(f"the log at {self.where} is closed: open it again with whence.open")

    def _settle(self) -> None:
        if self.before is not None and not self._closed:
            self.before()

    def close(self) -> None:
        """Close the connection for good, after writing what waits to be."""
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
                # Closing rolls back, whatever state the failure left the connection in.
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


# A process that inherits a connection would share its locks (SQLite) or its stream of bytes (PostgreSQL) with its
# parent, and must not even close it. So there is none when a process forks: both sides connect again.
_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_forking = threading.local()


def _before_fork() -> None:
    _forking.databases = []
    for database in sorted(_open_databases, key=id):  # one order, lest two forking threads wait for each other
        database.lock.acquire()
        _forking.databases.append(database)
        database._disconnect()


def _after_fork_in_parent() -> None:
    for database in _forking.databases:
        database.lock.release()
    del _forking.databases


def _after_fork_in_child() -> None:
    for database in _forking.databases:
        database.lock = threading.RLock()  # the old one may be waited for by threads that are not here
    del _forking.databases


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
