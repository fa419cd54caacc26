"""Blobs on any file system that fsspec supports: object stores, SFTP, HDFS, memory."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from whence.errors import MissingExtra, StoreError, WhenceError
from whence.relation import Relation
from whence.relation.parts import hash_of
from whence.store.blobs.local import NAME, OWNER, TEMPORARY, Found, altered, belongs_elsewhere, found, missing, opened
from whence.store.failures import explained


class RemoteBlobs:
    """Blobs at a URL; opening one fetches all of its bytes."""

    def __init__(self, url: str) -> None:
        self.where = _without_password(url)
        self._url = url
        self._pid = -1
        self._fs: Any = None
        self._root = ""
        self._copies: Path | None = None

    def put(self, name: str, data: bytes) -> bool:
        """Store a blob under a temporary name and rename it, so that no reader sees an incomplete blob."""
        with self._reached("write to"):
            fs, path = self._present(), self._path(name)
            if fs.exists(path) and fs.cat_file(path) == data:
                return False
            self._replace(fs, path, data)
            return True

    def has(self, name: str, size: int) -> bool:
        """Whether the blob exists and has that many bytes."""
        with self._reached("read"):
            try:
                return bool(self._present().info(self._path(name))["size"] == size)
            except FileNotFoundError:
                return False

    def open(self, name: str, title: str) -> Relation:
        """Fetch a blob and open its relation."""
        return opened(self._fetch(name, title), title, self)

    def local(self, name: str, title: str) -> Path:
        """Return a local copy of the blob, which is removed when this process ends."""
        data = self._fetch(name, title)
        if hash_of(data) != name:
            raise altered(name, self.where)
        if self._copies is None:
            self._copies = Path(tempfile.mkdtemp(prefix="whence-"))
            weakref.finalize(self, shutil.rmtree, self._copies, ignore_errors=True)
        path = self._copies / name
        path.write_bytes(data)
        return path

    def verify(self, name: str) -> None:
        """Fetch the blob and compare its hash with its name."""
        if hash_of(self._fetch(name)) != name:
            raise altered(name, self.where)

    def _fetch(self, name: str, title: str = "") -> bytes:
        with self._reached("read"):
            try:
                data: bytes = self._file_system().cat_file(self._path(name))
            except FileNotFoundError:
                raise missing(name, self.where, title) from None
            return data

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with self._reached("remove from"):
            try:
                self._file_system().rm_file(self._path(name) if NAME.fullmatch(name) else f"{self._root}/{name}")
            except FileNotFoundError:
                return

    def listing(self) -> Iterator[Found]:
        """List all files."""
        with self._reached("read"):
            fs = self._present()
            if not fs.exists(self._root):
                return
            for path, info in sorted(fs.find(self._root, detail=True).items()):
                yield found(path.removeprefix(self._root).lstrip("/"), info["size"], _modified(info))

    def claim(self, log: str) -> None:
        """Write the log's id next to the blobs, or compare it with the id that is there."""
        with self._reached("open"):
            fs, path = self._present(), f"{self._root}/{OWNER}"
            if not fs.exists(path):
                self._replace(fs, path, f"{log}\n".encode())
            owner = fs.cat_file(path).decode().strip()
            if owner != log:
                raise belongs_elsewhere(self.where, owner)

    def mark(self, name: str) -> None:
        """Write an empty file next to the directories of blobs."""
        with self._reached("write to"):
            fs = self._file_system()
            fs.makedirs(self._root, exist_ok=True)
            fs.pipe_file(f"{self._root}/{name}", b"")

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteBlobs, (self._url,)  # another process opens its own connections

    def _file_system(self) -> Any:
        if self._pid != os.getpid():  # a forked child must not use its parent's connections and event loop
            import fsspec

            try:
                self._fs, root = fsspec.core.url_to_fs(self._url)
            except ImportError as error:
                raise MissingExtra(f"{self.where} needs a package for its protocol: {error}") from error
            except ValueError as error:
                raise StoreError(f"cannot open {self.where}: {error}") from error
            self._root = root.rstrip("/")
            self._pid = os.getpid()
        return self._fs

    def _present(self) -> Any:
        """Return the file system with an empty listing cache, because other processes write to it too."""
        fs = self._file_system()
        fs.invalidate_cache()
        return fs

    @contextmanager
    def _reached(self, doing: str) -> Iterator[None]:
        """Turn the errors of the file system, which has its own classes, into StoreError."""
        with explained(doing, self.where):
            try:
                yield
            except (WhenceError, OSError):
                raise
            except Exception as error:
                raise StoreError(f"cannot {doing} {self.where}: {error}") from error

    def _path(self, name: str) -> str:
        return f"{self._root}/{name[:2]}/{name}"

    def _replace(self, fs: Any, path: str, data: bytes) -> None:
        directory = path.rpartition("/")[0]
        fs.makedirs(directory, exist_ok=True)
        temporary = f"{directory}/{TEMPORARY}{secrets.token_hex(8)}"
        try:
            fs.pipe_file(temporary, data)
            if fs.exists(path):  # a damaged blob; not every file system can overwrite by `mv`
                fs.rm_file(path)
            fs.mv(temporary, path)
        except BaseException:
            if fs.exists(temporary):
                fs.rm_file(temporary)
            raise


def _modified(info: dict[str, Any]) -> float:
    """Return when a file was last written; infinity, so that it is never abandoned, if that is unknown."""
    for key in ("mtime", "LastModified", "last_modified", "created", "updated"):
        value = info.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, (int, float)):
            return float(value)
    return float("inf")


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
