"""The immutable records of a log: datasets, operations, derivations and others."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from whence.words import counted, in_units

WIDEST = 60  # printed characters of an argument; --json prints all of it
LONGEST = 200  # printed characters of a property
NOT_PRINTED = frozenset({"column_lineage", "blob_columns"})
"""Properties of tables for other programs; --json prints them."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset of the log: an entity, in the words of W3C PROV.

    >>> print(Dataset("A", "array", (3, 2), created="2026-01-01T00:00:00Z", by="ada"))
    A: array of shape (3, 2)
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    created: str | None  # None: unknown, because it was imported
    by: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    COLUMNS: ClassVar = ("dataset", "kind", "shape", "size", "created", "by")

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} of shape {self.shape}"

    def cells(self) -> tuple[str, ...]:
        """Return its row in a table."""
        size = self.properties.get("size")
        sides = " x ".join(map(str, self.shape)) or ("" if self.properties.get("artifact") else "scalar")
        shown = in_units(size) if isinstance(size, int) else ""
        return self.name, self.kind, sides, shown, self.created or "unknown", self.by or ""

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that was run: an activity, in the words of W3C PROV."""

    id: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    args: Mapping[str, Any]
    started: str | None  # None: unknown, because it was imported
    ended: str | None
    by: str | None = None
    reuse: bool = False
    properties: Mapping[str, Any] = field(default_factory=dict)

    COLUMNS: ClassVar = ("operation", "call", "script", "status", "started", "by")

    @property
    def label(self) -> str:
        """Its id in the graph, unless it was imported."""
        return f"{self.name}#{self.id}"

    def cells(self) -> tuple[str, ...]:
        """Return its row in a table: its command, where it was called, how it ended."""
        command = self.properties.get("command")
        is_command = isinstance(command, str) and command != self.name
        script, line = (self.properties.get(each) for each in ("script", "line"))
        place = "" if script is None else f"{script}:{line}" if line is not None else str(script)
        call = str(command) if is_command else str(self)
        return self.label, call, place, self.status, (self.started or "unknown")[:19], self.by or ""

    @property
    def status(self) -> str:
        """How it ended; an empty string if that is unknown."""
        if "error" in self.properties:
            return f"failed: {self.properties['error']}"
        code = self.properties.get("exit_code")
        return "" if code is None else "ok" if code == 0 else f"exit status {code}"

    def __str__(self) -> str:
        args = ", ".join(f"{key}={_short(repr(value))}" for key, value in self.args.items())
        return f"{', '.join(self.outputs)} = {self.name}({', '.join((*self.inputs, *([args] if args else [])))})"

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return asdict(self)


def _short(text: str, longest: int = WIDEST) -> str:
    """Shorten an argument or a property to fit into a line."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


@dataclass(frozen=True, slots=True)
class Derivation:
    """One edge of the graph: `output` was derived from `input`; `hash` is the relation of their cells."""

    output: str
    input: str
    kind: str
    hash: str
    boxes: int
    tuples: int
    size: int
    created: str
    operation: str | None = None

    def __str__(self) -> str:
        how = f" by {self.operation}" if self.operation else ""
        if self.kind == "run":
            return f"{self.output} <- {self.input}{how}: the run computes it when it is asked"
        how += f" ({self.kind})" if self.kind != "boxes" else ""
        tuples, boxes = counted(self.tuples, "tuple"), counted(self.boxes, "box", "boxes")
        return f"{self.output} <- {self.input}{how}: {tuples} in {boxes}, {in_units(self.size)}"

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """All records of one dataset: `derived_from` has the derivations from its inputs, `led_to` those of its outputs."""

    dataset: Dataset
    derived_from: tuple[Derivation, ...]
    led_to: tuple[Derivation, ...]
    operations: tuple[Operation, ...]

    def __str__(self) -> str:
        dataset = self.dataset
        lines = [
            str(dataset),
            f"  created {dataset.created or 'at an unknown time'}" + (f" by {dataset.by}" if dataset.by else ""),
        ]
        lines += [
            f"  {key}: {_short(str(value), LONGEST)}"
            for key, value in dataset.properties.items()
            if key not in NOT_PRINTED and value != []
        ]
        for title, items in (
            ("derived from", self.derived_from),
            ("led to", self.led_to),
            ("operations", self.operations),
        ):
            lines += [f"  {title}:", *(f"    {item}" for item in items)] if items else []
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Collected:
    """What garbage collection removed."""

    blobs: int
    temporary: int
    bytes: int

    def __str__(self) -> str:
        blobs, temporary = counted(self.blobs, "blob"), counted(self.temporary, "temporary file")
        return f"removed {blobs} and {temporary}, {in_units(self.bytes)}"

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return asdict(self)
