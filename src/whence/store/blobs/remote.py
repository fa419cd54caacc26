"""Blobs on any file system that fsspec reaches: object stores, SFTP, HDFS, memory."""

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
    """Blobs behind a URL, fetched whole when they are opened."""

    def __init__(self, url: str) -> None:
        self.where = _without_password(url)
        self._url = url
        self._pid = -1
        self._fs: Any = None
        self._root = ""
        self._copies: Path | None = None

    def put(self, name: str, data: bytes) -> bool:
        """Store a blob under a temporary name and move it, so that no reader sees a part of it."""
        with self._reached("write to"):
            fs, path = self._present(), self._path(name)
            if fs.exists(path) and fs.cat_file(path) == data:
                return False
            self._replace(fs, path, data)
            return True

    def has(self, name: str, size: int) -> bool:
        """Whether the blob is there, with that many bytes."""
        with self._reached("read"):
            try:
                return bool(self._present().info(self._path(name))["size"] == size)
            except FileNotFoundError:
                return False

    def open(self, name: str, title: str) -> Relation:
        """The relation, from its bytes."""
        return opened(self._fetch(name, title), title, self)

    def local(self, name: str, title: str) -> Path:
        """A copy of the blob, for as long as this process lives."""
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
        """Remove a file, if it is still there."""
        with self._reached("remove from"):
            try:
                self._file_system().rm_file(self._path(name) if NAME.fullmatch(name) else f"{self._root}/{name}")
            except FileNotFoundError:
                return

    def listing(self) -> Iterator[Found]:
        """Every file."""
        with self._reached("read"):
            fs = self._present()
            if not fs.exists(self._root):
                return
            for path, info in sorted(fs.find(self._root, detail=True).items()):
                yield found(path.removeprefix(self._root).lstrip("/"), info["size"], _modified(info))

    def claim(self, log: str) -> None:
        """Write the log's identity next to the blobs, or compare it with the one that is there."""
        with self._reached("open"):
            fs, path = self._present(), f"{self._root}/{OWNER}"
            if not fs.exists(path):
                self._replace(fs, path, f"{log}\n".encode())
            owner = fs.cat_file(path).decode().strip()
            if owner != log:
                raise belongs_elsewhere(self.where, owner)

    def mark(self, name: str) -> None:
        """Write an empty file beside the directories of blobs."""
        with self._reached("write to"):
            fs = self._file_system()
            fs.makedirs(self._root, exist_ok=True)
            fs.pipe_file(f"{self._root}/{name}", b"")

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteBlobs, (self._url,)  # another process makes its own connections

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
        """The file system without what it remembers of its directories: others write to them too."""
        fs = self._file_system()
        fs.invalidate_cache()
        return fs

    @contextmanager
    def _reached(self, doing: str) -> Iterator[None]:
        """Errors in the log's words; each file system has its own kinds of them."""
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
            if fs.exists(path):  # a damaged one, and not every file system moves onto what is there
                fs.rm_file(path)
            fs.mv(temporary, path)
        except BaseException:
            if fs.exists(temporary):
                fs.rm_file(temporary)
            raise


def _modified(info: dict[str, Any]) -> float:
    """When a file was last written; file systems name it differently, and one that does not say is never abandoned."""
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
