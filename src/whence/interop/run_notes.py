"""The notes of a run's processes about files they opened; see `_audit/sitecustomize.py` and `native/opens`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Stamp(NamedTuple):
    """Values of a file's status that change when the file does.

    Programs cannot set the last one: it changes even if the modification time is reset.
    """

    size: int
    changed: int  # nanoseconds, as the other time
    inode: int
    status_changed: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stamp:
        """Return the stamp of a file from its status."""
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns)

    @classmethod
    def parse(cls, text: str) -> Stamp:
        """Parse the stamp in a note."""
        size, changed, inode, status_changed = (int(each) for each in text.split(":"))
        return cls(size, changed, inode, status_changed)

    @property
    def content(self) -> tuple[int, int, int]:
        """The part that does not change when a file is renamed."""
        return self[:3]


@dataclass
class Notes:
    """The notes of all processes of one run."""

    python: set[str] = field(default_factory=set)  # ids of Python processes with notes by the audit hook
    native: set[str] = field(default_factory=set)  # ids of processes with notes by the preloaded library
    programs: dict[str, None] = field(default_factory=dict)  # programs that the latter started
    read: dict[str, set[Stamp]] = field(default_factory=dict)  # files that were read, unless the run wrote them before
    written: dict[str, None] = field(default_factory=dict)
    gone: dict[str, None] = field(default_factory=dict)  # removed or renamed files
    was: dict[tuple[str, Stamp], str] = field(default_factory=dict)  # hashes of files before the run changed them

    @classmethod
    def of(cls, path: Path) -> Notes:
        """Read a file of notes, which may still be growing."""
        found = cls()
        try:
            lines = path.read_bytes().split(b"\0\n")[:-1]  # the last line may be incomplete
        except OSError:  # there are no notes, or the directory was removed
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
        """Whether the run opened the file for writing, or renamed it or one of its directories to this path."""
        return path in self.written or any(each in self.written for each in _parents_of(path))

    def removed(self, path: str) -> bool:
        """Whether the run removed the file, or renamed it or one of its directories."""
        return path in self.gone or any(each in self.gone for each in _parents_of(path))


def _parents_of(path: str) -> Iterator[str]:
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above
