"""Failures of disks and databases, as errors that name the log and a remedy."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from whence.errors import Damaged, StoreError, WhenceError

_REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space and try again",
    errno.EDQUOT: "your disk quota is used up: free some space and try again",
    errno.EFBIG: "the file would grow beyond the limit set for it (see `ulimit -f`)",
    errno.EROFS: "the disk is read-only: copy the log to a disk that can be written",
    errno.EACCES: "permission denied: ask its owner for write access, or copy the log",
    errno.EPERM: "permission denied: ask its owner for write access, or copy the log",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
}

# By prefix of SQLite's name for the error; the first match is used.
_SQLITE = (
    ("SQLITE_BUSY", "another process has locked it for too long: try again, or give a longer `timeout`"),
    ("SQLITE_LOCKED", "another connection has locked it for too long: try again"),
    ("SQLITE_READONLY", "it is read-only: copy the log to a disk that can be written"),
    ("SQLITE_FULL", "the disk is full: free some space and try again"),
    ("SQLITE_IOERR", "the disk could not be read or written: it may be full, or failing"),
    ("SQLITE_CANTOPEN", "it cannot be opened: check that the directory can be read and written"),
    ("SQLITE_PERM", "permission denied"),
    ("SQLITE_AUTH", "permission denied"),
)
_SQLITE_NO_SPACE = ("SQLITE_FULL", "SQLITE_IOERR")  # SQLite reports an I/O error if a file cannot grow
_SQLITE_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")

_POSTGRESQL = {
    "55P03": "another process has locked it for too long: try again, or give a longer `timeout`",
    "25006": "it is read-only: write to the primary server",
    "53100": "the server's disk is full",
    "42501": "this user may not do that: ask the database's owner to grant it",
}


@contextmanager
def explained(doing: str, where: str) -> Iterator[None]:
    """Turn the errors of the operating system and of the database into StoreError or Damaged."""
    try:
        yield
    except WhenceError:
        raise
    except sa.exc.DBAPIError as error:
        raise _of_database(error, doing, where) from error
    except OSError as error:
        raise _of_system(error, doing, where) from error


def no_space(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, may mean that a disk has no space left.

    >>> no_space(OSError(errno.ENOSPC, "no space")), no_space(ValueError())
    (True, False)
    """
    while error is not None:
        name = getattr(getattr(error, "orig", error), "sqlite_errorname", "")
        if name.startswith(_SQLITE_NO_SPACE):
            return True
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False


def _of_system(error: OSError, doing: str, where: str) -> WhenceError:
    why = _REMEDIES.get(error.errno or 0, error.strerror or str(error))
    return StoreError(f"cannot {doing} {where}: {why}")


def _of_database(error: sa.exc.DBAPIError, doing: str, where: str) -> WhenceError:
    name = getattr(error.orig, "sqlite_errorname", None)
    said = str(error.orig).strip().split("\n", 1)[0]
    if name is not None:
        if name.startswith(_SQLITE_DAMAGE):
            return Damaged(
                f"the catalog {where} is damaged ({said}): restore it from a backup, "
                "or save what is readable with `sqlite3 catalog.sqlite .recover`"
            )
        why = next((why for start, why in _SQLITE if name.startswith(start)), said)
        return StoreError(f"cannot {doing} {where}: {why}")
    state = getattr(error.orig, "sqlstate", None)
    return StoreError(f"cannot {doing} {where}: {_POSTGRESQL.get(state or '', said)}")
