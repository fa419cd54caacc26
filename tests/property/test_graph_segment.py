"""Segments of small random provenance graphs: every engine, and the whole operator, against a listing of all paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.graph import Graph, GraphWarning
from whence.graph.model import GENERATED, USED
from whence.testing.graphs import oracle

GIB = 1 << 30


@st.composite
def provenance(draw: st.DrawFn, activities: int = 7) -> tuple[dict[str, tuple[str, dict[str, Any]]], list[oracle.Edge]]:
    """Activities one after another, each using some of what is there and making one to three entities."""
    vertices: dict[str, tuple[str, dict[str, Any]]] = {"u0": ("agent", {}), "u1": ("agent", {})}
    entities = [f"e{i}" for i in range(draw(st.integers(1, 3)))]
    vertices.update({name: ("entity", {}) for name in entities})
    edges: list[oracle.Edge] = []
    for number in range(draw(st.integers(1, activities))):
        name = f"a{number}"
        vertices[name] = ("activity", {"command": draw(st.sampled_from("xyz"))})
        used = draw(st.lists(st.sampled_from(entities), max_size=3, unique=True))
        edges += [(name, "used", each) for each in used]
        made = [f"e{len(entities) + i}" for i in range(draw(st.integers(0, 3)))]
        for each in made:
            vertices[each] = ("entity", {"filename": draw(st.sampled_from("pq"))})
            edges.append((each, "wasGeneratedBy", name))
            if used and draw(st.booleans()):
                edges.append((each, "wasDerivedFrom", used[0]))
            if draw(st.integers(0, 3)) == 0:
                edges.append((each, "wasAttributedTo", "u1"))
        if draw(st.booleans()):
            edges.append((name, "wasAssociatedWith", draw(st.sampled_from(["u0", "u1"]))))
        entities += made
    if len(entities) > 4 and draw(st.booleans()):  # an entity may be of two activities
        extra = (entities[-1], "wasGeneratedBy", "a0")
        if extra not in edges:
            edges.append(extra)
    return vertices, edges


def built(vertices: dict[str, tuple[str, dict[str, Any]]], edges: list[oracle.Edge]) -> Graph:
    return Graph.build([(name, kind, properties) for name, (kind, properties) in vertices.items()], edges)


def plain(vertices: dict[str, tuple[str, dict[str, Any]]], edges: list[oracle.Edge]) -> oracle.Plain:
    return oracle.Plain.of({name: kind for name, (kind, _) in vertices.items()}, edges)


def ends(data: st.DataObject, vertices: dict[str, Any]) -> tuple[set[str], set[str]]:
    entities = [name for name, (kind, _) in vertices.items() if kind == "entity"]
    some = st.sets(st.sampled_from(entities), min_size=1, max_size=3)
    return data.draw(some, "src"), data.draw(some, "dst")


def marked(graph: Graph, engine: str, src: set[str], dst: set[str]) -> set[str]:
    marks = np.zeros(len(graph), np.uint8)
    sources, destinations = graph.numbers(src), graph.numbers(dst)
    ancestry = graph.ancestry
    if engine == "intervals":
        ancestry.mark_similar(sources, destinations, 1 << 20, marks)
    elif engine == "windows":
        _, _, swept = ancestry.mark_similar(sources, destinations, -(1 << 40), marks)
        assert swept >= marks.any()
    elif engine == "SimProvAlg":
        ancestry.mark_by_pairs(sources, destinations, True, GIB, marks)
    elif engine == "CflrB":
        ancestry.mark_by_cflrb(sources, destinations, GIB, marks)
    else:
        used, made = (np.zeros(int((graph.edge_table.relation == code).sum()), np.int32) for code in (USED, GENERATED))
        ancestry.mark_matching(np.zeros(len(graph), np.int32), made, used, sources, destinations, 1 << 20, marks)
    return set(graph.ids.of(np.flatnonzero(marks).tolist()))


@given(provenance(), st.data())
def test_all_engines_find_the_similar_paths_that_a_listing_of_paths_finds(drawn: Any, data: st.DataObject) -> None:
    src, dst = ends(data, drawn[0])
    graph, expected = built(*drawn), oracle.similar(plain(*drawn), src, dst)
    for engine in ("intervals", "windows", "SimProvAlg", "CflrB", "match"):
        assert marked(graph, engine, src, dst) == expected, engine


@given(provenance(), st.data())
def test_a_segment_is_what_the_definition_says(drawn: Any, data: st.DataObject) -> None:
    src, dst = ends(data, drawn[0])
    vertices, edges = oracle.segment(plain(*drawn), src, dst)
    found = built(*drawn).segment(src, dst)
    assert set(found.vertices) == vertices
    assert set(found.edges) == edges
    assert found.why


@given(provenance(), st.data())
def test_boundaries_and_expansion_in_one_step_or_two(drawn: Any, data: st.DataObject) -> None:
    src, dst = ends(data, drawn[0])
    graph = built(*drawn)
    excluded = data.draw(st.frozensets(st.sampled_from(sorted(drawn[0])), max_size=3), "excluded")
    relations = data.draw(st.frozensets(st.sampled_from(["wasDerivedFrom", "wasAttributedTo", "used"]), max_size=1))
    expand = data.draw(st.integers(0, 2), "expand")
    base = graph.segment(src, dst)
    boundaries = [lambda vertex: vertex.id in excluded, *relations]
    one, two = graph.segment(src, dst, exclude=boundaries, expand=expand), base.adjust(boundaries, expand)
    assert one == two
    vertices, edges = oracle.segment(plain(*drawn), src, dst, excluded=excluded, relations=relations, expand=expand)
    assert set(two.vertices) == vertices
    assert set(two.edges) == edges
    assert two.adjust() == base


@given(provenance(), st.data())
def test_properties_are_matched_step_by_step(drawn: Any, data: st.DataObject) -> None:
    src, dst = ends(data, drawn[0])
    graph, known = built(*drawn), drawn[0]
    for match, label in (
        ("command", lambda v: known[v][1].get("command")),
        ({"activity": ["command"], "entity": "filename"}, lambda v: sorted(known[v][1].items())),
        ({"activity": "agent"}, lambda v: [t for s, r, t in drawn[1] if s == v and r == "wasAssociatedWith"]),
    ):
        expected = oracle.segment(plain(*drawn), src, dst, label=lambda v, label=label: repr(label(v)))  # type: ignore[misc]
        found = graph.segment(src, dst, match=match)
        assert (set(found.vertices), set(found.edges)) == expected
        cut = found.adjust(exclude="wasDerivedFrom")
        assert cut == graph.segment(src, dst, exclude="wasDerivedFrom", match=match)


@given(provenance(activities=5), st.data())
def test_ancestors_descendants_and_paths(drawn: Any, data: st.DataObject) -> None:
    graph = built(*drawn)
    vertex, other = data.draw(st.tuples(*[st.sampled_from(sorted(drawn[0]))] * 2))
    onward: dict[str, set[str]] = {}
    for source, relation, target in drawn[1]:
        if relation in ("used", "wasGeneratedBy", "wasDerivedFrom"):
            onward.setdefault(source, set()).add(target)
    closure: set[str] = set()
    frontier = {vertex}
    while frontier := {t for s in frontier for t in onward.get(s, ())} - closure:
        closure |= frontier
    assert set(graph.ancestors(vertex)) == closure
    assert all(vertex in graph.descendants(each) for each in closure)
    paths = list(graph.paths(vertex, other))
    assert bool(paths) == (other in closure)
    assert len({tuple(path) for path in paths}) == len(paths)
    for path in paths:
        assert path[0][0] == vertex
        assert path[-1][2] == other
        assert all(a[2] == b[0] for a, b in zip(path, path[1:], strict=False))
    shortest = graph.shortest_path(vertex, other)
    if paths:
        assert shortest is not None
        assert len(shortest) == min(map(len, paths))
    else:
        assert shortest is None or vertex == other


@given(provenance(activities=4), st.data())
def test_cycles_through_activities_are_answered_too(drawn: Any, data: st.DataObject) -> None:
    vertices, edges = drawn
    activity, entity = (data.draw(st.sampled_from([v for v in vertices if vertices[v][0] == k])) for k in ("activity", "entity"))
    edges = [e for e in dict.fromkeys([*edges, (activity, "used", entity)]) if e[1] != "wasDerivedFrom"]
    src, dst = ends(data, vertices)
    try:
        graph = built(vertices, edges)
    except GraphWarning:
        with pytest.warns(GraphWarning, match="a cycle"):
            graph = built(vertices, edges)
    found = graph.segment(src, dst)
    if graph.acyclic:
        assert set(found.vertices) == oracle.segment(plain(vertices, edges), src, dst)[0]
    else:
        everything = set(graph.ancestors(dst)) | dst
        straight = oracle.direct(plain(vertices, edges), src, dst)
        assert straight <= set(found.vertices)
        if straight:
            assert marked(graph, "CflrB", src, dst) - set(found.by_rule["direct"]) - src - dst == set(found.by_rule["similar"])
            assert set(found.by_rule["similar"]) <= everything


def test_names_are_public() -> None:
    assert wh.Graph is Graph
