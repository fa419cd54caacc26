"""Reuse rules: lineage learned from calls, stored in the log and shared between programs."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from whence.arrays.recording.calls import Edge
from whence.relation import Relation

Level = Literal["base", "dim", "gen"]
State = Literal["candidate", "confirmed", "refused"]
Shape = tuple[int, ...]

LARGEST = 1 << 20
"""Rules of more bytes stay in the process that learned them, and are not stored in the log."""

MOST_ROWS = 1 << 19
"""Rules of more rows are not stored either: they hardly ever need fewer bytes, and encoding them takes long."""


@dataclass(frozen=True, slots=True)
class ReuseRule:
    """A reuse rule of the log: the lineage of runs with one call record, and how often it was reused.

    A rule of level `dim` holds for runs that did the same with arrays of the same lengths; `base` also requires the
    same contents (a mask, a sort key); `gen` holds for other lengths. The signature is the hash of the call record.
    """

    function: str
    level: Level
    signature: str
    state: State
    hits: int = 0
    misses: int = 0
    identity: str = ""
    payload: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.function}: {self.level}, {self.state}, {self.hits} hits, {self.misses} misses"

    def as_dict(self) -> dict[str, Any]:
        """Return the rule as a dictionary for JSON, without the learned lineage."""
        return {key: value for key, value in asdict(self).items() if key != "payload"}


class Shelf(Protocol):
    """The store of reuse rules."""

    def load(self, identity: str) -> list[ReuseRule]: ...
    def put(self, rule: ReuseRule) -> None: ...
    def count(self, identity: str, level: Level, signature: str, *, hits: int = 0, misses: int = 0) -> None: ...


@dataclass(frozen=True, slots=True)
class Known:
    """The lineage of a call that is known before it is computed."""

    level: Level
    signature: str
    outputs: tuple[Shape, ...]
    edges: tuple[Edge, ...]
    notes: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows of its relations."""
        return sum(len(edge.relation) for edge in self.edges)

    def payload(self) -> dict[str, Any] | None:
        """Return it as a dictionary for JSON; None if it is too large."""
        found = packed(self.outputs, self.edges)
        return found if found is None or not self.notes else {**found, "notes": dict(self.notes)}


def packed(outputs: Sequence[Shape], edges: Sequence[Edge]) -> dict[str, Any] | None:
    """Return shapes and relations as a dictionary for JSON; None if they are too large."""
    if sum(len(edge.relation) for edge in edges) > MOST_ROWS:
        return None
    data = [edge.relation.to_bytes() for edge in edges]
    if sum(map(len, data)) > LARGEST:
        return None
    return {
        "outputs": [list(each) for each in outputs],
        "edges": [
            [edge.output, edge.input, edge.kind, base64.b64encode(each).decode()]
            for edge, each in zip(edges, data, strict=True)
        ],
    }


def unpacked(payload: dict[str, Any]) -> tuple[tuple[Shape, ...], tuple[Edge, ...]]:
    """Return the shapes and relations in a dictionary that `packed` made."""
    edges = tuple(
        Edge(output, source, kind, Relation.from_bytes(base64.b64decode(data), "a reuse rule of the log"))
        for output, source, kind, data in payload["edges"]
    )
    return tuple(tuple(each) for each in payload["outputs"]), edges


def same(a: Sequence[Edge], b: Sequence[Edge]) -> bool:
    """Whether two lists of edges have the same lineage for every pair."""
    left, right = _by_pair(a), _by_pair(b)
    return left.keys() == right.keys() and all(_equal_relations(left[key], right[key]) for key in left)


def _by_pair(edges: Sequence[Edge]) -> dict[tuple[int, int, str], list[Relation]]:
    found: dict[tuple[int, int, str], list[Relation]] = {}
    for edge in edges:
        if len(edge.relation):
            found.setdefault((edge.output, edge.input, edge.kind), []).append(edge.relation)
    return found


def _equal_relations(a: list[Relation], b: list[Relation]) -> bool:
    if len(a) == len(b) == 1:
        return a[0] == b[0]
    return sorted(each.to_bytes() for each in a) == sorted(each.to_bytes() for each in b)
