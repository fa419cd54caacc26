"""Recording files that a program loads and saves: loaded arrays are derived from the file, saved ones are its inputs.

If the file was saved while a log was watching, the loaded array is derived from the saved dataset, cell for cell.

Each load and each save is an activity of its own, also within an activity of the user: if one activity generated an
array and used a result computed from it, the graph would have a cycle.
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
    """Watches files for a log; they are also recorded as inputs and outputs of `activity`, if it is given."""

    def __init__(self, store: Store, activity: Activity | None = None, *, hand_overs: bool = False) -> None:
        self._store = store
        self._activity = activity
        self._hand_overs = hand_overs
        self._spark: Stoppable | None = None
        self._parts: set[tuple[str, str]] = set()  # recorded arrays of archives, which may be read repeatedly

    def start(self) -> None:
        """Start watching."""
        files.watch(self)
        if self._hand_overs and ("pandas" in sys.modules or "pyspark" in sys.modules):
            self._spark = self._store.tables.watched()

    def stop(self) -> None:
        """Stop watching."""
        files.unwatch(self)
        if self._spark is not None:
            self._spark.stop()
            self._spark = None

    def read_file(self, function: str, path: str, value: Any, part: str = "") -> None:
        """Record that an array or a table was read from a file, or from a part of one."""
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
        """Record that arrays or tables were written to a file."""
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
        """Whether the value can be recorded and the log can be written."""
        known = is_frame(value) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
        return known and not self._store.database.closed and not self._store.database.read_only


def _place() -> dict[str, Any]:
    """Return the script and line that read or wrote."""
    place = place_of(caller())
    return {"script": Path(place.file).name, "line": place.line} if place.line else {}
