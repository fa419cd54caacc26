"""Find direct and similar paths between destinations and sources, on a graph or on a part of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence._core import Ancestry, rows_of
from whence.errors import BadType, TooLarge
from whence.graph.columns import combined
from whence.graph.matching import mark_matching
from whence.graph.model import CODES, GENERATED, KINDS, USED, Mask, Numbers
from whence.graph.validate import cycle_among, shown_cycle

if TYPE_CHECKING:
    from whence.graph._graph import Graph

EdgeRows = NDArray[np.int64]  # rows of the edge table

INTERVALS = 1 << 26  # with more than this (half a gigabyte), levels are processed in windows
PAIRS = 1 << 28  # the most pairs of vertices and states when properties are matched
STEPS = 1 << 22  # the most steps of such pairs on a graph with a cycle
PAIR_BYTES = 1 << 25  # the most bytes for the quadratic method, which only cycles need: about 10,000 vertices, seconds


@dataclass(frozen=True)
class Labels:
    """Integers that must be equal along similar paths: of vertices, and of generated and used edges."""

    vertex: Numbers
    generated: Numbers
    used: Numbers
    generators: tuple[Numbers, Numbers]  # edges in compressed rows: the start of each vertex, and the targets
    inputs: tuple[Numbers, Numbers]


class Ends(NamedTuple):
    """The sources and targets of edges."""

    source: Numbers
    target: Numbers


@dataclass(frozen=True)
class Scope:
    """A graph, or a part of one, in which paths are searched. It has its own vertex indices and ancestry."""

    ancestry: Ancestry
    count: int
    labels: Labels | None  # edges are in the order of `ancestry`
    cycle: str = ""  # one of its cycles

    def paths(self, sources: Numbers, destinations: Numbers) -> tuple[Mask, Mask]:
        """Return the masks of vertices on direct paths, and of those on similar paths, which include direct ones."""
        history = self.ancestry.reach(destinations, True)
        direct = self.ancestry.reach(sources, False) & history
        similar = direct.copy()
        if direct.any() and (direct != history).any():
            self._mark(sources, destinations, similar)
        return direct.astype(np.bool_), similar.astype(np.bool_)

    def _mark(self, sources: Numbers, destinations: Numbers, marks: NDArray[np.uint8]) -> None:
        ancestry, labels = self.ancestry, self.labels
        try:
            if labels is None and not self.cycle:
                ancestry.mark_similar(sources, destinations, INTERVALS, marks)
            elif labels is None:
                ancestry.mark_by_pairs(sources, destinations, False, PAIR_BYTES, marks)
            elif not self.cycle:
                ancestry.mark_matching(
                    labels.vertex, labels.generated, labels.used, sources, destinations, PAIRS, marks
                )
            else:
                mark_matching(labels, sources, destinations, STEPS, marks)
        except TooLarge as error:
            if not self.cycle:
                raise
            raise TooLarge(
                f"similar paths in a history of {self.count:,} vertices with a cycle take too long: {self.cycle}. Give"
                " each version its own id; or leave out src, which gives the whole history without similar paths"
            ) from error


def scope_of(graph: Graph, match: object) -> Scope:
    """The complete graph, without a cycle, as a scope."""
    labels = None
    if match is not None:
        every = np.arange(len(graph.edge_table))
        labels = _labels(
            graph,
            match,
            np.arange(len(graph), dtype=np.int32),
            every,
            Ends(graph.edge_table.source, graph.edge_table.target),
        )
    return Scope(graph.ancestry, len(graph), labels)


def _labels(graph: Graph, match: object, vertices: Numbers, rows: EdgeRows, renumbered: Ends) -> Labels:
    """The labels of these vertices and rows of the edge table. `renumbered` has the ends of the edges as new
    indices.
    """
    vertex, edges = labels_of(graph, match)
    found = []
    for code in (GENERATED, USED):
        chosen = np.flatnonzero(graph.edge_table.relation[rows] == code)
        starts, ends, places = rows_of(len(vertices), renumbered.source[chosen], renumbered.target[chosen])
        found.append((edges[rows[chosen][places]], (starts, ends)))
    (generated, generators), (used, inputs) = found
    return Labels(np.ascontiguousarray(vertex[vertices]), generated, used, generators, inputs)


def part_of(graph: Graph, match: object, vertices: Numbers, rows: EdgeRows) -> tuple[Scope, Numbers]:
    """Return these vertices, in this order, and these edges as a scope; and an array from old to new indices."""
    table = graph.edge_table
    number = np.full(len(graph), -1, np.int32)
    number[vertices] = np.arange(len(vertices), dtype=np.int32)
    codes = ((GENERATED,), (USED,), graph.derivations)
    rows = rows[np.isin(table.relation[rows], [code for each in codes for code in each])]
    source, target = number[table.source[rows]], number[table.target[rows]]
    inside = (source >= 0) & (target >= 0)
    rows, source, target = rows[inside], source[inside], target[inside]
    chosen = [np.isin(table.relation[rows], each) for each in codes]
    ancestry = Ancestry(len(vertices), *(each[own] for own in chosen for each in (source, target)))
    labels = None if match is None else _labels(graph, match, vertices, rows, Ends(source, target))
    cycle = ""
    if len(ancestry.order) < len(vertices):
        cycle = shown_cycle(graph.ids.of(vertices), cycle_among(source, target, ancestry, len(vertices)))
    return Scope(ancestry, len(vertices), labels, cycle), number


def labels_of(graph: Graph, match: object) -> tuple[Numbers, Numbers]:
    """Return integers for vertices and for edges, which are equal if the properties to match are equal.

    `match` is a property, or several, of entities and activities; or it maps kinds of vertices and relations of PROV to
    properties. `agent` means the agents that a vertex was associated with or attributed to.
    """
    wanted = matched(match)
    vertex, edge = np.zeros(len(graph), np.int32), np.zeros(len(graph.edge_table), np.int32)
    for name, properties in wanted.items():
        if name in CODES:
            rows = np.flatnonzero(graph.edge_table.relation == CODES[name]).astype(np.int32)
            edge[rows] = graph.edge_properties.codes(properties, rows)
            continue
        rows = np.flatnonzero(graph.kinds == KINDS.index(name)).astype(np.int32)
        codes = graph.properties.codes([each for each in properties if each != "agent"], rows)
        if "agent" in properties:
            codes = combined(codes, [graph.agents_of.get(row, ()) for row in rows.tolist()])
        vertex[rows] = codes
    return vertex, edge


def matched(match: object) -> dict[str, tuple[str, ...]]:
    """Normalize `match` to a mapping from kinds and relations to properties."""
    if isinstance(match, str):
        match = (match,)
    if isinstance(match, Mapping):
        known = ("entity", "activity", "used", "wasGeneratedBy")
        found = {}
        for name, properties in match.items():
            if name not in known:
                raise BadType(f"match takes {', '.join(known)}, not {name!r}: similar paths have nothing else")
            found[name] = (properties,) if isinstance(properties, str) else tuple(properties)
        return found
    if isinstance(match, Iterable):
        properties = tuple(match)
        if all(isinstance(each, str) for each in properties):
            return {"entity": properties, "activity": properties}
    raise BadType(f"match takes properties such as 'command', or {{'activity': ['command']}}, not {match!r}")
