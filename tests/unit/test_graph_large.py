"""Graphs too deep to list paths: the engines against each other, hundreds of levels down."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from whence.errors import TooLarge
from whence.graph import Graph, summarize
from whence.graph.columns import Ids
from whence.graph.model import Numbers
from whence.testing.graphs import lifecycle, pd

GIB = 1 << 30
Marks = NDArray[np.uint8]


def engines(graph: Graph, sources: Numbers, destinations: Numbers) -> dict[str, Marks]:
    """What each engine marks."""
    ancestry, ends = graph.ancestry, (sources, destinations)
    found = {name: np.zeros(len(graph), np.uint8) for name in ("intervals", "windows", "pairs", "all pairs", "CflrB")}
    ancestry.mark_similar(*ends, 1 << 26, found["intervals"])
    ancestry.mark_similar(*ends, -(1 << 40), found["windows"])
    ancestry.mark_by_pairs(*ends, True, GIB, found["pairs"])
    ancestry.mark_by_pairs(*ends, False, GIB, found["all pairs"])
    ancestry.mark_by_cflrb(*ends, GIB, found["CflrB"])
    return found


@pytest.mark.parametrize(("seed", "percent"), [(0, 0), (1, 30), (2, 80), (3, 97)])
def test_engines_agree_on_projects(seed: int, percent: int) -> None:
    arrays = pd(3_000, seed=seed)
    entities = arrays.entities
    first = len(entities) * percent // 100
    found = engines(arrays.graph(), entities[first : first + 3], entities[[-1, -2, -9, -40]])
    for name, marks in found.items():
        assert np.array_equal(marks, found["CflrB"]), name
    assert found["CflrB"].sum() > 10


def chain(length: int, skips: tuple[int, ...]) -> Graph:
    """Entity i is made from those that came `skips` before it."""
    vertices = [("e0", "entity"), *(v for i in range(1, length) for v in ((f"a{i}", "activity"), (f"e{i}", "entity")))]
    edges = [(f"e{i}", "wasGeneratedBy", f"a{i}") for i in range(1, length)]
    edges += [(f"a{i}", "used", f"e{i - skip}") for i in range(1, length) for skip in skips if i >= skip]
    return Graph.build(vertices, edges)


@pytest.mark.parametrize("skips", [(1,), (1, 3), (1, 2), (1, 4, 7)])
def test_lengths_with_gaps_are_kept_apart(skips: tuple[int, ...]) -> None:
    graph = chain(700, skips)
    ends = graph.numbers(["e0", "e5"]), graph.numbers(["e699", "e698"])
    found = engines(graph, *ends)
    for name, marks in found.items():
        assert np.array_equal(marks, found["CflrB"]), name
    levels, runs, swept = graph.ancestry.mark_similar(*ends, 1 << 26, np.zeros(len(graph), np.uint8))
    assert (levels > 0, swept) == (True, 0)
    if skips == (1, 3):
        assert runs > 50 * len(graph), "lengths of one parity are as many intervals as lengths"


def test_the_budget_of_intervals_switches_to_windows() -> None:
    graph = chain(1500, (1, 3))
    ends = graph.numbers("e0"), graph.numbers("e1499")
    exact, marks = (np.zeros(len(graph), np.uint8) for _ in range(2))
    assert graph.ancestry.mark_similar(*ends, 1 << 26, exact)[2] == 0
    _, runs, swept = graph.ancestry.mark_similar(*ends, 10_000, marks)
    assert swept == 1
    assert runs < 30_000
    assert np.array_equal(marks, exact)


def test_matching_refuses_more_pairs_than_it_may_hold() -> None:
    arrays = pd(2_000)
    graph = arrays.graph()
    used, made = (np.zeros(len(arrays.edges[name][0]), np.int32) for name in ("used", "wasGeneratedBy"))
    marks = np.zeros(len(graph), np.uint8)
    with pytest.raises(TooLarge, match="more than 1000 pairs"):
        graph.ancestry.mark_matching(
            np.zeros(len(graph), np.int32), made, used, arrays.entities[:2], arrays.entities[-2:], 1000, marks
        )


def test_many_destinations_are_one_question() -> None:
    arrays = pd(1_500, seed=5)
    entities, graph = arrays.entities, arrays.graph()
    together = np.zeros(len(graph), np.uint8)
    graph.ancestry.mark_similar(entities[3:6], entities[-200:], 1 << 26, together)
    apart = np.zeros(len(graph), np.uint8)
    for entity in entities[-200:]:
        one = np.zeros(len(graph), np.uint8)
        graph.ancestry.mark_similar(entities[3:6], np.array([entity]), 1 << 26, one)
        apart |= one
    assert np.array_equal(together, apart)


def test_a_segment_becomes_a_graph_with_all_that_it_knows() -> None:
    graph = lifecycle()
    segment = graph.segment("dataset-v1", "weight-v2")
    copy = segment.to_graph()
    assert sorted(copy.vertices) == sorted(segment.vertices)
    assert sorted(copy.edges) == sorted(segment.edges)
    assert copy["train-v2"] == graph["train-v2"]
    again = Graph.build(*graph.records())
    assert again.records() == graph.records()
    assert again.segment("dataset-v1", "weight-v2") == segment


def test_long_pipelines_are_summarized() -> None:
    parts = []
    for name, length in (("x", 150), ("y", 160)):
        vertices = [(f"{name}e0", "entity"), *((f"{name}a{i}", "activity") for i in range(length))]
        vertices += [(f"{name}e{i + 1}", "entity") for i in range(length)]
        edges = [(f"{name}a{i}", "used", f"{name}e{i}") for i in range(length)]
        edges += [(f"{name}e{i + 1}", "wasGeneratedBy", f"{name}a{i}") for i in range(length)]
        graph = Graph.build(vertices, edges)
        parts.append(graph.induced(graph.vertices))
    summary = summarize(parts)
    assert len(summary) == 321, "the shorter one is part of the longer"
    assert summary.exact
    assert {edge.frequency for edge in summary.edges} == {0.5, 1.0}


def test_a_destination_is_not_on_a_path_because_its_sibling_is() -> None:
    graph = Graph.build(
        [("a0", "activity"), ("a1", "activity"), *((name, "entity") for name in ("e0", "e3", "e5", "e6"))],
        [("e3", "wasGeneratedBy", "a0"), ("e5", "wasGeneratedBy", "a0"), ("a1", "used", "e0"), ("a1", "used", "e5"),
         ("e6", "wasGeneratedBy", "a1")],
    )  # fmt: skip
    for marks in engines(graph, graph.numbers("e0"), graph.numbers(["e3", "e5", "e6"])).values():
        assert set(graph.ids.of(np.flatnonzero(marks).tolist())) == {"e0", "e5", "e6", "a1"}


def test_many_names_are_looked_through_before_a_table_is_made() -> None:
    count = 100_002
    ids = Ids([f"v{number}" for number in range(count)], count, unique=True)
    for number in (0, count - 1, 7, 0, 1, 2, 3, 4, 5, 6, count - 1):
        assert ids.number(f"v{number}") == number
        assert ids.find("w") is None
    assert Ids([f"v{number % 100_001}" for number in range(count)], count).unique is False
