"""The databases that a catalog can be in: how to connect, begin transactions and lock."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from whence.errors import MissingExtra
from whence.store.failures import no_space

RESERVE = "-reserve"
RESERVED = 1 << 18
"""Bytes of a file next to the catalog that is removed if the disk is full: SQLite needs space to delete rows."""


class Backend(Protocol):
    """A database, as the log uses it."""

    where: str
    read_only: bool
    begin_read: tuple[str, ...]
    begin_write: tuple[str, ...]
    begin_migration: tuple[str, ...]

    def connect(self) -> sa.Connection:
        """Return a new connection in autocommit mode: transactions begin and end by explicit statements."""

    def stale(self) -> bool:
        """Whether an open connection shows an outdated state; every question calls it, so it is cheap."""

    def answers(self, connection: sa.Connection) -> bool:
        """Whether an idle connection can still be used."""

    def use_reserve(self) -> bool:
        """Free the space that is reserved for a full disk; return False if there is none."""

    def restore_reserve(self) -> None:
        """Reserve that space again, if the disk has room for it."""


class PostgreSQL:
    """A catalog on a server, for a team."""

    read_only = False
    begin_read: tuple[str, ...] = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
    # One writer at a time, as in SQLite: no deadlocks, and ids grow in the order of commits.
    begin_write: tuple[str, ...] = ("BEGIN", "SELECT one FROM log FOR UPDATE")
    begin_migration: tuple[str, ...] = (
        "BEGIN",
        "SELECT pg_advisory_xact_lock(hashtext('whence'), hashtext(current_schema()))",
    )

    def __init__(self, url: sa.URL, timeout: float) -> None:
        self.where = url.render_as_string(hide_password=True)
        self._timeout = timeout
        try:
            self._engine = sa.create_engine(
                url.set(drivername="postgresql+psycopg"), poolclass=NullPool, isolation_level="AUTOCOMMIT"
            )
        except ImportError as error:
            raise MissingExtra.of("psycopg", "postgres") from error

    def connect(self) -> sa.Connection:
        """Return a new connection, which waits for a lock no longer than the timeout."""
        connection = self._engine.connect()
        connection.exec_driver_sql(f"SET lock_timeout = {round(self._timeout * 1000)}")
        return connection

    def stale(self) -> bool:
        """Return False: the server shows the current state."""
        return False

    def answers(self, connection: sa.Connection) -> bool:
        """Whether the server still answers: it may have been restarted."""
        try:
            connection.exec_driver_sql("SELECT 1")
        except sa.exc.DBAPIError:
            return False
        return True

    def use_reserve(self) -> bool:
        """Return False: nothing is reserved on a server."""
        return False

    def restore_reserve(self) -> None:
        """Do nothing."""


class SQLite:
    """A catalog in a file, for one machine."""

    begin_read: tuple[str, ...] = ("BEGIN",)
    begin_write: tuple[str, ...] = ("BEGIN IMMEDIATE",)
    begin_migration: tuple[str, ...] = ("BEGIN IMMEDIATE",)

    def __init__(self, path: Path, timeout: float) -> None:
        self.where = str(path)
        self.read_only = path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        self._path = path
        self._reserve = path.with_name(path.name + RESERVE)
        self._timeout = timeout
        self._seen: tuple[Any, ...] | None = None
        self._engine = sa.create_engine(
            "sqlite://", creator=self._open, poolclass=NullPool, isolation_level="AUTOCOMMIT"
        )

    def connect(self) -> sa.Connection:
        """Return a new connection whose commits survive a crash of the machine."""
        return self._engine.connect()

    def stale(self) -> bool:
        """Whether the file was opened as immutable and has changed since."""
        return self._seen is not None and self._seen != self._signature()

    def answers(self, connection: sa.Connection) -> bool:
        """Return True: there is no server that could be gone."""
        return True

    def use_reserve(self) -> bool:
        """Remove the reserve file, so that a journal fits on the disk."""
        try:
            self._reserve.unlink()
        except FileNotFoundError:
            return False
        return True

    def restore_reserve(self) -> None:
        """Write the reserve file, unless it exists or does not fit."""
        with contextlib.suppress(OSError):  # the disk is full now
            if not self._reserve.exists() and shutil.disk_usage(self._path.parent).free > 4 * RESERVED:
                self._reserve.write_bytes(os.urandom(RESERVED))  # random, so that no file system compresses it

    def _open(self) -> sqlite3.Connection:
        return self._open_read_only() if self.read_only else self._open_writable()

    def _open_writable(self) -> sqlite3.Connection:
        """Open for writing. SQLite needs 32 KiB next to the catalog even to read it, and the disk may be full."""
        try:
            connection = self._connection()
        except sqlite3.OperationalError as error:
            if not no_space(error):
                raise
            connection = self._connection(alone=not self.use_reserve())
        else:
            self.restore_reserve()
        return connection

    def _connection(self, *, alone: bool = False) -> sqlite3.Connection:
        """Return a connection for writing; with `alone`, without shared memory, which locks out other processes."""
        connection = self._raw(self._path, "rwc")
        with contextlib.ExitStack() as undo:
            undo.callback(connection.close)
            if alone:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._into_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            undo.pop_all()
        return connection

    def _open_read_only(self) -> sqlite3.Connection:
        """Open without writing a file next to the catalog.

        SQLite can do that only while a writer is running (then its shared-memory file exists), or if the file is opened
        as immutable. A write-ahead log that a crash left over is read from a copy.
        """
        log, memory = (self._path.with_name(self._path.name + end) for end in ("-wal", "-shm"))
        self._seen = None
        if log.exists() and memory.exists():
            return self._raw(self._path, "ro")
        self._seen = self._signature()
        if not log.exists() or not log.stat().st_size:
            return self._raw(self._path, "ro&immutable=1")
        with tempfile.TemporaryDirectory(prefix="whence-") as directory:
            for file in (self._path, log):
                shutil.copy(file, directory)
            with contextlib.closing(self._raw(Path(directory) / self._path.name, "rw")) as copy:
                memory_only = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                copy.backup(memory_only)
        return memory_only

    def _raw(self, path: Path, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,  # `Database.lock` makes threads take turns
        )

    def _into_wal(self, connection: sqlite3.Connection) -> None:
        """Switch a new catalog to write-ahead logging. SQLite does not wait for other processes here, so this does."""
        deadline = time.monotonic() + self._timeout
        while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _signature(self) -> tuple[Any, ...]:
        stats: list[tuple[int, int, int] | None] = []
        for end in ("", "-wal"):
            try:
                stat = self._path.with_name(self._path.name + end).stat()
            except FileNotFoundError:
                stats.append(None)
            else:
                stats.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        return tuple(stats)
