"""Directories of parts: each part is a file named by the hash of its content, so writing it twice has no effect."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import secrets
from pathlib import Path
from typing import Protocol

from whence.errors import Damaged, Redefined, StoreError
from whence.relation._relation import Relation

INDEX = "index"
ENDING = ".part"
TEMPORARY = ".writing-"  # prefix of files that are not complete yet
MAPPED = 1 << 16  # parts of at least so many bytes are mapped into memory, not read


def hash_of(data: bytes | memoryview) -> str:
    """Return the name of the file for these bytes: BLAKE2b with 256 bits, in hexadecimal.

    >>> hash_of(b"")[:16]
    '0e5751c026e543b2'
    """
    return hashlib.blake2b(data, digest_size=32).hexdigest()


class Place(Protocol):
    """Storage in which parts of a relation are written and read. It is sent to other processes, so it must be
    picklable.
    """

    def put(self, name: str, data: bytes) -> bool:
        """Write a part atomically. Return whether it is new."""

    def has(self, name: str, size: int) -> bool:
        """Whether the part exists, with that many bytes."""

    def open(self, name: str, title: str) -> Relation:
        """Open the part of that name, called `title` in errors."""

    def verify(self, name: str) -> None:
        """Read the whole part. Raise Damaged if it is missing, or its hash is not its name."""


class Directory:
    """Parts in a directory, with the index that combines them into one relation."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"Directory({os.fspath(self.path)!r})"

    def make(self) -> None:
        """Create the directory. Raise an error if it already holds a relation, or is a file."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the directory {str(self.path)!r}: {error.strerror or error}") from error
        self.require_free()

    def require_free(self) -> None:
        """Raise Redefined if the directory has a relation."""
        if (self.path / INDEX).exists():
            raise self._taken()

    def put(self, name: str, data: bytes) -> bool:
        """Write a part to a temporary file, then rename it."""
        target = self._file(name)
        if target.exists() and target.stat().st_size == len(data) and target.read_bytes() == data:
            return False
        self._write(data, target, os.replace)
        return True

    def has(self, name: str, size: int) -> bool:
        """Whether the part exists, with that many bytes."""
        try:
            return self._file(name).stat().st_size == size
        except FileNotFoundError:
            return False

    def publish(self, index: bytes) -> None:
        """Write the index, which makes the parts visible. Raise an error if another process did so first."""
        self._write(index, self.path / INDEX, self._link)

    def index(self) -> bytes:
        """Return the bytes of the index."""
        try:
            return (self.path / INDEX).read_bytes()
        except FileNotFoundError:
            raise Damaged(
                f"{str(self.path)!r} has no index: it is not a relation, or its writer was stopped before the end"
            ) from None
        except OSError as error:
            raise StoreError(f"cannot read {str(self.path)!r}: {error.strerror or error}") from error

    def open(self, name: str, title: str) -> Relation:
        """Open the part; it is memory-mapped unless it is small."""
        try:
            with self._file(name).open("rb") as file:
                if os.fstat(file.fileno()).st_size < MAPPED:
                    return Relation.from_bytes(file.read(), title)
                return Relation.from_bytes(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), title)
        except FileNotFoundError:
            raise self._missing(name) from None
        except OSError as error:
            if isinstance(error, Damaged):
                raise
            raise StoreError(f"cannot read {title}: {error.strerror or error}") from error

    def verify(self, name: str) -> None:
        """Read the whole part and compare its hash with its name."""
        try:
            data = self._file(name).read_bytes()
        except FileNotFoundError:
            raise self._missing(name) from None
        if hash_of(data) != name:
            raise Damaged(f"the part {name[:12]}... in {str(self.path)!r} is truncated or altered")

    def tidy(self, keep: set[str]) -> int:
        """Remove unused parts and unfinished files. Return how many there were."""
        unwanted = [
            path
            for path in self.path.iterdir()
            if path.name.startswith(TEMPORARY) or (path.suffix == ENDING and path.stem not in keep)
        ]
        for path in unwanted:
            path.unlink(missing_ok=True)
        return len(unwanted)

    def _file(self, name: str) -> Path:
        return self.path / f"{name}{ENDING}"

    def _missing(self, name: str) -> Damaged:
        return Damaged(
            f"the part {name[:12]}... is missing from {str(self.path)!r}; "
            "restore the file from a copy, or write the relation again"
        )

    def _taken(self) -> Redefined:
        return Redefined(f"{str(self.path)!r} holds a relation already: give another path, or remove it first")

    def _link(self, temporary: Path, target: Path) -> None:
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise self._taken() from None

    def _write(self, data: bytes, target: Path, publish: object) -> None:
        assert callable(publish)
        temporary = self.path / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            publish(temporary, target)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if isinstance(error, (Redefined, StoreError, Damaged)):
                raise
            raise StoreError(f"cannot write to {str(self.path)!r}: {error.strerror or error}") from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
