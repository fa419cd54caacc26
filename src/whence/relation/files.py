"""Write the file of a relation at once, and map it into memory."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from whence.errors import Damaged, StoreError
from whence.relation.stored import RESTORE


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file under another name, then rename it."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(target)  # a reader that has the old file mapped keeps it
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from error


def mapped(path: str | os.PathLike[str]) -> memoryview:
    """Return the bytes of a file, which are read when they are needed."""
    name = repr(os.fspath(path))
    try:
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except ValueError as error:  # an empty file cannot be mapped
        raise Damaged(f"{name} is empty; {RESTORE}") from error
    except OSError as error:
        raise StoreError(f"cannot read {name}: {error.strerror or error}") from error
