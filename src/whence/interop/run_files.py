"""The files of a project before and after a command: which of them it read, wrote and removed.

What the Python processes of the command opened decides. The comparison adds what they cannot know of (other programs,
compiled libraries), unless another run, which took place at the same time, may have done it.
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
    """The files of a project; hidden ones, logs and installed packages are none."""

    files: dict[str, Stamp] = field(default_factory=dict)
    registries: set[Path] = field(default_factory=set)  # where runs in projects within this one are registered

    @classmethod
    def of(cls, project: Path) -> Scan:
        """Look at all of them."""
        found = cls()
        found._look(project)
        return found

    def _look(self, place: Path) -> None:
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError:  # a directory that may not be listed holds nothing that can be recorded
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
                except FileNotFoundError:  # gone since the directory was listed
                    continue

    def settle(self) -> None:
        """Wait until whatever changes from now on gets another time than the files have."""
        newest = max((stamp.status_changed for stamp in self.files.values()), default=0)
        while 0 <= time.time_ns() - newest < TICK:
            time.sleep(TICK / 1e9)


@dataclass(frozen=True)
class Seen:
    """The files of the project before and after a command, and what is known of it in between."""

    run: Registered
    notes: Notes
    named: Sequence[str]  # files among its arguments, if it is not a Python program
    before: dict[str, Stamp]
    after: dict[str, Stamp]
    others: Sequence[Other]  # runs at the same time
    uncertain: dict[str, None] = field(default_factory=dict)  # files that this run or another changed or removed

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
        """Whether the command changed a file; if another run may have done so as well, it is uncertain."""
        moment = stamp.status_changed
        seen = [other for other in self.others if other.notes.wrote(path)]
        if self.notes.wrote(path):
            rivals = [other for other in seen if other.was_running(moment)]
        elif seen:
            return False
        else:
            rivals = [other for other in self.others if not other.is_below and other.was_running(moment)]
            if self.others and self.run.ended is not None and moment > self.run.ended + TICK:
                return False  # it was changed after the command had ended
        if rivals:
            self.uncertain.setdefault(path)
        return not rivals

    @cached_property
    def gone(self) -> dict[str, Stamp]:
        """The files that the command removed, or renamed."""
        found = {}
        for path in self.before.keys() - self.after.keys():
            if self.notes.removed(path) or not self.others:
                found[path] = self.before[path]
            elif not any(other.notes.removed(path) for other in self.others):
                self.uncertain.setdefault(path)
        return dict(sorted(found.items()))

    @cached_property
    def moved(self) -> dict[str, Content]:
        """The contents of files that are gone under their name: the same inode, unchanged, has another one now."""
        came = {stamp.content: path for path, stamp in self.changed.items()}
        found = {
            path: self._content(came[stamp.content])
            for path, stamp in self.gone.items()
            if stamp.content in came
        }  # fmt: skip
        return {path: content for path, content in found.items() if content is not None}

    def used(self, activity: Activity) -> list[str]:
        """Note what was read. Returns the files whose content at that time is not known."""
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
        """Whether what was read was there before, or came from another run: what a run made itself is not an input."""
        if self.before.get(path) == stamp:
            return True
        ours = path in self.changed or path in self.uncertain
        return not ours and any(other.notes.wrote(path) for other in self.others)

    def _held(self, path: str, stamp: Stamp) -> Content | None:
        """What a file held when it had this stamp; None if that is not known any more."""
        name = artifact_name(path, self.project)
        if (path, stamp) in self.notes.was:
            return Content(name, path, self.notes.was[path, stamp], stamp.size)
        if path in self.moved:
            content = self.moved[path]
            return Content(name, path, content.hash, content.size)
        return self._content(path) if self.after.get(path) == stamp else None

    def _content(self, path: str) -> Content | None:
        """What a file holds; None if it changed again, is gone, or is not for us to read."""
        try:
            content = content_of(path, self.project)
            return content if Stamp.of(os.stat(path)) == self.after[path] else None
        except (StoreError, OSError):
            return None

    def generated(self, activity: Activity) -> None:
        """Note what was written."""
        hidden = []
        for path in self.changed:
            content = self._content(path)
            if content is not None:
                activity.generated_content(content)
                self.run.generated.append(path)
            elif self.others and os.access(path, os.R_OK):  # somebody changed it again
                self.uncertain.setdefault(path)
            else:
                hidden.append(artifact_name(path, self.project))
        if hidden:
            activity.note(unreadable=hidden)

    def removed(self, activity: Activity) -> list[str]:
        """Note what is not there any more, and return the names."""
        found = [Gone(artifact_name(path, self.project), *stamp[:2]) for path, stamp in self.gone.items()]
        for each in found:
            activity.removed_file(each)
        if found:
            activity.note(removed=[each.artifact for each in found])
        return [each.artifact for each in found]

    def left_out(self, activity: Activity, outputs: Sequence[str]) -> list[str]:
        """Note which files this run or another changed; those that were named as outputs are its own."""
        own = {os.path.realpath(each) for each in outputs}
        found = sorted(artifact_name(path, self.project) for path in self.uncertain if path not in own)
        if found:
            activity.note(changed_by_this_or_another_run=found)
        return found
