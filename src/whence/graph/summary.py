"""Summaries: one graph that shows what segments have in common and where they differ (PgSum)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from whence.errors import BadType
from whence.graph.backwards import backwards
from whence.graph.columns import counts, each_of
from whence.graph.laying import Merged, lay
from whence.graph.merge import MANY, merge
from whence.graph.model import RELATIONS, Kind
from whence.graph.overlap import Part, groups
from whence.graph.picture import Drawable
from whence.graph.segment import Segment
from whence.graph.types import Classes, kept


@dataclass(frozen=True)
class SummaryVertex:
    """A group of vertices of the segments that are merged in the summary.

    `label` has the kept properties, and a number (t1, t2 ...) if vertices with different neighbourhoods have the same.
    `occurrences` are the members, each with the index of its segment.
    """

    id: int
    kind: Kind
    label: str
    properties: dict[str, Any]
    members: tuple[str, ...]
    type: int  # the equivalence class
    frequency: float  # the share of the segments that have one of the members
    occurring: Occurring = field(repr=False, compare=False)

    @property
    def occurrences(self) -> tuple[tuple[int, str], ...]:
        """The members, each with the index of its segment."""
        return tuple(self.occurring.of[self.id])

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class SummaryEdge:
    """An edge of the summary, and the share of segments that have it."""

    source: SummaryVertex
    relation: str
    target: SummaryVertex
    frequency: float


@dataclass(frozen=True)
class Summary(Drawable):
    """A summary of segments. Every path in it is a path of some segment, and every path of a segment is in it.

    `exact` says whether paths were compared exactly; otherwise they were compared by simulation, and the summary is
    right but may be larger.
    """

    vertices: tuple[SummaryVertex, ...]
    edges: tuple[SummaryEdge, ...]
    segments: int
    size: int  # distinct vertices of all segments
    exact: bool

    @property
    def compaction(self) -> float:
        """The number of vertices divided by that of all segments together."""
        return len(self.vertices) / self.size if self.size else 1.0

    @property
    def names(self) -> dict[int, str]:
        """The name of each vertex in text: its label, and its members if several have the same label."""
        shared: dict[str, list[SummaryVertex]] = {}
        for each in self.vertices:
            shared.setdefault(each.label, []).append(each)
        return {
            each.id: label if len(own) == 1 else f"{label} [{_list_of_members(each)}]"
            for label, own in shared.items()
            for each in own
        }

    def __len__(self) -> int:
        return len(self.vertices)

    def __repr__(self) -> str:
        return (
            f"Summary({len(self.vertices):,} vertices, {len(self.edges):,} edges; "
            f"of {self.segments:,} segments with {self.size:,} vertices)"
        )

    def __str__(self) -> str:
        lines, names = [repr(self)], self.names
        lines += [
            f"  {names[edge.source.id]} -{edge.relation}-> {names[edge.target.id]}: {edge.frequency:.0%}"
            for edge in sorted(self.edges, key=lambda edge: (-edge.frequency, edge.source.id, edge.target.id))[:40]
        ]
        return "\n".join(lines if len(self.edges) <= 40 else [*lines, f"  and {len(self.edges) - 40:,} more edges"])


def summarize(segments: Segment | Iterable[Segment], keep: object = None, k: int = 0) -> Summary:
    """Merge segments into one graph, without adding a path that no segment has.

    `keep` names, for each kind, the properties that distinguish vertices; others are ignored. With `k` above 0,
    vertices are merged only if their neighbourhoods up to k steps are the same (their provenance type).

    >>> from whence.testing.graphs import lifecycle
    >>> g, aside = lifecycle(), ["wasAttributedTo", "wasDerivedFrom"]
    >>> segments = [g.segment("dataset-v1", end, exclude=aside, expand={end: 2}) for end in ("weight-v2", "log-v3")]
    >>> summary = summarize(segments, keep={"entity": ["filename"], "activity": ["command"]}, k=1)
    >>> [vertex.label for vertex in summary.vertices if vertex.label.startswith("model")]
    ['model t1', 'model t2']
    """
    if isinstance(segments, Segment):
        segments = (segments,)
    given = tuple(segments)
    for each in given:
        if not isinstance(each, Segment):
            raise BadType(f"summarize takes segments, which Graph.segment gives, not {each!r}")
    if not counts(k):
        raise BadType(f"k is a number of steps, 0 or more, not {k!r}")
    properties = kept(keep)
    full = [each for each in given if len(each)]
    if not full:
        return Summary((), (), len(given), 0, True)
    return _summary(given, Classes(full, properties, k))


def _summary(segments: Sequence[Segment], classes: Classes) -> Summary:
    """Combine the segments, overlaid or side by side, and merge them. The smallest result is returned."""
    full = [(number, segment) for number, segment in enumerate(segments) if len(segment)]
    parts, relations = [], []
    for _, segment in full:
        rows, younger, older = backwards(segment)
        ends = (segment.numbers[each].astype(np.int64) for each in (younger, older))
        parts.append(Part(id(segment.graph), segment.numbers.astype(np.int64), rows.astype(np.int64), *ends))
        relations.append(segment.graph.edge_table.relation[rows].astype(np.int64))
    apart, together = list(range(len(parts))), groups(parts)
    ways = [together]
    if together != apart and sum(len(part.vertices) for part in parts) <= MANY:
        ways.append(apart)
    tried = [(laid, merge(laid.graph())) for laid in (lay(parts, relations, classes.of, way) for way in ways)]
    laid, found = min(tried, key=lambda each: each[1].count)
    merged = Merged(laid, parts, [number for number, _ in full], found.classes, found.count)
    vertices = _summary_vertices(full, merged, classes, len(segments))
    edges = tuple(
        SummaryEdge(vertices[a], RELATIONS[code].name, vertices[b], count / len(segments))
        for a, code, b, count in merged.edges()
    )
    return Summary(vertices, edges, len(segments), merged.size, found.exact)


def _summary_vertices(
    segments: Sequence[tuple[int, Segment]], merged: Merged, classes: Classes, total: int
) -> tuple[SummaryVertex, ...]:  # fmt: skip
    names = _names_of_types(classes, sorted(set(merged.types.tolist())))
    members, shares = merged.members([segment.graph.ids for _, segment in segments]), merged.shares()
    occurring = Occurring(merged, segments)
    found = []
    for vertex, own_type in enumerate(merged.types.tolist()):
        kind, properties = classes.descriptions[own_type]
        own_names = tuple(dict.fromkeys(members[vertex]))
        found.append(
            SummaryVertex(
                vertex, kind, names[own_type], dict(properties), own_names, own_type, shares[vertex] / total, occurring
            )
        )
    return tuple(found)


class Occurring:
    """Maps summary vertices to the vertices of segments that were merged into them. It is computed at the first use."""

    def __init__(self, merged: Merged, segments: Sequence[tuple[int, Segment]]) -> None:
        self._merged, self._segments = merged, segments

    @cached_property
    def of(self) -> list[list[tuple[int, str]]]:
        """For each summary vertex, its members with the indices of their segments."""
        found: list[list[tuple[int, str]]] = [[] for _ in self._merged.types]
        for (number, segment), own in zip(self._segments, self._merged.places(), strict=True):
            for place, name in zip(own.tolist(), segment.graph.ids.of(segment.numbers.tolist()), strict=True):
                found[place].append((number, name))
        return found


def _list_of_members(vertex: SummaryVertex) -> str:
    """The members of a vertex in short. No two vertices of a summary have the same members in the same segments."""
    shown = ", ".join(vertex.members[:2])
    return shown if len(vertex.members) <= 2 else f"{shown} and {len(vertex.members) - 2} more"


def _said(value: Any) -> str:
    return ", ".join(map(str, each_of(value)))


def _names_of_types(classes: Classes, types: Sequence[int]) -> dict[int, str]:
    """The names of types; with a number if several types would have the same name."""
    plain = {}
    for each in types:
        kind, properties = classes.descriptions[each]
        plain[each] = " ".join(_said(value) for _, value in properties if value is not None) or kind
    files = {name for each, name in plain.items() if classes.descriptions[each][0] == "entity"}
    for each, name in plain.items():
        kind = classes.descriptions[each][0]
        if kind != "entity" and name in files:  # a program and its own file
            plain[each] = f"{name} ({kind})"
    shared: dict[str, list[int]] = {}
    for each, name in plain.items():
        shared.setdefault(name, []).append(each)
    return {
        each: name if len(own) == 1 else f"{name} t{place}"
        for name, own in shared.items()
        for place, each in enumerate(own, 1)
    }
