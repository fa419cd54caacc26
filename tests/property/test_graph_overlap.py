"""Which segments may be put on top of each other: the compiled search against an enumeration of all paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.graph import Graph, overlap
from whence.graph.overlap import Part, groups
from whence.graph.summary import summarize

Edges = list[tuple[int, int]]  # younger, older: the younger has the greater number


@st.composite
def several(draw: st.DrawFn) -> tuple[Edges, list[Part]]:
    """A small graph and parts of it: some edges, with their ends, and other vertices."""
    count = draw(st.integers(2, 7))
    possible = [(a, b) for a in range(count) for b in range(a)]
    edges: Edges = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=10, unique=True))
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        rows = sorted(draw(st.sets(st.integers(0, len(edges) - 1))))
        vertices = {end for row in rows for end in edges[row]} | draw(st.sets(st.integers(0, count - 1), max_size=2))
        ends = np.array([edges[row] for row in rows], np.int64).reshape(-1, 2)
        parts.append(
            Part(
                0, np.array(sorted(vertices), np.int64), np.array(rows, np.int64), ends[:, 0].copy(), ends[:, 1].copy()
            )
        )
    return edges, parts


def paths(rows: set[int], edges: Edges) -> Iterator[tuple[int, ...]]:
    """All paths of at least one edge, as rows."""
    waiting: list[tuple[int, ...]] = [(row,) for row in rows]
    while waiting:
        path = waiting.pop()
        yield path
        waiting += [(*path, row) for row in rows if edges[row][0] == edges[path[-1]][1]]


def is_covered(edges: Edges, parts: list[Part]) -> bool:
    own = [set(part.rows.tolist()) for part in parts]
    return all(any(set(path) <= each for each in own) for path in paths(set().union(*own), edges))


@settings(max_examples=300, deadline=None)
@given(given=several())
def test_a_union_is_taken_exactly_if_it_adds_no_path(given: tuple[Edges, list[Part]]) -> None:
    edges, parts = given
    judge = overlap._Judge(10**9)
    assert judge.adds_no_path(parts) == is_covered(edges, parts)


@settings(max_examples=300, deadline=None)
@given(given=several())
def test_groups_add_no_path_and_hold_what_they_contain(given: tuple[Edges, list[Part]]) -> None:
    edges, parts = given
    found = groups(parts)
    for group in set(found):
        assert is_covered(edges, [part for part, own in zip(parts, found, strict=True) if own == group])
    if is_covered(edges, parts):
        touching = [set(part.vertices.tolist()) for part in parts]
        for one, own in zip(touching, found, strict=True):
            assert all(own == other_group for other, other_group in zip(touching, found, strict=True) if one & other)


def test_many_parts_take_more_than_one_word() -> None:
    count = 200
    parts = [
        Part(0, np.array([0, each], np.int64), np.array([each - 1], np.int64), np.array([each]), np.array([0]))
        for each in range(1, count)
    ]
    assert set(groups(parts)) == {0}  # a star: no path goes on
    chain = [
        Part(
            0, np.array([each, each + 1], np.int64), np.array([each], np.int64), np.array([each + 1]), np.array([each])
        )
        for each in range(count)
    ]
    assert not overlap._Judge(10**9).adds_no_path(chain)
    assert overlap.members_of(~overlap.no_sets(1, 70)[0])[:70] == list(range(70))


def test_without_work_left_what_overlaps_stays_apart_unless_it_is_contained() -> None:
    whole = Part(0, np.arange(3), np.array([0, 1]), np.array([1, 2]), np.array([0, 1]))
    inner = Part(0, np.arange(2), np.array([0]), np.array([1]), np.array([0]))
    other = Part(0, np.array([2, 3]), np.array([2]), np.array([3]), np.array([2]))
    assert groups([whole, inner, other], work=0) == [0, 0, 2]


def test_where_segments_cross_a_summary_has_more_vertices_than_their_union() -> None:
    """With one vertex for x, there would be a way from b to c, which neither segment has."""
    ends = [("x", "a"), ("x", "c")], [("b", "x"), ("d", "x")]
    graph = Graph.from_prov(
        {
            "entity": {name: {"name": name} for name in "abcd"},
            "activity": {"x": {}},
            "used": {f"_:{e}": {"prov:activity": x, "prov:entity": e} for x, e in ends[0]},
            "wasGeneratedBy": {f"_:{e}": {"prov:entity": e, "prov:activity": x} for e, x in ends[1]},
        }
    )
    crossing = [graph.induced(["b", "x", "a"]), graph.induced(["d", "x", "c"])]
    summary = summarize(crossing, keep={"entity": ["name"]})
    ways = {
        (one.source.label, two.target.label)
        for one in summary.edges
        for two in summary.edges
        if one.target is two.source
    }
    assert ways == {("b", "a"), ("d", "c")}
    assert (len(summary), summary.size, sum(map(len, crossing))) == (6, 5, 6)
    assert len(summarize([*crossing, graph.induced(["b", "x", "c"]), graph.induced(["d", "x", "a"])])) <= 5
