"""Summaries: what segments have in common and where they part, in one graph (PgSum)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType
from whence.graph.backwards import backwards
from whence.graph.columns import counts, each_of
from whence.graph.merge import Labelled, merge
from whence.graph.model import CODES, RELATIONS, Kind
from whence.graph.picture import Drawable
from whence.graph.segment import Segment
from whence.graph.types import Classes, kept

Array = NDArray[Any]


@dataclass(frozen=True)
class SummaryVertex:
    """Vertices of the segments that are one in the summary.

    `label` says what they are: the kept properties, and a number (t1, t2 ...) where such vertices come with different
    surroundings. `occurrences` are the members with the segment, counted from 0, that each is part of.
    """

    id: int
    kind: Kind
    label: str
    properties: dict[str, Any]
    members: tuple[str, ...]
    occurrences: tuple[tuple[int, str], ...]
    type: int  # the equivalence class

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class SummaryEdge:
    """An edge of the summary, and the share of the segments that have it."""

    source: SummaryVertex
    relation: str
    target: SummaryVertex
    frequency: float


@dataclass(frozen=True)
class Summary(Drawable):
    """A summary of segments. Every path in it is a path of some segment, and every path of a segment is in it.

    `exact` says whether what could be merged was found by comparing paths exactly; otherwise it was found by
    simulation, and the summary is as right, but may be larger.
    """

    vertices: tuple[SummaryVertex, ...]
    edges: tuple[SummaryEdge, ...]
    segments: int
    size: int  # vertices of all segments together, each counted once
    exact: bool

    @property
    def compaction(self) -> float:
        """The number of vertices over that of all segments together."""
        return len(self.vertices) / self.size if self.size else 1.0

    def __len__(self) -> int:
        return len(self.vertices)

    def __repr__(self) -> str:
        return (
            f"Summary({len(self.vertices):,} vertices, {len(self.edges):,} edges; "
            f"of {self.segments:,} segments with {self.size:,} vertices)"
        )

    def __str__(self) -> str:
        lines = [repr(self)]
        lines += [
            f"  {edge.source.label} -{edge.relation}-> {edge.target.label}: {edge.frequency:.0%}"
            for edge in sorted(self.edges, key=lambda edge: (-edge.frequency, edge.source.id, edge.target.id))[:40]
        ]
        return "\n".join(lines if len(self.edges) <= 40 else [*lines, f"  and {len(self.edges) - 40:,} more edges"])


def summarize(segments: Segment | Iterable[Segment], keep: object = None, k: int = 0) -> Summary:
    """One graph for several segments: what they share is merged, as far as that adds no path.

    `keep` names, for each kind, the properties that tell vertices apart; others are ignored. With `k` above 0, vertices
    are merged only if what lies within k steps of them looks the same (their provenance type).

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
    """All vertices of all segments side by side, then merged."""
    labels: list[Array] = []
    sources: list[Array] = []
    targets: list[Array] = []
    relations: list[Array] = []
    owners: list[Array] = []
    start = 0
    for number, segment in enumerate(segments):
        if not len(segment):
            continue
        rows, younger, older = backwards(segment)
        labels.append(classes.of[id(segment.graph)][segment.numbers])
        sources.append(start + younger)
        targets.append(start + older)
        relations.append(segment.graph.edge_table.relation[rows])
        owners.append(np.full(len(segment), number))
        start += len(segment)
    source, target = (np.concatenate(each).astype(np.int32) for each in (sources, targets))
    relation, label = np.concatenate(relations).astype(np.int32), np.concatenate(labels).astype(np.int32)
    found = merge(Labelled(label, *_once(source, target, relation)))
    ended = relation == CODES["wasInvalidatedBy"]
    source, target = np.where(ended, target, source), np.where(ended, source, target)  # as PROV has it
    owner = np.concatenate(owners)
    vertices = _vertices(segments, classes, label, found.classes, found.count)
    # An edge counts once for each segment that has it.
    table_of = np.unique(
        np.stack([found.classes[source], relation, found.classes[target], owner[source]], axis=1), axis=0
    )
    pairs, counts = np.unique(table_of[:, :3], axis=0, return_counts=True)
    edges = tuple(
        SummaryEdge(vertices[a], RELATIONS[code].name, vertices[b], count / len(segments))
        for (a, code, b), count in zip(pairs.tolist(), counts.tolist(), strict=True)
    )
    size = len({(id(each.graph), number) for each in segments for number in each.numbers.tolist()})
    return Summary(vertices, edges, len(segments), size, found.exact)


def _once(*columns: Array) -> tuple[Array, ...]:
    rows = np.unique(np.stack(columns, axis=1), axis=0)
    return tuple(np.ascontiguousarray(rows[:, place]).astype(np.int32) for place in range(len(columns)))


def _vertices(
    segments: Sequence[Segment], classes: Classes, label: Array, merged: Array, count: int
) -> tuple[SummaryVertex, ...]:
    occurrences: list[list[tuple[int, str]]] = [[] for _ in range(count)]
    type_of = np.zeros(count, np.int64)
    type_of[merged] = label
    place = 0
    for number, segment in enumerate(segments):
        for name in segment.graph.ids.of(segment.numbers.tolist()):
            occurrences[merged[place]].append((number, name))
            place += 1
    names = _names(classes, sorted(set(type_of.tolist())))
    found = []
    for vertex in range(count):
        own = int(type_of[vertex])
        kind, properties = classes.told[own]
        members = tuple(dict.fromkeys(name for _, name in occurrences[vertex]))
        found.append(
            SummaryVertex(vertex, kind, names[own], dict(properties), members, tuple(occurrences[vertex]), own)
        )
    return tuple(found)


def _said(value: Any) -> str:
    return ", ".join(map(str, each_of(value)))


def _names(classes: Classes, types: Sequence[int]) -> dict[int, str]:
    """What vertices of a type are called; with a number where several types would have the same name."""
    plain = {}
    for each in types:
        kind, properties = classes.told[each]
        plain[each] = " ".join(_said(value) for _, value in properties if value is not None) or kind
    shared: dict[str, list[int]] = {}
    for each, name in plain.items():
        shared.setdefault(name, []).append(each)
    return {
        each: name if len(own) == 1 else f"{name} t{place}"
        for name, own in shared.items()
        for place, each in enumerate(own, 1)
    }
