"""Content-addressed blobs: a blob's name is the hash of its bytes, so a blob never changes."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from whence.errors import Damaged, StoreError
from whence.relation import Relation
from whence.relation.parts import PartedRelation, is_index, parse
from whence.relation.table_cells import restored
from whence.store.failures import explained

NAME = re.compile(r"[0-9a-f]{64}")
TEMPORARY = ".writing-"  # prefix of the file's name until the blob is complete
JOB = f"{TEMPORARY}job-"  # prefix of a file whose name has the time since when a job writes parts
OWNER = "LOG"  # the file with the id of the log that owns the blobs
RESTORE = "restore the file from a copy, or record the same lineage again, which writes the same blob"
AGAIN = "run the pipeline or record the array again, or restore the file from a copy"
MAPPED = 1 << 20  # bytes; larger blobs are mapped into memory instead of read
GRACE = 3600.0  # seconds; the writer of an older temporary file is assumed dead


@dataclass(frozen=True, slots=True)
class Found:
    """A file in the directory of the blobs: a blob if `hash` is set, else a temporary file or an unknown file."""

    name: str
    size: int
    modified: float
    hash: str | None
    temporary: bool

    @property
    def since(self) -> float | None:
        """When the job began, if this is the marker file of a job."""
        file = self.name.rpartition("/")[2]
        begun = file.removeprefix(JOB).partition("-")[0]
        return float(begun) if file.startswith(JOB) and begun.isdecimal() else None

    @property
    def abandoned(self) -> bool:
        """Whether this is a temporary file whose writer is assumed dead."""
        return self.temporary and self.modified < time.time() - GRACE


class Blobs(Protocol):
    """The storage of relations and saved results, as the log uses it."""

    where: str

    def put(self, name: str, data: bytes) -> bool:
        """Store a blob so that it survives a crash; return False if it was there already."""

    def has(self, name: str, size: int) -> bool:
        """Whether the blob exists and has that many bytes."""

    def open(self, name: str, title: str) -> Relation:
        """Open a relation; errors call it `title`. Each of its parts is verified when it is read."""

    def local(self, name: str, title: str) -> Path:
        """Return a local file with the verified bytes of the blob; errors call it `title`."""

    def verify(self, name: str) -> None:
        """Read the whole blob; raise Damaged if it is missing, or if its hash is not its name."""

    def remove(self, name: str) -> None:
        """Remove a file that `listing` found, or the blob with that hash."""

    def listing(self) -> Iterator[Found]:
        """List all files."""

    def claim(self, log: str) -> None:
        """Require that the blobs belong to that log: two logs would collect each other's blobs as garbage."""

    def mark(self, name: str) -> None:
        """Write or touch an empty marker file: while a job runs, the blobs it wrote must not be collected."""


def missing(name: str, where: str, title: str = "", remedy: str = RESTORE) -> Damaged:
    """Return the error for a missing blob."""
    what = f"{title}: its blob" if title else "the blob"
    return Damaged(f"{what} {name[:12]}... is missing from {where}" + (f"; {remedy}" if title else ""))


def altered(name: str, where: str) -> Damaged:
    """Return the error for a blob whose hash is not its name."""
    return Damaged(f"the blob {name[:12]}... in {where} is truncated or altered: its checksum does not match")


def belongs_elsewhere(where: str, owner: str) -> StoreError:
    """Return the error for blobs of another log."""
    return StoreError(f"the blobs in {where} belong to another log ({owner[:12]}...): give each log its own directory")


class LocalBlobs:
    """Blobs in a directory, memory-mapped when they are opened."""

    def __init__(self, root: Path) -> None:
        self.where = str(root)
        self._root = root
        self._durable: set[Path] = set()  # directories that this process has synced

    def put(self, name: str, data: bytes) -> bool:
        """Store a blob: write it under a temporary name, sync it, rename it, and sync its directory."""
        path = self._path(name)
        with explained("write to", self.where):
            if path.exists() and path.read_bytes() == data:  # a damaged blob is replaced
                return False
            try:
                self._write(path, data)
            except FileNotFoundError:  # the temporary file or the directory was collected meanwhile
                self._write(path, data)
            return True

    def has(self, name: str, size: int) -> bool:
        """Whether the blob exists and has that many bytes."""
        with explained("read", self.where):
            try:
                return self._path(name).stat().st_size == size
            except FileNotFoundError:
                return False

    def open(self, name: str, title: str) -> Relation:
        """Open a relation, memory-mapped unless it is small."""
        path = self._path(name)
        with explained("read", self.where):
            try:
                file = path.open("rb")
            except FileNotFoundError:
                raise missing(name, self.where, title) from None
            with file:
                if os.fstat(file.fileno()).st_size < MAPPED:  # a map keeps the file open
                    return opened(file.read(), title, self)
                return opened(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), title, self)

    def local(self, name: str, title: str) -> Path:
        """Verify the blob and return its own file."""
        if not self._path(name).exists():
            raise missing(name, self.where, title, AGAIN)
        self.verify(name)
        return self._path(name).absolute()  # Spark's processes have another working directory

    def verify(self, name: str) -> None:
        """Read the whole blob and compare its hash with its name."""
        with explained("read", self.where):
            try:
                with self._path(name).open("rb") as file:
                    digest = hashlib.file_digest(file, _hasher).hexdigest()
            except FileNotFoundError:
                raise missing(name, self.where) from None
        if digest != name:
            raise altered(name, self.where)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with explained("remove from", self.where):
            (self._path(name) if NAME.fullmatch(name) else self._root / name).unlink(missing_ok=True)

    def listing(self) -> Iterator[Found]:
        """List all files, without those that are removed meanwhile."""
        with explained("read", self.where):
            for directory, _, files in os.walk(self._root):
                for file in sorted(files):
                    path = Path(directory, file)
                    with contextlib.suppress(FileNotFoundError):
                        stat = path.stat()
                        yield found(str(path.relative_to(self._root)), stat.st_size, stat.st_mtime)

    def claim(self, log: str) -> None:
        """Write the log's id next to the blobs, or compare it with the id that is there."""
        path = self._root / OWNER
        with explained("open", self.where):
            if not path.exists() and os.access(self._root if self._root.exists() else self._root.parent, os.W_OK):
                make_directory(self._root)
                self._write_temporary(path, f"{log}\n".encode(), publish=_link)
            with contextlib.suppress(FileNotFoundError):  # on a read-only disk there is no id
                owner = path.read_text().strip()
                if owner != log:
                    raise belongs_elsewhere(self.where, owner)

    def mark(self, name: str) -> None:
        """Touch a file next to the directories of blobs."""
        with explained("write to", self.where):
            make_directory(self._root)
            (self._root / name).touch()

    def __reduce__(self) -> tuple[Any, ...]:
        return LocalBlobs, (self._root.absolute(),)  # another process may have another working directory

    def _path(self, name: str) -> Path:
        return self._root / name[:2] / name

    def _write(self, path: Path, data: bytes) -> None:
        if path.parent not in self._durable or not path.parent.is_dir():
            make_directory(path.parent)
            _sync_directory(self._root)  # another process may have created it and not synced it yet
            self._durable.add(path.parent)
        self._write_temporary(path, data, publish=os.replace)

    def _write_temporary(self, path: Path, data: bytes, publish: Callable[[Path, Path], None]) -> None:
        temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}")
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            publish(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_directory(path.parent)


def opened(data: bytes | memoryview, title: str, blobs: Blobs) -> Relation:
    """Return the relation in a blob. If it has parts, the blob is the index, and each part is another blob."""
    return PartedRelation(parse(data, title), blobs, title) if is_index(data) else restored(data, title)


def found(name: str, size: int, modified: float) -> Found:
    """Describe a file by its name: a blob, a temporary file or an unknown file."""
    directory, _, file = name.rpartition("/")
    is_blob = bool(NAME.fullmatch(file)) and directory == file[:2]
    return Found(name, size, modified, file if is_blob else None, file.startswith(TEMPORARY))


def _hasher() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=32)


def make_directory(path: Path) -> None:
    """Create a directory and its missing parents so that they survive a crash."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    _sync_directory(path.parent)


def _link(temporary: Path, path: Path) -> None:
    """Publish the file under its name, unless another process did so first."""
    with contextlib.suppress(FileExistsError):
        os.link(temporary, path)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
