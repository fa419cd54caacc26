"""Files and the arrays in them: what plain code loads is derived from the file, what it saves goes into one.

What was saved by a program that was watched, too, is the dataset that was saved, cell for cell.

Each load and each save is an activity of its own, also within one that a user began: an activity that generated an
array and used what was computed from it would come before itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.linking import files
from whence.arrays.linking.frames import is_frame
from whence.arrays.linking.places import caller, place_of
from whence.store.recording.artifacts import content_of, project_of
from whence.store.recording.copies import HOLDS, fingerprint, saved_dataset

if TYPE_CHECKING:
    from whence.store import Store
    from whence.store._store import Stoppable
    from whence.store.recording.activity import Activity


class Files:
    """Watches files for a log; `activity` is what uses and generates them besides, if that is known."""

    def __init__(self, store: Store, activity: Activity | None = None, *, hand_overs: bool = False) -> None:
        self._store = store
        self._activity = activity
        self._hand_overs = hand_overs
        self._spark: Stoppable | None = None
        self._parts: set[tuple[str, str]] = set()  # what was read of archives: arrays may be asked for again and again

    def start(self) -> None:
        """Watch from now on."""
        files.watch(self)
        if self._hand_overs and ("pandas" in sys.modules or "pyspark" in sys.modules):
            self._spark = self._store.tables.watched()

    def stop(self) -> None:
        """Watch no more."""
        files.unwatch(self)
        if self._spark is not None:
            self._spark.stop()
            self._spark = None

    def read_file(self, function: str, path: str, value: Any, part: str = "") -> None:
        """An array or a table was read from a file, or a part of one."""
        if self._activity is not None:
            self._activity.used(Path(path))
        if not self._of_use(value):
            return
        name = self._store.tracker.loaded(value, f"{Path(path).stem}.{part}" if part else Path(path).stem)
        if part and (path, name) in self._parts:
            return
        self._parts.add((path, name))
        content = content_of(path, project_of(self._store.where))
        saved = saved_dataset(self._store, content, value)
        with self._store.activity(function, **_place()) as one:
            one.used_content(content)
            if saved is None or saved == name:
                one.generated(name, derived_from=[Path(path)])
            else:
                one.generated(name, copy_of=saved)

    def wrote_file(self, function: str, path: str, values: Sequence[Any]) -> None:
        """Arrays or tables were written to a file."""
        if self._activity is not None:
            self._activity.generated(Path(path))
        own = list(filter(self._of_use, values))
        if not own:
            return
        names = [self._store.tracker.known_as(each, Path(path).stem) for each in own]
        marks = map(fingerprint, own)
        holds = [[name, mark] for name, mark in zip(names, marks, strict=True) if mark is not None]
        with self._store.activity(function, **_place()) as one:
            one.note(**{HOLDS: holds})
            one.used(*names).generated(Path(path), derived_from=list(dict.fromkeys(names)))

    def _of_use(self, value: Any) -> bool:
        """Whether there is something to record, and a log to record it in."""
        known = is_frame(value) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
        return known and not self._store.database.closed and not self._store.database.read_only


def _place() -> dict[str, Any]:
    """Where the program read or wrote."""
    place = place_of(caller())
    return {"script": Path(place.file).name, "line": place.line} if place.line else {}
