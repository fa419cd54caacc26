"""The registry of concurrent runs in one project: each run has a directory until no run needs it any more.

Runs may have different logs, users or hosts; they share only the file system. Its clock, which also sets the times of
files, gives the start and end of a run; a lock on a file shows whether it is still running.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from whence.errors import StoreError
from whence.interop.run_notes import Notes

DIRECTORY = ".whence-runs"
INSIDE = "WHENCE_RUN_INSIDE"  # the directories of the outer runs
TICK = 20_000_000  # nanoseconds; files get the time of the kernel's last tick, which is slightly in the past


@dataclass(frozen=True)
class Other:
    """A concurrent run."""

    place: Path
    started: int
    ended: int | None
    is_below: bool  # whether this run started it

    @cached_property
    def notes(self) -> Notes:
        """The notes of its processes so far; after its end, also the files that are recorded as its outputs."""
        return Notes.of(self.place / "notes")

    def was_running(self, time: int) -> bool:
        """Whether it may have changed a file with this time."""
        return self.started - TICK <= time and (self.ended is None or time <= self.ended + TICK)


class Registered:
    """A run in the registry."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.place = project / DIRECTORY / uuid.uuid4().hex
        self.inside = [each for each in os.environ.get(INSIDE, "").split(os.pathsep) if each]
        self.below: set[Path] = set()  # registries of projects within this one
        self.generated: list[str] = []  # files recorded as outputs
        self.ended: int | None = None
        for _ in range(100):  # another run may be removing the directory
            try:
                self._make()
                break
            except FileNotFoundError:
                continue
            except OSError:  # the project is not writable, but the run can be recorded
                self.place = Path(tempfile.mkdtemp(prefix="whence-run-")) / self.place.name
        else:
            raise StoreError(f"{self.place.parent} is removed again and again: stop the program that removes it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.leave()

    def _make(self) -> None:
        """Create the directory; rename it to its final name, which other runs look for, once it is locked."""
        hidden = self.place.with_name(f".{self.place.name}")
        hidden.mkdir(parents=True, exist_ok=True)
        (hidden.parent / ".gitignore").write_text("*\n")
        (hidden / "inside").write_text("\n".join(self.inside))
        self._lock = os.open(hidden / "started", os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.started = os.fstat(self._lock).st_mtime_ns
        hidden.rename(self.place)

    @property
    def notes(self) -> Path:
        """The file for the notes of its processes."""
        return self.place / "notes"

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that mark inner runs as part of this one."""
        return {INSIDE: os.pathsep.join([*self.inside, str(self.place)])}

    def end(self) -> None:
        """Mark that the command has ended."""
        self.ended = _touch(self.place / "ended")

    def others(self) -> list[Other]:
        """Return the concurrent runs, without the outer runs that started this one.

        They are runs in this project, in projects that contain it, and in projects that it contains.
        """
        found = [each for each in self._all() if str(each.place) not in self.inside]
        return [each for each in found if each.ended is None or each.ended + TICK >= self.started]

    def _all(self) -> list[Other]:
        above = {each / DIRECTORY for each in (self.project, *self.project.parents)}
        found = (self._other(place) for registry in above | self.below for place in _runs_in(registry))
        return [each for each in found if each is not None]

    def _other(self, place: Path) -> Other | None:
        if place == self.place:
            return None
        try:
            started = os.stat(place / "started").st_mtime_ns
            inside = (place / "inside").read_text().split("\n")
            ended = _ended(place)
        except FileNotFoundError:  # it is being created or removed
            return None
        return Other(place, started, ended, str(self.place) in inside)

    def leave(self) -> None:
        """Publish the files that were recorded as outputs; remove directories that no run needs any more."""
        with suppress(FileNotFoundError):  # the command removed the directory
            with (self.place / "notes").open("ab") as notes:
                notes.write(b"".join(b"write\0" + os.fsencode(each) + b"\0\0\n" for each in self.generated))
            if self.ended is None:
                self.end()
        os.close(self._lock)
        # A run whose command has ended needs the notes of other runs until it leaves.
        oldest = min((other.started for other in self._all() if _is_locked(other.place)), default=None)
        registry = self.place.parent
        for place in _runs_in(registry):
            with suppress(OSError):  # another run removes it, too, or only another user may
                ended = _ended(place)
                if ended is not None and (oldest is None or ended + TICK < oldest):
                    shutil.rmtree(place)
        if not _runs_in(registry):
            with suppress(OSError):  # a new run has registered there
                (registry / ".gitignore").unlink()
                registry.rmdir()


def _runs_in(registry: Path) -> list[Path]:
    try:
        found = [Path(each.path) for each in os.scandir(registry) if each.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return [each for each in found if not each.name.startswith(".")]


def _ended(place: Path) -> int | None:
    """Return when a run ended; None if it is running. A killed run ends when another run notices."""
    if (place / "ended").exists():
        return os.stat(place / "ended").st_mtime_ns
    if _is_locked(place):
        return None
    try:
        return _touch(place / "ended")
    except PermissionError:  # the run of another user
        return max(os.stat(each).st_mtime_ns for each in (place, place / "started"))


def _is_locked(place: Path) -> bool:
    """Whether the process of a run is still running and has not left."""
    try:
        lock = os.open(place / "started", os.O_RDONLY)
    except FileNotFoundError:  # it was just removed
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _touch(path: Path) -> int:
    path.write_bytes(b"")
    return os.stat(path).st_mtime_ns
