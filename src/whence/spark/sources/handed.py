"""Files of a log that Spark reads: the rows of tables that this program handed over. They have names, not paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HandedFile:
    """The name of a table, and the digest by which the log knows its content."""

    name: str
    digest: str


_files: dict[str, HandedFile] = {}  # by the path that Spark reads


def remember_file(path: str, name: str, digest: str) -> None:
    """From now on a source that reads this file alone has that name."""
    _files[_local_path(path)] = HandedFile(name, digest)


def handed_file(paths: Sequence[str]) -> HandedFile | None:
    """The table that a source is which reads these paths."""
    return _files.get(_local_path(paths[0])) if len(paths) == 1 else None


def _local_path(path: str) -> str:
    return "/" + path.removeprefix("file:").lstrip("/")
