"""Summaries: what segments have in common and where they part, in one graph (PgSum)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType
from whence.graph.backwards import backwards
from whence.graph.columns import counts, each_of
from whence.graph.merge import MANY, Labelled, merge
from whence.graph.model import CODES, RELATIONS, Kind
from whence.graph.overlap import Part, groups
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
    frequency: float  # the share of the segments that have one of the members

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class SummaryEdge:
    """An edge of the summary, and the share of the segments that have one of the edges that became it."""

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

    @property
    def names(self) -> dict[int, str]:
        """What each vertex is called in text: its label, and, where several have the same, what tells them apart."""
        shared: dict[str, list[SummaryVertex]] = {}
        for each in self.vertices:
            shared.setdefault(each.label, []).append(each)
        return {
            each.id: label if len(own) == 1 else f"{label} [{_members(each)}]"
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


class _Laid(NamedTuple):
    """The vertices of the segments in one graph, before they are merged."""

    labels: Array
    places: list[Array]  # for each segment the vertices of that graph that its own became

    def graph(self, parts: Sequence[Part], relations: Sequence[Array]) -> Labelled:
        """The graph, each edge once."""
        ends = [
            np.stack([own[np.searchsorted(part.vertices, each)] for each in (part.younger, part.older)], axis=1)
            for part, own in zip(parts, self.places, strict=True)
        ]
        source, target = np.concatenate(ends).T
        return Labelled(self.labels.astype(np.int32), *_once(source, target, np.concatenate(relations)))


def _summary(segments: Sequence[Segment], classes: Classes) -> Summary:
    """The vertices of all segments, side by side or on top of each other, then merged; the smallest is taken."""
    full = [(number, segment) for number, segment in enumerate(segments) if len(segment)]
    parts, relations = [], []
    for _, segment in full:
        rows, younger, older = backwards(segment)
        ends = (segment.numbers[each].astype(np.int64) for each in (younger, older))
        parts.append(Part(id(segment.graph), segment.numbers.astype(np.int64), rows.astype(np.int64), *ends))
        relations.append(segment.graph.edge_table.relation[rows].astype(np.int64))
    labels = [classes.of[part.graph][part.vertices] for part in parts]
    apart, together = list(range(len(parts))), groups(parts)
    ways = [together] if together != apart else [apart]
    if together != apart and sum(map(len, labels)) <= MANY:
        ways.append(apart)
    tried = [(laid, merge(laid.graph(parts, relations))) for laid in (_laid(parts, labels, way) for way in ways)]
    laid, found = min(tried, key=lambda each: each[1].count)
    places = [found.classes[own] for own in laid.places]
    type_of = np.zeros(found.count, np.int64)
    type_of[found.classes] = laid.labels
    vertices = _vertices(full, places, type_of, classes, len(segments))
    edges = tuple(
        SummaryEdge(vertices[a], RELATIONS[code].name, vertices[b], count / len(segments))
        for a, code, b, count in _edges([number for number, _ in full], parts, relations, places)
    )
    size = len({(part.graph, number) for part in parts for number in part.vertices.tolist()})
    return Summary(vertices, edges, len(segments), size, found.exact)


def _laid(parts: Sequence[Part], labels: Sequence[Array], groups: Sequence[int]) -> _Laid:
    """The vertices of each group once, the groups side by side."""
    ids = np.concatenate([
        np.stack([np.full(len(part.vertices), group), np.full(len(part.vertices), graph), part.vertices], axis=1)
        for part, group, graph in zip(parts, groups, _numbered([part.graph for part in parts]), strict=True)
    ])  # fmt: skip
    _, first, place = np.unique(ids, axis=0, return_index=True, return_inverse=True)
    bounds = np.cumsum([len(part.vertices) for part in parts])[:-1]
    return _Laid(np.concatenate(labels)[first], np.split(place.reshape(-1), bounds))


def _numbered(values: Sequence[int]) -> list[int]:
    known: dict[int, int] = {}
    return [known.setdefault(each, len(known)) for each in values]


def _edges(
    numbers: Sequence[int], parts: Sequence[Part], relations: Sequence[Array], places: Sequence[Array]
) -> list[tuple[int, int, int, int]]:
    """The edges of the summary as PROV has them: source, relation, target, and how many segments have one of them.

    A segment has an edge if it has an edge of the graph that became this one, be it in this segment or in another.
    """
    columns = []
    for number, part, relation, own, graph in zip(
        numbers, parts, relations, places, _numbered([part.graph for part in parts]), strict=True
    ):
        younger, older = (own[np.searchsorted(part.vertices, each)] for each in (part.younger, part.older))
        ended = relation == CODES["wasInvalidatedBy"]
        source, target = np.where(ended, older, younger), np.where(ended, younger, older)
        same = (np.full(len(relation), each) for each in (graph, number))
        columns.append(np.stack([source, relation, target, part.rows, *same], axis=1))
    table = np.concatenate(columns)
    edges, edge = np.unique(table[:, :3], axis=0, return_inverse=True)
    _, row = np.unique(table[:, 3:5], axis=0, return_inverse=True)
    counts = _shares(edge.reshape(-1), row.reshape(-1), table[:, 5], len(edges))
    return [(*each, count) for each, count in zip(edges.tolist(), counts, strict=True)]


def _shares(merged: Array, thing: Array, segment: Array, count: int) -> list[int]:
    """For each of `count` merged things the number of segments that have one of what it was merged from."""
    has = np.unique(np.stack([thing, segment], axis=1), axis=0)  # which segments have a thing, by thing
    starts = np.searchsorted(has[:, 0], np.arange(int(has[-1, 0]) + 2)) if len(has) else np.zeros(1, np.int64)
    became = np.unique(np.stack([merged, thing], axis=1), axis=0)
    many = starts[became[:, 1] + 1] - starts[became[:, 1]]
    within = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    owners = has[np.repeat(starts[became[:, 1]], many) + within, 1]
    pairs = np.unique(np.stack([np.repeat(became[:, 0], many), owners], axis=1), axis=0)
    found: list[int] = np.bincount(pairs[:, 0], minlength=count).tolist()
    return found


def _once(*columns: Array) -> tuple[Array, ...]:
    rows = np.unique(np.stack(columns, axis=1), axis=0)
    return tuple(np.ascontiguousarray(rows[:, place]).astype(np.int32) for place in range(len(columns)))


def _vertices(
    segments: Sequence[tuple[int, Segment]], places: Sequence[Array], type_of: Array, classes: Classes, total: int
) -> tuple[SummaryVertex, ...]:
    occurrences: list[list[tuple[int, str]]] = [[] for _ in type_of]
    having: dict[tuple[int, int], set[int]] = {}  # the segments that have a vertex
    members: list[set[tuple[int, int]]] = [set() for _ in type_of]
    for (number, segment), own in zip(segments, places, strict=True):
        ids = segment.numbers.tolist()
        for place, vertex, name in zip(own.tolist(), ids, segment.graph.ids.of(ids), strict=True):
            occurrences[place].append((number, name))
            members[place].add((id(segment.graph), vertex))
            having.setdefault((id(segment.graph), vertex), set()).add(number)
    names = _names(classes, sorted(set(type_of.tolist())))
    found = []
    for vertex, own_type in enumerate(type_of.tolist()):
        kind, properties = classes.told[own_type]
        share = len(set().union(*(having[each] for each in members[vertex]))) / total
        own_names = tuple(dict.fromkeys(name for _, name in occurrences[vertex]))
        found.append(
            SummaryVertex(
                vertex, kind, names[own_type], dict(properties), own_names, tuple(occurrences[vertex]), own_type, share
            )
        )
    return tuple(found)


def _members(vertex: SummaryVertex) -> str:
    """The members of a vertex, in short; no two vertices of a summary have the same in the same segments."""
    shown = ", ".join(vertex.members[:2])
    return shown if len(vertex.members) <= 2 else f"{shown} and {len(vertex.members) - 2} more"


def _said(value: Any) -> str:
    return ", ".join(map(str, each_of(value)))


def _names(classes: Classes, types: Sequence[int]) -> dict[int, str]:
    """What vertices of a type are called; with a number where several types would have the same name."""
    plain = {}
    for each in types:
        kind, properties = classes.told[each]
        plain[each] = " ".join(_said(value) for _, value in properties if value is not None) or kind
    files = {name for each, name in plain.items() if classes.told[each][0] == "entity"}
    for each, name in plain.items():
        kind = classes.told[each][0]
        if kind != "entity" and name in files:  # a program and its file
            plain[each] = f"{name} ({kind})"
    shared: dict[str, list[int]] = {}
    for each, name in plain.items():
        shared.setdefault(name, []).append(each)
    return {
        each: name if len(own) == 1 else f"{name} t{place}"
        for name, own in shared.items()
        for place, each in enumerate(own, 1)
    }
