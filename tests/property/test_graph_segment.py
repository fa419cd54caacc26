"""Segments of small random provenance graphs: every engine, and the whole operator, against a listing of all paths."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence as wh
from whence.graph import Graph, GraphWarning
from whence.graph.model import GENERATED, USED
from whence.graph.similar import scope_of
from whence.testing.graphs import oracle
from whence.testing.graphs.strategies import Drawn, provenance

GIB = 1 << 30


def ends(data: st.DataObject, drawn: Drawn) -> tuple[set[str], set[str]]:
    some = st.sets(st.sampled_from(drawn.of_kind("entity")), min_size=1, max_size=3)
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
@settings(deadline=None)  # a loaded machine is not a failure
def test_all_engines_find_the_similar_paths_that_a_listing_of_paths_finds(drawn: Drawn, data: st.DataObject) -> None:
    src, dst = ends(data, drawn)
    graph, expected = drawn.graph, oracle.similar(drawn.plain, src, dst)
    for engine in ("intervals", "windows", "SimProvAlg", "CflrB", "match"):
        assert marked(graph, engine, src, dst) == expected, engine


@given(provenance(), st.data())
@settings(deadline=None)  # a loaded machine is not a failure
def test_a_segment_is_what_the_definition_says(drawn: Drawn, data: st.DataObject) -> None:
    src, dst = ends(data, drawn)
    vertices, edges = oracle.segment(drawn.plain, src, dst)
    found = drawn.graph.segment(src, dst)
    assert set(found.vertices) == vertices
    assert set(found.edges) == edges
    assert found.why


@given(provenance(), st.data())
@settings(deadline=None)  # a loaded machine is not a failure
def test_boundaries_and_expansion_in_one_step_or_two(drawn: Drawn, data: st.DataObject) -> None:
    src, dst = ends(data, drawn)
    graph = drawn.graph
    excluded = data.draw(st.frozensets(st.sampled_from(sorted(drawn.vertices)), max_size=3), "excluded")
    relations = data.draw(st.frozensets(st.sampled_from(["wasDerivedFrom", "wasAttributedTo", "used"]), max_size=1))
    expand = data.draw(st.integers(0, 2), "expand")
    base = graph.segment(src, dst)
    boundaries = [lambda vertex: vertex.id in excluded, *relations]
    one, two = graph.segment(src, dst, exclude=boundaries, expand=expand), base.adjust(boundaries, expand)
    assert one == two
    vertices, edges = oracle.segment(drawn.plain, src, dst, excluded=excluded, relations=relations, expand=expand)
    assert set(two.vertices) == vertices
    assert set(two.edges) == edges
    assert two.adjust() == base


@given(provenance(), st.data())
@settings(deadline=None)  # a loaded machine is not a failure
def test_properties_are_matched_step_by_step(drawn: Drawn, data: st.DataObject) -> None:
    src, dst = ends(data, drawn)
    graph, known = drawn.graph, drawn.vertices
    for match, label in (
        ("command", lambda v: known[v][1].get("command")),
        ({"activity": ["command"], "entity": "filename"}, lambda v: sorted(known[v][1].items())),
        ({"activity": "agent"}, lambda v: [t for s, r, t in drawn.edges if s == v and r == "wasAssociatedWith"]),
    ):
        # mypy infers no type for a default.
        expected = oracle.segment(drawn.plain, src, dst, label=lambda v, label=label: repr(label(v)))  # type: ignore[misc]  # a lambda's default has no type
        found = graph.segment(src, dst, match=match)
        assert (set(found.vertices), set(found.edges)) == expected
        cut = found.adjust(exclude="wasDerivedFrom")
        assert cut == graph.segment(src, dst, exclude="wasDerivedFrom", match=match)


@given(provenance(), st.data())
@settings(deadline=None, max_examples=300)
def test_properties_of_edges_are_matched_step_by_step(drawn: Drawn, data: st.DataObject) -> None:
    makers = data.draw(st.lists(st.sampled_from(drawn.of_kind("activity")), min_size=1, max_size=3, unique=True))
    made: dict[str, tuple[str, dict[str, str]]] = {
        f"d{number}": ("entity", {}) for number in range(3)
    }  # by several activities, each in its own role
    shared = tuple((name, "wasGeneratedBy", maker) for name in made for maker in makers)
    drawn = Drawn(drawn.vertices | made, drawn.edges + shared)
    src, dst = ends(data, drawn)
    dst |= data.draw(st.sets(st.sampled_from(sorted(made))), "dst")
    roles: dict[tuple[str, str], list[str]] = {}
    edges = []
    for edge in drawn.edges:
        own = [""]
        if edge[1] in ("used", "wasGeneratedBy"):
            own = data.draw(st.lists(st.sampled_from("xy"), min_size=1, max_size=2, unique=True))
            roles[edge[0], edge[2]] = own
        edges += [(*edge, {"role": role}) for role in own]
    graph = Graph.build([(name, kind, own) for name, (kind, own) in drawn.vertices.items()], edges)
    wanted: dict[str, str]
    for wanted in ({"wasGeneratedBy": "role"}, {"used": "role"}, {"used": "role", "wasGeneratedBy": "role"}):

        def labels(source: str, target: str, wanted: dict[str, str] = wanted) -> list[str]:
            relation = "used" if drawn.vertices[source][0] == "activity" else "wasGeneratedBy"
            return roles[source, target] if relation in wanted else [""]

        expected = oracle.segment(drawn.plain, src, dst, edge_labels=labels)
        found = graph.segment(src, dst, match=wanted)
        assert (set(found.vertices), set(found.edges)) == expected
        assert found.adjust(exclude="wasDerivedFrom") == graph.segment(src, dst, exclude="wasDerivedFrom", match=wanted)


def test_entities_of_one_activity_in_different_roles_are_asked_each() -> None:
    """Found by a user: the path from the first destination stood for that from the second, which has another role."""
    vertices = [
        ("s", "entity"),
        ("x", "activity"),
        ("y", "activity"),
        ("o", "entity"),
        ("d1", "entity"),
        ("d2", "entity"),
    ]
    edges: list[tuple[str, str, str, dict[str, str]]] = [
        ("x", "used", "s", {}), ("y", "used", "o", {}),
    ]  # fmt: skip
    for roles in (("model", "log"), ("log", "model")):  # whichever comes first
        made = [(f"d{place}", "wasGeneratedBy", maker, {"role": role if maker == "x" else "log"})
                for place, role in enumerate(roles, 1) for maker in "xy"]  # fmt: skip
        graph = Graph.build([(*each, {}) for each in vertices], [*edges, *made])
        match = {"wasGeneratedBy": "role"}
        assert "y" not in graph.segment("s", f"d{roles.index('model') + 1}", match=match).vertices
        assert "y" in graph.segment("s", ["d1", "d2"], match=match).vertices


@given(provenance(activities=5), st.data())
@settings(deadline=None)  # a loaded machine is not a failure
def test_ancestors_descendants_and_paths(drawn: Drawn, data: st.DataObject) -> None:
    graph = drawn.graph
    vertex, other = data.draw(st.tuples(*[st.sampled_from(sorted(drawn.vertices))] * 2))
    onward: dict[str, set[str]] = {}
    for source, relation, target in drawn.edges:
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
        assert all(a[2] == b[0] for a, b in pairwise(path))
    shortest = graph.shortest_path(vertex, other)
    if paths:
        assert shortest is not None
        assert len(shortest) == min(map(len, paths))
    else:
        assert shortest is None or vertex == other


@given(provenance(activities=4), st.data())
@settings(deadline=None)  # a loaded machine is not a failure
def test_cycles_through_activities_are_answered_too(drawn: Drawn, data: st.DataObject) -> None:
    activity, entity = (data.draw(st.sampled_from(drawn.of_kind(kind))) for kind in ("activity", "entity"))
    edges = [e for e in dict.fromkeys([*drawn.edges, (activity, "used", entity)]) if e[1] != "wasDerivedFrom"]
    drawn = Drawn(drawn.vertices, tuple(edges))
    src, dst = ends(data, drawn)
    try:
        graph = drawn.graph
    except GraphWarning:
        with pytest.warns(GraphWarning, match="a cycle"):
            graph = drawn.graph
    found = graph.segment(src, dst)
    if graph.acyclic:
        assert set(found.vertices) == oracle.segment(drawn.plain, src, dst)[0]
    else:
        everything = set(graph.ancestors(dst)) | dst
        straight = oracle.direct(drawn.plain, src, dst)
        assert straight <= set(found.vertices)
        if straight:
            assert marked(graph, "CflrB", src, dst) - set(found.by_rule["direct"]) - src - dst == set(
                found.by_rule["similar"]
            )
            assert set(found.by_rule["similar"]) <= everything


@given(provenance(activities=3), st.data())
@settings(deadline=None, max_examples=150)
def test_properties_are_matched_on_cycles_too(drawn: Drawn, data: st.DataObject) -> None:
    activities, entities = (st.sampled_from(drawn.of_kind(kind)) for kind in ("activity", "entity"))
    more = st.tuples(activities, st.just("used"), entities)
    edges = [*drawn.edges, *data.draw(st.lists(more, min_size=1, max_size=4))]
    drawn = Drawn(drawn.vertices, tuple(e for e in dict.fromkeys(edges) if e[1] in ("used", "wasGeneratedBy")))
    src, dst = ends(data, drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        graph = drawn.graph
    found = graph.segment(src, dst, match="command")
    if len(found):
        named = src | dst | set(found.by_rule["direct"])
        assert set(found.by_rule["similar"]) == unrolled(drawn, src, dst) - named


def unrolled(drawn: Drawn, src: set[str], dst: set[str]) -> set[str]:
    """What similar paths mark on a graph without cycles that has every vertex once for each step of a walk.

    Two walkers that go on for longer than there are pairs of vertices have been in the same place before.
    """
    steps = sum(len(drawn.of_kind(kind)) ** 2 for kind in ("entity", "activity")) + 2
    vertices = [(f"{name} {t}", kind, own) for name, (kind, own) in drawn.vertices.items() for t in range(steps)]
    edges = [(f"{s} {t}", r, f"{e} {t - 1}") for s, r, e in drawn.edges for t in range(1, steps)]
    graph = Graph.build(vertices, edges)
    sources = graph.numbers([f"{name} {t}" for name in src for t in range(steps)])
    _, similar = scope_of(graph, "command").paths(sources, graph.numbers([f"{name} {steps - 1}" for name in dst]))
    return {name.rpartition(" ")[0] for name in graph.ids.of(np.flatnonzero(similar).tolist())}


def test_names_are_public() -> None:
    assert wh.Graph is Graph
