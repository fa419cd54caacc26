"""Files of a log that Spark reads: the rows of tables that this program handed over. Sources that read them get the
table's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HandedFile:
    """The name of a table, and the digest of its content in the log."""

    name: str
    digest: str


_files: dict[str, HandedFile] = {}  # by path


def remember_file(path: str, name: str, digest: str) -> None:
    """Give this name to sources that read only this file."""
    _files[_local_path(path)] = HandedFile(name, digest)


def handed_file(paths: Sequence[str]) -> HandedFile | None:
    """The handed-over table that a source with these paths reads; None if it reads none."""
    return _files.get(_local_path(paths[0])) if len(paths) == 1 else None


def _local_path(path: str) -> str:
    return "/" + path.removeprefix("file:").lstrip("/")
