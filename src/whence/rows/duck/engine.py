"""One DuckDB database per process, in memory, without network access or files of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from whence.errors import MissingExtra

SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "enable_external_file_cache": False,  # it detects changed files by times that may be too coarse
    "temp_directory": "",  # queries that do not fit into memory are left to Spark
    "python_enable_replacements": False,  # Python variables are not tables
}

_lock = Lock()
# One per process: DuckDB's threads do not survive a fork, and closing it in the child would wait for them.
_made: dict[int, Any] = {}


@contextmanager
def connected() -> Iterator[Any]:
    """Open a connection (0.3 ms; a new database would take 30 ms)."""
    connection = _database().cursor()
    try:
        yield connection
    finally:
        connection.close()


def _database() -> Any:
    process = os.getpid()
    if process not in _made:
        try:
            import duckdb
        except ImportError as error:
            raise MissingExtra.of("duckdb", "spark") from error
        with _lock:
            if process not in _made:
                made = duckdb.connect(":memory:", config=SETTINGS)
                made.execute("SET GLOBAL TimeZone = 'UTC'")
                _made[process] = made
    return _made[process]
