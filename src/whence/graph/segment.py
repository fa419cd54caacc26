"""Segments: how some entities contributed to others (PgSeg). A segment is induced first, and then adjusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType
from whence.graph.boundary import Boundary, boundaries
from whence.graph.columns import counts
from whence.graph.masks import mask_of, numbers_in, selected, selected_edges
from whence.graph.model import ASSOCIATED, ATTRIBUTED, ENTITY, GENERATED, KINDS, USED, Mask, Numbers
from whence.graph.picture import Drawable
from whence.graph.similar import matched, part_of, scope_of
from whence.words import counted

if TYPE_CHECKING:
    from whence.graph._graph import Graph
    from whence.graph.segment_diff import SegmentDiff

EdgeRows = NDArray[np.int64]
_SHOWN = 12  # printed vertices of each kind
_NAMED = 4  # printed inputs that are left out
RULES = ("source", "destination", "direct", "similar", "sibling", "agent", "origin", "expanded", "input")


@dataclass(frozen=True)
class Query:
    """A query: sources, destinations, and the properties to match on similar paths.

    With `all_sources`, nobody named sources: the segment also has what made them without inputs, such as commits.
    """

    graph: Graph
    sources: Numbers
    destinations: Numbers
    match: object = None
    all_sources: bool = False

    @classmethod
    def of(cls, graph: Graph, src: object, dst: object, match: object) -> Query:
        """Make a query from a caller's arguments. Without `src`, it takes all sources of `dst`."""
        if dst is None:
            raise BadType("dst must name at least one entity")
        ends = []
        for name, given in (("src", src), ("dst", dst)):
            if given is None:
                continue
            numbers = graph.numbers(given, "entity")  # type: ignore[arg-type] # a wrong type is named there
            if not len(numbers):
                raise BadType(f"{name} must name an entity: give at least one id")
            ends.append(numbers)
        if src is None:
            ends.insert(0, _origins(graph, ends[0]))
        if match is not None:
            matched(match)
        return cls(graph, ends[0], ends[1], match, src is None)

    @property
    def named(self) -> Numbers:
        """Sources and destinations."""
        return np.union1d(self.sources, self.destinations).astype(np.int32)


class Segment(Drawable):
    """An immutable part of a graph: vertices, and all edges between them that no boundary excludes.

    >>> from whence.testing.graphs import lifecycle
    >>> seg = lifecycle().segment("dataset-v1", "weight-v2", exclude=["wasAttributedTo", "wasDerivedFrom"])
    >>> seg
    Segment(5 entities, 1 activity, 1 agent, 6 edges)
    >>> seg.by_rule["similar"], seg.by_rule["sibling"], seg.by_rule["agent"]
    (['solver-v1', 'model-v2'], ['log-v2'], ['Alice'])
    """

    def __init__(
        self, graph: Graph, query: Query, vertices: Numbers, rows: EdgeRows, rules: Mapping[str, Numbers], why: str,
        base: Segment | None = None, boundaries: Sequence[Boundary] = (),
    ) -> None:  # fmt: skip
        self.graph = graph
        self.query = query
        self.numbers = vertices  # ascending
        self.rows = rows  # rows of the graph's edge table
        self._rules = dict(rules)
        self._base = base
        self._boundaries = list(boundaries)
        self.why = why  # one sentence; for an empty segment, the reason

    # --- looking

    @property
    def vertices(self) -> list[str]:
        """The ids of the vertices, ancestors first."""
        return self.graph.ids.of(self.graph.in_order(self.numbers))

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        """The edges: (source id, PROV relation, target id)."""
        return self.graph.edges_at(self.rows)

    @cached_property
    def left_out(self) -> list[str]:
        """The inputs of the segment's activities that the definition leaves out; `inputs=True` adds them."""
        return self.graph.ids.of(self.graph.in_order(self._inputs()))

    @property
    def by_rule(self) -> dict[str, list[str]]:
        """The vertices by the rule that added them, one of RULES."""
        return {
            name: self.graph.ids.of(self.graph.in_order(self._rules[name])) for name in RULES if name in self._rules
        }

    def rules_at(self, numbers: Numbers) -> list[str]:
        """The rule that added each of these vertices; "" if there is none."""
        codes = np.zeros(len(self.graph), np.uint8)
        for code, rule in enumerate(RULES, 1):
            codes[self._rules.get(rule, [])] = code
        names = ("", *RULES)
        return [names[code] for code in codes[numbers].tolist()]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.vertices)

    def __contains__(self, id: object) -> bool:
        number = self.graph.ids.find(id) if isinstance(id, str) else None
        if number is None:
            return False
        place = int(np.searchsorted(self.numbers, number))
        return place < len(self.numbers) and bool(self.numbers[place] == number)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Segment):
            return NotImplemented
        if self.graph is other.graph:
            return np.array_equal(self.numbers, other.numbers) and np.array_equal(self.rows, other.rows)
        return set(self.vertices) == set(other.vertices) and sorted(self.edges) == sorted(other.edges)

    def __hash__(self) -> int:
        return hash((len(self.numbers), len(self.rows)))

    def __repr__(self) -> str:
        counts = np.bincount(self.graph.kinds[self.numbers], minlength=3).tolist()
        nouns = ("entity", "entities"), ("activity", "activities"), ("agent", "agents")
        parts = [f"{count:,} {one if count == 1 else many}" for count, (one, many) in zip(counts, nouns, strict=True)]
        return f"Segment({', '.join(parts)}, {len(self.rows):,} edge{'' if len(self.rows) == 1 else 's'})"

    def __str__(self) -> str:
        lines = [repr(self), f"  {self.why}"]
        if self.left_out:
            lines.append(f"  {self.left_out_note('inputs=True')}")
        for code, kind in enumerate(KINDS):
            own = self.graph.in_order(self.numbers[self.graph.kinds[self.numbers] == code])
            if own:
                more = f" and {len(own) - _SHOWN:,} more" if len(own) > _SHOWN else ""
                lines.append(f"  {kind}: {', '.join(self.graph.ids.of(own[:_SHOWN]))}{more}")
        return "\n".join(lines)

    def left_out_note(self, how: str) -> str:
        """A sentence about the inputs that are left out; `how` says how to add them."""
        out = self.left_out
        more = f" and {len(out) - _NAMED:,} more" if len(out) > _NAMED else ""
        noun = "input of these activities is" if len(out) == 1 else "inputs of these activities are"
        names = f"{', '.join(out[:_NAMED])}{more}"
        added = "it" if len(out) == 1 else "them"
        return f"{len(out):,} {noun} on no path from src and left out ({names}): {how} adds {added}."

    # --- the second step

    def with_inputs(self) -> Segment:
        """Return the segment with all inputs of its activities."""
        graph, table, added = self.graph, self.graph.edge_table, self._inputs()
        if not len(added):
            return self
        mask = mask_of(graph, np.concatenate([self.numbers, added]))
        rows = np.flatnonzero(mask[table.source] & mask[table.target])
        base = self._base or self
        rows = rows[~selected_edges(base, self._boundaries, rows)]
        why = f"{self.why[:-1]}, {counted(len(added), 'other input')}."
        rules = {**self._rules, "input": added}
        return Segment(graph, self.query, numbers_in(mask), rows, rules, why, base, self._boundaries)

    def _inputs(self) -> Numbers:
        """The inputs of the activities that are not in the segment, and that no boundary excludes."""
        if not self._rules:  # without a query, the vertices are those that were given
            return np.zeros(0, np.int32)
        inside, table = mask_of(self.graph, self.numbers), self.graph.edge_table
        rows = np.flatnonzero((table.relation == USED) & inside[table.source] & ~inside[table.target])
        base = self._base or self
        found = np.unique(table.target[rows[~selected_edges(base, self._boundaries, rows)]]).astype(np.int32)
        return found[~selected(base, self._boundaries, found)]

    def adjust(self, exclude: object = None, expand: object = None) -> Segment:
        """Return the segment of the same query with other boundaries, computed from this segment.

        The boundaries replace earlier ones. A path through an excluded vertex does not count, so vertices that only
        such paths lead to are left out as well. Vertices that the query names are never excluded.
        """
        base = self._base or self
        chosen, reaches = boundaries(exclude), expansions(base, expand)
        found = _excluding(base, chosen) if chosen else base
        return _expanding(found, base, reaches, chosen) if reaches else found

    def to_graph(self) -> Graph:
        """Return the segment as a graph, with all properties."""
        return type(self.graph).build(*self.graph.records(self.numbers, self.rows), self.graph.prefixes)

    def diff(self, other: Segment) -> SegmentDiff:
        """Compare two segments: what only one of them has, and what both have."""
        from whence.graph.segment_diff import SegmentDiff

        return SegmentDiff.of(self, other)


def induce(query: Query) -> Segment:
    """The first step: the vertices of all four rules, without boundaries."""
    graph = query.graph
    rows = np.arange(len(graph.edge_table), dtype=np.int64)
    if graph.acyclic:
        direct, similar = scope_of(graph, query.match).paths(query.sources, query.destinations)
    else:  # a cycle outside the history does not matter
        history = numbers_in(graph.ancestry.reach(query.destinations, True).astype(np.bool_))
        direct, similar = _paths_inside(query, history, rows)
    connected = direct.any() or bool(np.isin(query.sources, query.destinations).any())
    if not connected:
        return _nothing(query)
    return _complete(query, direct, similar, rows, None)


def _paths_inside(query: Query, vertices: Numbers, rows: EdgeRows) -> tuple[Mask, Mask]:
    """The vertices on direct and on similar paths in a part of the graph, as masks of the whole graph."""
    scope, number = part_of(query.graph, query.match, vertices, rows)
    sources = number[query.sources]
    direct, similar = scope.paths(sources[sources >= 0], number[query.destinations])
    return mask_of(query.graph, vertices[direct]), mask_of(query.graph, vertices[similar])


def _origins(graph: Graph, destinations: Numbers) -> Numbers:
    """The sources of these entities: ancestors that came from no entity, or the given ones if there are none.

    What an activity without inputs made, such as a commit, is a source.
    """
    reached = graph.ancestry.reach(destinations, True).astype(np.bool_) & (graph.kinds == ENTITY)
    table = graph.edge_table
    has_inputs = mask_of(graph, table.source[table.relation == USED])
    made = np.isin(table.relation, graph.derivations) | ((table.relation == GENERATED) & has_inputs[table.target])
    reached[table.source[made]] = False
    found = numbers_in(reached)
    return found if len(found) else destinations  # they came from each other


def subgraph(graph: Graph, numbers: Numbers) -> Segment:
    """These vertices and all edges between them."""
    mask = mask_of(graph, numbers)
    rows = np.flatnonzero(mask[graph.edge_table.source] & mask[graph.edge_table.target])
    none = np.zeros(0, np.int32)
    return Segment(graph, Query(graph, none, none), numbers, rows, {}, f"{len(numbers):,} given vertices.")


def _nothing(query: Query) -> Segment:
    graph, none = query.graph, np.zeros(0, np.int32)
    ends = [", ".join(map(repr, graph.ids.of(each[:5].tolist()))) + (" ..." if len(each) > 5 else "")
            for each in (query.destinations, query.sources)]  # fmt: skip
    backward = graph.ancestry.reach(query.sources, True) & graph.ancestry.reach(query.destinations, False)
    hint = "; the paths lead the other way: swap src and dst" if backward.any() else ""
    why = f"Nothing of {ends[0]} came from {ends[1]}: no path leads back from dst to src{hint}."
    return Segment(graph, query, none, np.zeros(0, np.int64), {}, why)


def _complete(
    query: Query, direct: Mask, similar: Mask, rows: EdgeRows, base: Segment | None, chosen: Sequence[Boundary] = ()
) -> Segment:  # fmt: skip
    """Complete a segment from the vertices on paths: add siblings, agents, and edges from the allowed rows."""
    graph, table = query.graph, query.graph.edge_table
    relation, source, target = table.relation[rows], table.source[rows], table.target[rows]
    named = mask_of(graph, query.named)
    on_path = direct | similar
    core = on_path | named
    made_on_path = (relation == GENERATED) & on_path[target]
    sibling = mask_of(graph, source[made_on_path]) & ~core
    origin = np.zeros_like(core)
    if query.all_sources:
        origin[target[(relation == GENERATED) & mask_of(graph, query.sources)[source]]] = True
    origin &= ~core
    answers = core | sibling | origin
    agent = mask_of(graph, target[((relation == ASSOCIATED) | (relation == ATTRIBUTED)) & answers[source]]) & ~answers
    whole = answers | agent
    inside = whole[source] & whole[target]
    rules = {
        "source": query.sources, "destination": query.destinations, "direct": numbers_in(direct & ~named),
        "similar": numbers_in(similar & ~direct & ~named), "sibling": numbers_in(sibling), "agent": numbers_in(agent),
    }  # fmt: skip
    texts = {"direct": "on paths between them", "similar": "on similar paths"}
    counts = [f"{len(rules[name]):,} {text}" for name, text in texts.items() if len(rules[name])]
    if sibling.any():
        counts.append(f"{len(rules['sibling']):,} made beside them")
    if agent.any():
        counts.append(counted(len(rules["agent"]), "agent"))
    if origin.any():
        rules["origin"] = numbers_in(origin)
        counts.append(f"{len(rules['origin']):,} that made the sources")
    why = f"{', '.join([f'{len(query.named):,} asked for', *counts])}."
    return Segment(graph, query, numbers_in(whole), rows[inside], rules, why, base, chosen)


def _excluding(base: Segment, chosen: list[Boundary]) -> Segment:
    """The segment of the query on the graph without the vertices and edges that the boundaries select.

    All remaining paths are inside the segment without boundaries, so this part of the graph is enough.
    """
    query, graph = base.query, base.graph
    out = selected(base, chosen, base.numbers)
    out[np.isin(base.numbers, query.named)] = False
    kept = base.numbers[~out]
    present = mask_of(graph, kept)
    table = graph.edge_table
    rows = base.rows[present[table.source[base.rows]] & present[table.target[base.rows]]]
    rows = rows[~selected_edges(base, chosen, rows)]
    if not present[query.named].all():  # the segment was empty before
        return base
    direct, similar = _paths_inside(query, kept, rows)
    if not direct.any() and not np.isin(query.sources, query.destinations).any():
        none = np.zeros(0, np.int32)
        why = "The boundaries cut every path from dst back to src."
        return Segment(graph, query, none, np.zeros(0, np.int64), {}, why, base)
    return _complete(query, direct, similar, rows, base, chosen)


def expansions(base: Segment, expand: object) -> list[tuple[Numbers, int]]:
    """Normalize `expand` to pairs of entities and a number of activities."""
    if expand is None:
        return []
    if isinstance(expand, int) and not isinstance(expand, bool):
        pairs: Iterable[tuple[object, object]] = [(None, expand)]
    elif isinstance(expand, Mapping):
        pairs = expand.items()
    elif isinstance(expand, tuple) and len(expand) == 2:
        pairs = [expand]
    else:
        raise BadType(f"expand takes a number of activities, or {{id: number}}, not {expand!r}")
    found = []
    for names, count in pairs:
        if not isinstance(count, int) or not counts(count):
            raise BadType(f"expand takes a number of activities, 0 or more, not {count!r}")
        # `numbers` raises for a name of a wrong type.
        start = base.query.named if names is None else base.graph.numbers(names, "entity")  # type: ignore[arg-type]
        found.append((start, count))
    return found


def _expanding(found: Segment, base: Segment, reaches: list[tuple[Numbers, int]], chosen: list[Boundary]) -> Segment:
    """Add the vertices up to k activities further back, and their agents."""
    if not len(found):
        return found
    graph, table = found.graph, found.graph.edge_table
    inside = mask_of(graph, found.numbers)
    added = np.zeros(len(graph), np.bool_)
    for start, count in reaches:
        here = mask_of(graph, start) & inside
        for _ in range(count):
            for code in (GENERATED, USED):
                rows = np.flatnonzero((table.relation == code) & here[table.source])
                rows = rows[~selected_edges(base, chosen, rows)]
                here = _allowed(base, chosen, np.unique(table.target[rows]), inside)
                added |= here
    added &= ~inside
    everything = inside | added
    agents = np.flatnonzero(np.isin(table.relation, (ASSOCIATED, ATTRIBUTED)) & added[table.source])
    agents = agents[~selected_edges(base, chosen, agents)]
    extra = _allowed(base, chosen, np.unique(table.target[agents]), inside) & ~everything
    everything |= extra
    rows = np.flatnonzero(everything[table.source] & everything[table.target])
    rows = rows[~selected_edges(base, chosen, rows)]
    rules = {
        **found._rules,
        "expanded": numbers_in(added),
        "agent": np.union1d(found._rules["agent"], numbers_in(extra)),
    }
    why = f"{found.why[:-1]}, {int(added.sum()):,} by expansion."
    return Segment(graph, found.query, numbers_in(everything), rows, rules, why, base, chosen)


def _allowed(base: Segment, chosen: list[Boundary], numbers: Numbers, inside: Mask) -> Mask:
    """The mask of the vertices that no boundary excludes. Boundaries are not evaluated again for vertices of the
    segment.
    """
    new = numbers[~inside[numbers]]
    return mask_of(base.graph, np.concatenate([numbers[inside[numbers]], new[~selected(base, chosen, new)]]))
