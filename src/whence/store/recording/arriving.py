"""Arguments of tracked calls: drafts of the operations to record, and notes of datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.arrays.linking.arrivals import Arrival, Seen
from whence.arrays.linking.places import CodeLine
from whence.arrays.recording.calls import Edge

Shape = tuple[int, ...]

FOREIGN = "it is the result of a call in another log, or in this one before it was opened again"

OPERATIONS = {
    "same": "same", "view": "view", "copy": "copy", "joined": "join", "picked": "pick", "table": "columns",
    "new": "part",
}  # fmt: skip
"""The name of the operation that links an argument, by how the argument was recognised."""


@dataclass(slots=True)
class Draft:
    """An operation to record, and the datasets that it needs."""

    operation: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
    shapes: dict[str, Shape] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)  # names that may exist already
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)  # of datasets
    revisions: dict[str, str] = field(default_factory=dict)  # versions, each with the version before
    chosen: set[str] = field(default_factory=set)  # names chosen by users

    def needs(self, name: str, shape: Shape, *, there: bool, **properties: Any) -> str:
        """Add a dataset to the draft and return its name."""
        self.shapes[name] = shape
        if there:
            self.given.add(name)
        if properties:
            self.properties.setdefault(name, {}).update(properties)
        return name


@dataclass(frozen=True, slots=True)
class Base:
    """A new array of which a view was passed to a call."""

    array: Any
    variable: str
    seen: Seen
    suspicious: bool


@dataclass(frozen=True, slots=True)
class Arrived:
    """An array as it was passed to a call, before the function ran."""

    value: Any
    array: Any  # the array with its values; None if it is not an array
    found: Arrival | None
    object: tuple[bytes, str | None] | None = None  # for a table: its digest, and its dataset if known
    variable: str | None = None
    suspicious: bool = False  # whether it may have been computed from results
    itself: Seen | None = None  # by which other arguments of the same call find it
    base: Base | None = None  # the array that it is a view of, if the program has a variable for it


Handed = tuple[tuple[Arrived, ...], CodeLine]
"""The arguments of a call, and the line of the call."""


def note_of(found: Arrival, names: Sequence[str], place: CodeLine) -> str:
    """Return the note for an argument that was recognised in this way, from these datasets."""
    names = list(dict.fromkeys(names))
    some = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    if found.how == "copy":
        return f"holds at {place} what {some} holds: it is assumed to be a copy, because of its content"
    if found.how == "joined":
        return f"holds at {place} what {some} hold: it is assumed to be these, concatenated, because of their content"
    if found.how == "picked":
        return f"holds at {place} only cells of {some}: they are assumed to be copies, because of their values"
    if found.how == "table":
        return f"holds at {place} rows and columns of {some}" + (", by their content" if found.by_content else "")
    if found.how == "new":
        known = f", only that it holds {some}" if names else ""
        return f"starts at {place}: how it was made was not recorded{known}" + (f" ({found.why})" if found.why else "")
    return ""
