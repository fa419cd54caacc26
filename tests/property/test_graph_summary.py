"""Summaries of segments of small random graphs: the paths of the segments and no others, and as small as can be."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

import whence as wh
from whence.graph import Segment, Summary, merge
from whence.graph.isomorphism import Ball, isomorphic
from whence.testing.graphs import sd
from whence.testing.graphs.psum import Edge, psum
from whence.testing.graphs.strategies import Drawn, provenance
from whence.testing.graphs.words import new_word, words

KEEP = {"activity": ["command"]}


def of_summary(summary: Summary) -> tuple[list[object], list[Edge]]:
    labels: list[object] = [vertex.type for vertex in summary.vertices]
    return labels, [back_in_time(e.source.id, e.relation, e.target.id) for e in summary.edges]


def of_segments(summary: Summary, segments: list[Segment]) -> tuple[list[object], list[Edge]]:
    """All segments side by side, each vertex with the type that the summary gives it."""
    types = {member: vertex.type for vertex in summary.vertices for member in vertex.occurrences}
    labels: list[object] = []
    edges: list[Edge] = []
    for number, segment in enumerate(segments):
        place = {name: len(labels) + i for i, name in enumerate(segment.vertices)}
        labels += [types[number, name] for name in segment.vertices]
        edges += [back_in_time(place[s], r, place[t]) for s, r, t in segment.edges]
    return labels, edges


def back_in_time(source: int, relation: str, target: int) -> Edge:
    """An edge as summaries follow it: from the younger end."""
    return (
        (target, hash_of(relation), source) if relation == "wasInvalidatedBy" else (source, hash_of(relation), target)
    )


def hash_of(relation: str) -> int:
    return sum(ord(letter) << 7 * place for place, letter in enumerate(relation))


@st.composite
def segments(draw: st.DrawFn, activities: int = 5) -> list[Segment]:
    """Parts of one or two graphs: by sources and destinations, or any vertices."""
    found = []
    for _ in range(draw(st.integers(1, 2))):
        drawn: Drawn = draw(provenance(activities))
        used = [(target, "wasInvalidatedBy", source) for source, relation, target in drawn.edges if relation == "used"]
        ended = draw(st.lists(st.sampled_from(used), max_size=2, unique=True)) if used else []
        graph = Drawn(drawn.vertices, (*drawn.edges, *ended)).graph
        for _ in range(draw(st.integers(1, 2))):
            if draw(st.booleans()):
                names = draw(st.sets(st.sampled_from(sorted(drawn.vertices)), min_size=1))
                found.append(graph.induced(names))
            else:
                some = st.sampled_from(drawn.of_kind("entity"))
                found.append(graph.segment(draw(some), draw(some)))
    return found


@given(segments(), st.integers(0, 2))
@settings(deadline=None)  # a loaded machine is no failure
def test_a_summary_has_the_paths_of_its_segments_and_no_others(parts: list[Segment], k: int) -> None:
    summary = wh.summarize(parts, keep=KEEP, k=k)
    ours, theirs = of_summary(summary), of_segments(summary, parts)
    assert words(*ours) == words(*theirs)
    assert new_word(*ours, *theirs) is None
    assert new_word(*theirs, *ours) is None


@given(segments(), st.integers(0, 1))
@settings(deadline=None)  # a loaded machine is no failure
def test_a_summary_is_never_larger_than_that_of_psum(parts: list[Segment], k: int) -> None:
    summary = wh.summarize(parts, keep=KEEP, k=k)
    assert len(summary) <= psum(*of_segments(summary, parts))


@st.composite
def overlapping(draw: st.DrawFn) -> list[Segment]:
    """Several segments of one graph: histories of its entities, and parts of these."""
    drawn: Drawn = draw(provenance(6))
    graph, entities = drawn.graph, drawn.of_kind("entity")
    found = []
    for end in draw(st.lists(st.sampled_from(entities), min_size=2, max_size=6)):
        whole = [end, *graph.ancestors(end)]
        less = draw(st.sets(st.sampled_from(whole), max_size=2))
        found.append(graph.induced([name for name in whole if name not in less] or [end]))
    return found


@given(overlapping(), st.integers(0, 1))
@settings(deadline=None, max_examples=300)
def test_overlapping_segments_are_summarized_by_their_paths_and_no_others(parts: list[Segment], k: int) -> None:
    summary = wh.summarize(parts, keep=KEEP, k=k)
    ours, theirs = of_summary(summary), of_segments(summary, parts)
    assert new_word(*ours, *theirs) is None
    assert new_word(*theirs, *ours) is None
    if paths_are_covered(parts):
        assert len(summary) <= summary.size, "the union of the segments has no other paths"


def paths_are_covered(parts: list[Segment]) -> bool:
    """Whether each path along edges of the segments is in one of them; all paths are listed."""
    edges = {edge for part in parts for edge in part.edges}
    stack: list[tuple[tuple[str, str, str], ...]] = [(edge,) for edge in edges]
    owned = [set(part.edges) for part in parts]
    while stack:
        path = stack.pop()
        if not any(own.issuperset(path) for own in owned):
            return False
        stack.extend((*path, edge) for edge in edges if edge[0] == path[-1][2])
    return True


@given(segments(), st.integers(0, 1))
@settings(deadline=None)  # a loaded machine is no failure
def test_simulation_alone_gives_a_valid_summary_that_exact_comparison_does_not_enlarge(
    parts: list[Segment], k: int
) -> None:
    exact = wh.summarize(parts, keep=KEEP, k=k)
    small, merge.SMALL = merge.SMALL, 0
    try:
        simulated = wh.summarize(parts, keep=KEEP, k=k)
    finally:
        merge.SMALL = small
    assert new_word(*of_summary(simulated), *of_segments(simulated, parts)) is None
    assert len(exact) <= len(simulated) <= psum(*of_segments(simulated, parts))
    assert exact.exact or not exact.vertices
    assert not simulated.exact or not simulated.vertices


@given(segments(), st.integers(0, 1))
@settings(deadline=None)  # a loaded machine is no failure
def test_every_vertex_of_every_segment_is_in_one_vertex_and_edges_count_segments(parts: list[Segment], k: int) -> None:
    summary = wh.summarize(parts, keep=KEEP, k=k)
    held = [each for vertex in summary.vertices for each in vertex.occurrences]
    assert sorted(held) == sorted((number, name) for number, part in enumerate(parts) for name in part.vertices)
    place = {each: vertex.id for vertex in summary.vertices for each in vertex.occurrences}
    # A segment counts for whatever its vertices and edges became, be it in this segment or in another.
    became: dict[tuple[int, str, int], set[tuple[int, str, str, str]]] = {}
    having: dict[tuple[int, str, str, str], set[int]] = {}
    for number, part in enumerate(parts):
        for source, relation, target in part.edges:
            edge = (id(part.graph), source, relation, target)
            became.setdefault((place[number, source], relation, place[number, target]), set()).add(edge)
            having.setdefault(edge, set()).add(number)
    assert {(e.source.id, e.relation, e.target.id): e.frequency for e in summary.edges} == {
        edge: len(set().union(*(having[each] for each in own))) / len(parts) for edge, own in became.items()
    }
    for vertex in summary.vertices:
        members = {(id(parts[number].graph), name) for number, name in vertex.occurrences}
        own = [any((id(part.graph), name) in members for name in part.vertices) for part in parts]
        assert vertex.frequency == sum(own) / len(parts)
    for vertex in summary.vertices:
        for number, name in vertex.occurrences:
            seen = parts[number].graph[name]
            assert seen.kind == vertex.kind
            assert [seen.get(key) for key in vertex.properties] == list(vertex.properties.values())


@st.composite
def balls(draw: st.DrawFn) -> Ball:
    count = draw(st.integers(1, 5))
    edges = draw(
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, 1), st.integers(0, count - 1)), max_size=7)
    )
    steps: list[list[tuple[int, int, int]]] = [[] for _ in range(count)]
    for source, relation, target in edges:
        steps[source].append((0, relation, target))
        steps[target].append((1, relation, source))
    labels = ("root", *draw(st.lists(st.sampled_from("xy"), min_size=count - 1, max_size=count - 1)))
    return Ball(labels, tuple(map(tuple, steps)))


@given(balls(), balls())
@settings(deadline=None)  # a loaded machine is no failure
def test_isomorphism_is_what_trying_all_bijections_finds(a: Ball, b: Ball) -> None:
    def renamed(each: Ball, order: tuple[int, ...]) -> tuple[object, object]:
        labels = [each.labels[order.index(place)] for place in range(len(order))]
        steps = [sorted((s, r, order[v]) for s, r, v in each.steps[order.index(place)]) for place in range(len(order))]
        return labels, steps

    def tried(one: Ball, two: Ball) -> bool:
        if len(one.labels) != len(two.labels):
            return False
        same = tuple(range(len(one.labels)))
        return any(renamed(one, order) == renamed(two, same) for order in permutations(same) if order[0] == 0)

    assert isomorphic(a, b) == tried(a, b)
    turned = (0, *sorted(range(1, len(a.labels)), reverse=True))
    labels, steps = renamed(a, turned)
    # The steps are triples.
    assert isomorphic(a, Ball(tuple(labels), tuple(map(tuple, steps))))  # type: ignore[arg-type,call-overload]


@given(st.integers(0, 1000), st.sampled_from([0.01, 0.1, 1.0]))
@settings(deadline=None, max_examples=30)
def test_similar_pipelines_are_summarized_validly_and_better_than_by_psum(seed: int, alpha: float) -> None:
    parts = sd(alpha=alpha, n=6, segments=4, k=3, lambda_i=1, lambda_o=1, seed=seed)
    summary = wh.summarize(parts, keep=KEEP)
    theirs = of_segments(summary, parts)
    assert new_word(*of_summary(summary), *theirs) is None
    assert len(summary) <= psum(*theirs)


def chain(length: int) -> list[Segment]:
    """A model that is tuned again and again on new data, and the history of each version."""
    vertices: list[tuple[str, str, dict[str, str]]] = [("m0", "entity", {"filename": "model"})]
    edges = []
    for step in range(1, length + 1):
        vertices += [
            (f"a{step}", "activity", {"command": "tune"}), (f"d{step}", "entity", {"filename": "data"}),
            (f"m{step}", "entity", {"filename": "model"}),
        ]  # fmt: skip
        edges += [(f"a{step}", "used", f"m{step - 1}"), (f"a{step}", "used", f"d{step}"),
                  (f"m{step}", "wasGeneratedBy", f"a{step}")]  # fmt: skip
    graph = wh.Graph.build(vertices, edges)
    return [
        graph.segment(["m0", *(f"d{each}" for each in range(1, end + 1))], f"m{end}") for end in range(1, length + 1)
    ]


def test_histories_that_contain_each_other_are_no_larger_than_the_longest() -> None:
    parts = chain(30)
    summary = wh.summarize(parts, keep={"entity": ["filename"], "activity": ["command"]})
    assert summary.size == 91
    assert len(summary) <= 91
    assert new_word(*of_summary(summary), *of_segments(summary, parts)) is None
    shares = {member: vertex.frequency for vertex in summary.vertices for member in vertex.members}
    assert (shares["m0"], shares["a1"], shares["m1"]) == (1, 1, 1)
    assert shares["m30"] == 1 / 30


def test_segments_that_cross_are_not_put_on_top_of_each_other() -> None:
    """In the union, a path would lead from one end over the shared model to the data of the other."""
    vertices = [(name, "entity", {"filename": name}) for name in ("data1", "data2", "model", "out1", "out2")]
    makes = {"t1": ("data1", "model"), "t2": ("data2", "model"), "u1": ("model", "out1"), "u2": ("model", "out2")}
    edges = [e for name, (old, new) in makes.items() for e in ((name, "used", old), (new, "wasGeneratedBy", name))]
    graph = wh.Graph.build([*vertices, *((name, "activity", {"command": name}) for name in makes)], edges)
    parts = [graph.induced([f"data{i}", f"t{i}", "model", f"u{i}", f"out{i}"]) for i in (1, 2)]
    summary = wh.summarize(parts, keep={"entity": ["filename"], "activity": ["command"]})
    assert len([vertex for vertex in summary.vertices if vertex.label == "model"]) == 2
    assert all(vertex.frequency == 1 for vertex in summary.vertices if vertex.label == "model")
    assert new_word(*of_summary(summary), *of_segments(summary, parts)) is None
