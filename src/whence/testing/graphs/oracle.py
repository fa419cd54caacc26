"""Segments by their definition: every path is listed. For graphs of a dozen vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product

Edge = tuple[str, str, str]
Label = Callable[[str], object]
EdgeLabels = Callable[[str, str], Iterable[object]]  # the labels of all edges from one vertex to another


@dataclass(frozen=True)
class Plain:
    """A provenance graph in plain Python."""

    kinds: dict[str, str]
    edges: tuple[Edge, ...]
    older: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # (relation, vertex): used or generated

    @classmethod
    def of(cls, kinds: dict[str, str], edges: Iterable[Edge]) -> Plain:
        """Make a graph from kinds by id, and edges (source id, PROV relation, target id)."""
        held = tuple(edges)
        older: dict[str, list[tuple[str, str]]] = {vertex: [] for vertex in kinds}
        for source, relation, target in held:
            if relation in ("used", "wasGeneratedBy"):
                older[source].append((relation, target))
        return cls(kinds, held, older)


def same(_: str) -> object:
    """No label: only the PROV types count."""
    return None


def ways_back(graph: Plain, start: str) -> Iterator[tuple[str, ...]]:
    """Yield all paths from an entity back along generated and used that end at an entity and have at least one step."""
    stack: list[tuple[str, ...]] = [(start,)]
    while stack:
        path = stack.pop()
        if len(path) > 1 and graph.kinds[path[-1]] == "entity":
            yield path
        stack.extend((*path, vertex) for _, vertex in graph.older[path[-1]] if vertex not in path)


def same_edges(_: str, __: str) -> Iterable[object]:
    """No labels of edges."""
    return (None,)


def similar(
    graph: Plain, sources: set[str], destinations: set[str], label: Label = same, edge_labels: EdgeLabels = same_edges
) -> set[str]:
    """Return the vertices of all paths that SimProv accepts.

    For each destination, these are the paths with the same length, and the same labels between their ends, as a path to
    a source.
    """

    def words_of(path: tuple[str, ...]) -> set[tuple[object, ...]]:
        vertices = tuple(map(label, path[1:-1]))
        return {(*vertices, *edges) for edges in product(*(edge_labels(*pair) for pair in pairwise(path)))}

    found: set[str] = set()
    for destination in destinations:
        paths = list(ways_back(graph, destination))
        words = {word for path in paths if path[-1] in sources for word in words_of(path)}
        for path in paths:
            if words & words_of(path):
                found.update(path)
    return found


def direct(graph: Plain, sources: set[str], destinations: set[str]) -> set[str]:
    """Return the vertices of all paths from a destination to a source, along used, generated and derived."""
    onward: dict[str, list[str]] = {}
    for source, relation, target in graph.edges:
        if relation in ("used", "wasGeneratedBy", "wasDerivedFrom"):
            onward.setdefault(source, []).append(target)
    found: set[str] = set()
    stack: list[tuple[str, ...]] = [(each,) for each in destinations]
    while stack:
        path = stack.pop()
        if path[-1] in sources:
            found.update(path)
        stack.extend((*path, vertex) for vertex in onward.get(path[-1], ()) if vertex not in path)
    return found


def segment(
    graph: Plain,
    sources: set[str],
    destinations: set[str],
    *,
    label: Label = same,
    edge_labels: EdgeLabels = same_edges,
    excluded: frozenset[str] = frozenset(),
    relations: frozenset[str] = frozenset(),
    expand: int = 0,
) -> tuple[set[str], set[Edge]]:
    """Return the vertices and edges of a segment. Excluded vertices are first removed, except named ones."""
    named = sources | destinations
    out = excluded - named
    graph = Plain.of(
        {vertex: kind for vertex, kind in graph.kinds.items() if vertex not in out},
        [e for e in graph.edges if e[0] not in out and e[2] not in out and e[1] not in relations],
    )
    straight = direct(graph, sources, destinations)
    if not straight:
        return set(), set()
    on_path = straight | similar(graph, sources, destinations, label, edge_labels)
    siblings = {s for s, relation, t in graph.edges if relation == "wasGeneratedBy" and t in on_path}
    answers = on_path | named | siblings
    here = set(named)
    for _ in range(expand):
        activities = {t for s, relation, t in graph.edges if relation == "wasGeneratedBy" and s in here}
        here = {t for s, relation, t in graph.edges if relation == "used" and s in activities}
        answers |= activities | here
    responsible = ("wasAssociatedWith", "wasAttributedTo")
    answers |= {t for s, relation, t in graph.edges if relation in responsible and s in answers}
    return answers, {e for e in graph.edges if e[0] in answers and e[2] in answers}
