"""The files of a project before and after a command: which ones it read, wrote and removed.

The notes of the command's processes about opened files come first. Comparing the files before and after adds changes
that were not noted (by other programs or compiled libraries), unless a concurrent run may have made them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from whence.errors import StoreError
from whence.interop.run_notes import Notes, Stamp
from whence.interop.run_registry import DIRECTORY, TICK, Other, Registered
from whence.store.recording.artifacts import Content, Gone, artifact_name, content_of

if TYPE_CHECKING:
    from whence.store.recording.activity import Activity

_SKIPPED = {"__pycache__", "node_modules", "site-packages"}


@dataclass
class Scan:
    """The files of a project, without hidden files, logs and installed packages."""

    files: dict[str, Stamp] = field(default_factory=dict)
    registries: set[Path] = field(default_factory=set)  # registries of runs in projects within this one

    @classmethod
    def of(cls, project: Path) -> Scan:
        """Scan all files."""
        found = cls()
        found._look(project)
        return found

    def _look(self, place: Path) -> None:
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError:  # nothing can be recorded in an unreadable directory
            return
        for entry in entries:
            if entry.name == DIRECTORY:
                self.registries.add(Path(entry.path))
            if entry.name.startswith(".") or entry.name.endswith(".whence") or entry.name in _SKIPPED:
                continue
            if entry.is_dir(follow_symlinks=False):
                if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                    self._look(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                try:
                    self.files[entry.path] = Stamp.of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:  # removed since the directory was listed
                    continue

    def settle(self) -> None:
        """Wait until later changes get another time than the newest file."""
        newest = max((stamp.status_changed for stamp in self.files.values()), default=0)
        while 0 <= time.time_ns() - newest < TICK:
            time.sleep(TICK / 1e9)


@dataclass(frozen=True)
class Seen:
    """The files of the project before and after a command, with the notes of its processes."""

    run: Registered
    notes: Notes
    named: Sequence[str]  # files among its arguments, if its processes were not observed
    before: dict[str, Stamp]
    after: dict[str, Stamp]
    others: Sequence[Other]  # concurrent runs
    is_complete: bool = False  # whether all processes of the command were observed
    uncertain: dict[str, None] = field(default_factory=dict)  # files that something else may have changed

    @property
    def project(self) -> Path:
        """The directory that names of files are relative to."""
        return self.run.project

    @cached_property
    def changed(self) -> dict[str, Stamp]:
        """The files that the command wrote."""
        found = {path: stamp for path, stamp in self.after.items() if self.before.get(path) != stamp}
        return {path: stamp for path, stamp in found.items() if self._is_ours(path, stamp)}

    def _is_ours(self, path: str, stamp: Stamp) -> bool:
        """Whether the command changed a file; if another program may have changed it, add it to `uncertain`."""
        moment = stamp.status_changed
        seen = [other for other in self.others if other.notes.wrote(path)]
        if self.notes.wrote(path):
            rivals = [other for other in seen if other.was_running(moment)]
        elif seen:
            return False
        else:
            rivals = [other for other in self.others if not other.is_below and other.was_running(moment)]
            if self.others and self.run.ended is not None and moment > self.run.ended + TICK:
                return False  # it was changed after the command ended
        is_ours = not rivals and (self.notes.wrote(path) or not self.is_complete)
        if not is_ours:
            self.uncertain.setdefault(path)
        return is_ours

    @cached_property
    def gone(self) -> dict[str, Stamp]:
        """The files that the command removed, or renamed."""
        found = {}
        for path in self.before.keys() - self.after.keys():
            if self.notes.removed(path) or not (self.others or self.is_complete):
                found[path] = self.before[path]
            elif not any(other.notes.removed(path) for other in self.others):
                self.uncertain.setdefault(path)
        return dict(sorted(found.items()))

    @cached_property
    def moved(self) -> dict[str, Content]:
        """The contents of renamed files by their old path: the same unchanged inode has another path now."""
        came = {stamp.content: path for path, stamp in self.changed.items()}
        found = {
            path: self._content(came[stamp.content])
            for path, stamp in self.gone.items()
            if stamp.content in came
        }  # fmt: skip
        return {path: content for path, content in found.items() if content is not None}

    def used(self, activity: Activity) -> list[str]:
        """Record the files that were read; return those whose content at that time is unknown."""
        named = [path for path in self.named if path in self.before and self.after.get(path) == self.before[path]]
        unknown = []
        for path in dict.fromkeys([*self.notes.read, *named, *self.moved]):
            stamps = [each for each in self.notes.read.get(path) or [self.before[path]] if self._is_input(path, each)]
            contents = [self._held(path, stamp) for stamp in stamps]
            if None in contents or len(contents) > 1:  # an activity uses one version of a file
                unknown.append(artifact_name(path, self.project))
            elif contents and contents[0] is not None:
                activity.used_content(contents[0])
        if unknown:
            activity.note(read_but_changed=unknown)
        return unknown

    def _is_input(self, path: str, stamp: Stamp) -> bool:
        """Whether a file that was read existed before, or came from another run; a run's own outputs are not inputs."""
        if self.before.get(path) == stamp:
            return True
        ours = path in self.changed or path in self.uncertain
        return not ours and any(other.notes.wrote(path) for other in self.others)

    def _held(self, path: str, stamp: Stamp) -> Content | None:
        """Return the content of a file when it had this stamp; None if it is unknown."""
        name = artifact_name(path, self.project)
        if (path, stamp) in self.notes.was:
            return Content(name, path, self.notes.was[path, stamp], stamp.size)
        if path in self.moved:
            content = self.moved[path]
            return Content(name, path, content.hash, content.size)
        return self._content(path) if self.after.get(path) == stamp else None

    def _content(self, path: str) -> Content | None:
        """Return the content of a file; None if it changed again, is missing, or is not readable."""
        try:
            content = content_of(path, self.project)
            return content if Stamp.of(os.stat(path)) == self.after[path] else None
        except (StoreError, OSError):
            return None

    def generated(self, activity: Activity) -> None:
        """Record the files that were written."""
        hidden = []
        for path in self.changed:
            content = self._content(path)
            if content is not None:
                activity.generated_content(content)
                self.run.generated.append(path)
            elif self.others and os.access(path, os.R_OK):  # a concurrent run changed it again
                self.uncertain.setdefault(path)
            else:
                hidden.append(artifact_name(path, self.project))
        if hidden:
            activity.note(unreadable=hidden)

    def removed(self, activity: Activity) -> list[str]:
        """Record the files that were removed, and return their names."""
        found = [Gone(artifact_name(path, self.project), *stamp[:2]) for path, stamp in self.gone.items()]
        for each in found:
            activity.removed_file(each)
        if found:
            activity.note(removed=[each.artifact for each in found])
        return [each.artifact for each in found]

    def left_out(self, activity: Activity, outputs: Sequence[str]) -> list[str]:
        """Record the files that something else may have changed; files named as outputs belong to this run."""
        own = {os.path.realpath(each) for each in outputs}
        found = sorted(artifact_name(path, self.project) for path in self.uncertain if path not in own)
        if found:
            activity.note(perhaps_changed_by_others=found)
        return found
