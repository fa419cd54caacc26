"""What is passed to tracked calls, and what the log says of it: drafts of operations and notes of datasets."""

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
"""What the operation is called that links an argument, by how it was recognised."""


@dataclass(slots=True)
class Draft:
    """An operation to be recorded, and the datasets that it needs."""

    operation: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
    shapes: dict[str, Shape] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)  # names that may be there already
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)  # of datasets
    revisions: dict[str, str] = field(default_factory=dict)  # versions, and what each was before
    chosen: set[str] = field(default_factory=set)  # names that users gave

    def needs(self, name: str, shape: Shape, *, there: bool, **properties: Any) -> str:
        """A dataset takes part."""
        self.shapes[name] = shape
        if there:
            self.given.add(name)
        if properties:
            self.properties.setdefault(name, {}).update(properties)
        return name


@dataclass(frozen=True, slots=True)
class Base:
    """An array of which a part was passed to a call, before anything was known of it."""

    array: Any
    variable: str
    seen: Seen
    suspicious: bool


@dataclass(frozen=True, slots=True)
class Arrived:
    """An array as it was passed to a call, before the function ran."""

    value: Any
    array: Any  # the numbers behind it; None if it is not an array
    found: Arrival | None
    object: tuple[bytes, str | None] | None = None  # of a table: its digest, and the dataset that it is known to be
    variable: str | None = None
    suspicious: bool = False  # whether it may have been computed from results
    itself: Seen | None = None  # what other arguments of the same call know it by
    base: Base | None = None  # the array that it is a part of, if the program holds that


Handed = tuple[tuple[Arrived, ...], CodeLine]
"""What was passed to a call, and where."""


def note_of(found: Arrival, names: Sequence[str], place: CodeLine) -> str:
    """What the log says of an argument that was recognised in this way, by these datasets."""
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
