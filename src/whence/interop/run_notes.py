"""What the processes of a run noted about the files they opened; see `_audit/sitecustomize.py` and `native/opens`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Stamp(NamedTuple):
    """What changes when a file does.

    No program can set the last: it shows a change even if the file's time was put back.
    """

    size: int
    changed: int  # both times in nanoseconds
    inode: int
    status_changed: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stamp:
        """The stamp of a file whose status is at hand."""
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns)

    @classmethod
    def parse(cls, text: str) -> Stamp:
        """The stamp out of a note."""
        size, changed, inode, status_changed = (int(each) for each in text.split(":"))
        return cls(size, changed, inode, status_changed)

    @property
    def content(self) -> tuple[int, int, int]:
        """The part that stays when a file is renamed."""
        return self[:3]


@dataclass
class Notes:
    """The notes of all processes of one run."""

    python: set[str] = field(default_factory=set)  # the ids of the Python processes that noted what they opened
    native: set[str] = field(default_factory=set)  # ... and of those that did so by the preloaded library
    programs: dict[str, None] = field(default_factory=dict)  # what the latter started, as they called it
    read: dict[str, set[Stamp]] = field(default_factory=dict)  # what was read that the run had not written itself
    written: dict[str, None] = field(default_factory=dict)
    gone: dict[str, None] = field(default_factory=dict)  # removed, or renamed
    was: dict[tuple[str, Stamp], str] = field(default_factory=dict)  # the hash of a file before the run changed it

    @classmethod
    def of(cls, path: Path) -> Notes:
        """Read a file of notes, which may still be growing."""
        found = cls()
        try:
            lines = path.read_bytes().split(b"\0\n")[:-1]  # what follows the last end of line is not complete yet
        except OSError:  # no Python process noted anything, or the directory was cleaned
            return found
        for line in lines:
            match os.fsdecode(line).split("\0"):
                case ["python", _, process]:
                    found.python.add(process)
                case ["native", _, process]:
                    found.native.add(process)
                case ["program", name, _]:
                    found.programs.setdefault(name)
                case ["read", name, stamp] if not found.wrote(name):
                    found.read.setdefault(name, set()).add(Stamp.parse(stamp))
                case ["write" | "move", name, _]:
                    found.written.setdefault(name)
                case ["gone", name, _]:
                    found.gone.setdefault(name)
                case ["was", name, value]:
                    stamp, _, content = value.rpartition(":")
                    found.was.setdefault((name, Stamp.parse(stamp)), content)
        return found

    def wrote(self, path: str) -> bool:
        """Whether the run opened the file to write it, or moved it, or a directory that it is in, there."""
        return path in self.written or any(each in self.written for each in _parents_of(path))

    def removed(self, path: str) -> bool:
        """Whether the run removed the file, or moved it, or a directory that it was in, away."""
        return path in self.gone or any(each in self.gone for each in _parents_of(path))


def _parents_of(path: str) -> Iterator[str]:
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above
