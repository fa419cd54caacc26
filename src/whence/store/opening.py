"""Opening a log: from a path or a URL to its catalog and its blobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from whence.errors import BadType, Damaged, StoreError

if TYPE_CHECKING:
    from whence.store._store import Store
    from whence.store.blobs.local import Blobs
    from whence.store.catalog.backends import Backend
    from whence.store.catalog.database import Database

CATALOG = "catalog.sqlite"
BLOBS = "blobs"


def open_store(
    path_or_url: str | os.PathLike[str],
    *,
    blobs: str | os.PathLike[str] | None = None,
    create: bool = True,
    timeout: float = 30.0,
    cache: int = 256 * 1024 * 1024,
) -> Store:
    """Open the store at a path or URL, and create it if it is missing; `whence.open` describes the arguments."""
    from whence.store._store import Store
    from whence.store.catalog.database import Database

    if not isinstance(path_or_url, (str, os.PathLike)):
        raise BadType(f"open a log by its path or URL, not by {type(path_or_url).__name__}: {path_or_url!r}")
    text = os.fspath(path_or_url)
    if "://" in text:
        backend = _server(text, timeout)
        if blobs is None:
            raise StoreError(f"{backend.where} holds only the catalog: say where the blobs are, with blobs=...")
    else:
        backend = _in_directory(Path(text), timeout, create)
    database = Database(backend)
    try:
        database.migrate(create=create)
        place = _own_blobs(Path(text)) if blobs is None else _blobs_elsewhere(os.fspath(blobs), database)
        store = Store(backend.where if "://" in text else text, database, place, cache)
        store.opened_as = (
            text if "://" in text else os.path.abspath(text),
            None if blobs is None else os.fspath(blobs),
        )
        return store
    except BaseException:
        database.close()
        raise


def _in_directory(path: Path, timeout: float, create: bool) -> Backend:
    from whence.store.blobs.local import make_directory
    from whence.store.catalog.backends import RESERVE, SQLite
    from whence.store.failures import explained

    catalog = path / CATALOG
    with explained("open", str(path)):
        if path.exists() and not path.is_dir():
            raise StoreError(
                f"{path} is a file, but a log is a directory: give the path of a log, or of a new directory"
            )
        if not catalog.exists():
            if not create:
                raise _no_log(str(path))
            make_directory(path)
            ours = {BLOBS, CATALOG, *(CATALOG + end for end in ("-wal", "-shm", "-journal", RESERVE))}
            strangers = sorted(entry.name for entry in path.iterdir() if entry.name not in ours)
            if strangers:
                raise StoreError(
                    f"{path} is not a log: it holds {', '.join(strangers[:5])} and no {CATALOG}. Give a new directory"
                )
        _require_no_orphans(path, catalog)
    return SQLite(catalog, timeout)


def _require_no_orphans(path: Path, catalog: Path) -> None:
    """Raise Damaged if the catalog is missing or empty, but there are blobs: a new log would take them for garbage."""
    written = (catalog, path / f"{CATALOG}-wal", path / f"{CATALOG}-journal")
    if any(each.exists() and each.stat().st_size for each in written):
        return
    if any(entry.is_file() for entry in (path / BLOBS).rglob("*")):
        state = "is empty" if catalog.exists() else "is missing"
        raise Damaged(
            f"{catalog} {state}, but {path / BLOBS} has files: restore the catalog from a copy, or give a new directory"
        )


def _server(text: str, timeout: float) -> Backend:
    import sqlalchemy as sa

    from whence.store.catalog.backends import PostgreSQL, SQLite

    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        scheme = text.partition("://")[0]
        raise StoreError(f"this {scheme}:// URL cannot be read: write postgresql://user@host:port/database") from None
    match url.get_backend_name():
        case "postgresql" | "postgres":
            return PostgreSQL(url, timeout)
        case "sqlite" if url.database:
            return SQLite(Path(url.database), timeout)
        case other:
            raise StoreError(f"a catalog cannot be in {other}: give a path, or a postgresql:// URL")


def _own_blobs(path: Path) -> Blobs:
    from whence.store.blobs.local import LocalBlobs

    return LocalBlobs(path / BLOBS)


def _blobs_elsewhere(place: str, database: Database) -> Blobs:
    """Open blobs outside of the log's directory, and mark them as this log's, so that no other log collects them."""
    from whence.store.blobs.local import LocalBlobs
    from whence.store.blobs.remote import RemoteBlobs
    from whence.store.catalog import statements

    scheme, separator, rest = place.partition("://")
    blobs: Blobs
    if separator and scheme not in ("file", "local"):
        blobs = RemoteBlobs(place)
    else:
        path = Path(rest if separator else place)
        neighbour = path.parent / CATALOG
        if path.name == BLOBS and neighbour.exists() and str(neighbour) != database.where:
            raise StoreError(f"the blobs in {path} belong to the log {path.parent}: give each log its own directory")
        blobs = LocalBlobs(path)
    with database.read("open") as connection:
        blobs.claim(statements.log_id(connection))
    return blobs


def _no_log(where: str) -> StoreError:
    return StoreError(f"there is no log at {where}: check the path; whence.open makes one")
