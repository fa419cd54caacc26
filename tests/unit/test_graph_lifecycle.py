"""The example of the paper (Fig. 2), built by hand, and the answers of its three queries."""

from __future__ import annotations

from typing import Any

import pytest

import whence as wh
from whence.graph import Graph, Segment, beyond, on_edges, what, when, where, who
from whence.testing.graphs import lifecycle

ASIDE = ["wasAttributedTo", "wasDerivedFrom"]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return lifecycle()


@pytest.fixture(scope="module")
def first(graph: Graph) -> Segment:
    """Query 1: how did Alice's weights of version 2 come from the dataset?"""
    return graph.segment(src="dataset-v1", dst="weight-v2", exclude=ASIDE, expand={"weight-v2": 2})


@pytest.fixture(scope="module")
def second(graph: Graph) -> Segment:
    """Query 2: how did Bob get a better log?"""
    return graph.segment(src=["dataset-v1"], dst=["log-v3"], exclude=ASIDE, expand=2)


def test_query_1_shows_what_alice_did(first: Segment) -> None:
    assert set(first.vertices) == {
        "dataset-v1", "train-v2", "weight-v2", "model-v2", "solver-v1", "log-v2", "Alice", "update-v2", "model-v1",
    }  # fmt: skip
    assert set(first.edges) == {
        ("train-v2", "used", "dataset-v1"), ("train-v2", "used", "model-v2"), ("train-v2", "used", "solver-v1"),
        ("weight-v2", "wasGeneratedBy", "train-v2"), ("log-v2", "wasGeneratedBy", "train-v2"),
        ("train-v2", "wasAssociatedWith", "Alice"), ("model-v2", "wasGeneratedBy", "update-v2"),
        ("update-v2", "used", "model-v1"), ("update-v2", "wasAssociatedWith", "Alice"),
    }  # fmt: skip
    assert first.by_rule == {
        "source": ["dataset-v1"], "destination": ["weight-v2"], "direct": ["train-v2"],
        "similar": ["solver-v1", "model-v2"], "sibling": ["log-v2"], "agent": ["Alice"],
        "expanded": ["model-v1", "update-v2"],
    }  # fmt: skip


def test_query_2_shows_that_bob_changed_the_solver_and_not_the_model(second: Segment) -> None:
    assert set(second.vertices) == {
        "dataset-v1", "train-v3", "log-v3", "model-v1", "solver-v3", "weight-v3", "Bob", "update-v3", "solver-v1",
    }  # fmt: skip
    assert "model-v2" not in second
    assert "Alice" not in second


def test_query_3_summarizes_the_two(first: Segment, second: Segment) -> None:
    keep = {"entity": ["filename"], "activity": ["command"], "agent": []}
    summary = wh.summarize([first, second], keep=keep, k=1)
    assert sorted(vertex.label for vertex in summary.vertices) == [
        "agent", "dataset", "log", "model t1", "model t2", "solver t1", "solver t2", "train", "update t1", "update t2",
        "weight",
    ]  # fmt: skip
    frequency = {(edge.source.label, edge.target.label): edge.frequency for edge in summary.edges}
    always = {("train", "dataset"), ("log", "train"), ("weight", "train"), ("train", "agent")}
    assert {edge for edge, share in frequency.items() if share == 1.0} == always
    assert {share for edge, share in frequency.items() if edge not in always} == {0.5}
    members = {vertex.label: set(vertex.members) for vertex in summary.vertices}
    assert members["train"] == {"train-v2", "train-v3"}
    assert members["agent"] == {"Alice", "Bob"}
    assert summary.exact
    assert summary.compaction == 11 / 15
    assert "train -used-> dataset: 100%" in str(summary)


def test_without_types_and_properties_more_is_merged(first: Segment, second: Segment) -> None:
    summary = wh.summarize([first, second], keep={"activity": ["command"]})
    assert len(summary) < 11
    assert sum(map(len, (vertex.occurrences for vertex in summary.vertices))) == len(first) + len(second)


def test_early_versions_are_not_part_of_a_segment_without_expansion(graph: Graph) -> None:
    assert "model-v1" not in graph.segment("dataset-v1", "weight-v2", exclude=ASIDE)


def test_a_segment_prints_its_parts(first: Segment) -> None:
    assert str(first).splitlines() == [
        "Segment(6 entities, 2 activities, 1 agent, 9 edges)",
        "  2 asked for, 1 on paths between them, 2 on similar paths, 1 made beside them, 1 agent, 2 by expansion.",
        "  entity: dataset-v1, model-v1, solver-v1, model-v2, log-v2, weight-v2",
        "  activity: update-v2, train-v2",
        "  agent: Alice",
    ]


def test_nothing_connects_them_and_the_segment_says_so(graph: Graph) -> None:
    empty = graph.segment("log-v1", "weight-v2")
    assert (len(empty), empty.vertices, empty.edges) == (0, [], [])
    assert "'weight-v2' came from 'log-v1'" in empty.why
    assert "swap src and dst" in graph.segment("weight-v2", "dataset-v1").why
    assert empty.adjust(exclude="used", expand=3) == empty
    assert len(wh.summarize([empty])) == 0


def test_sources_and_destinations_may_overlap(graph: Graph) -> None:
    same = graph.segment(["dataset-v1", "weight-v2"], ["dataset-v1", "weight-v2"])
    assert set(graph.segment("dataset-v1", "weight-v2").vertices) <= set(same.vertices)
    assert graph.segment("model-v1", "model-v1").vertices == ["Alice", "model-v1"]


def test_boundaries_of_who_when_where_and_what(graph: Graph) -> None:
    whole = graph.segment("dataset-v1", ["log-v2", "log-v3"], expand=2)
    assert {"Alice", "Bob", "train-v2", "train-v3"} <= set(whole.vertices)
    alice = whole.adjust(exclude=who("Bob"))
    assert {"Bob", "train-v3", "weight-v3"}.isdisjoint(alice.vertices)
    assert "log-v3" in alice, "what the query names stays"
    assert whole.adjust(exclude=~who("Alice")) == alice
    later = whole.adjust(exclude=when(before="2026-01-02T23:59:00Z"))
    assert "train-v2" not in later
    assert "train-v3" in later
    assert whole.adjust(exclude=when(after="2026-01-03")) == whole.adjust(exclude=~when(before="2026-01-02T23:59:00Z"))
    assert "model-v2" not in whole.adjust(exclude=where("model*"))
    assert "train-v2" not in whole.adjust(exclude=what("activity", command="train") & what(version=2))
    assert "weight-v2" not in whole.adjust(exclude=what(exp="v2") | what(lr=0.01))
    assert "log-v2" not in graph.segment("dataset-v1", "weight-v2", exclude=lambda v: v.get("acc", 1) < 0.6)


def test_boundaries_on_edges_and_distance(graph: Graph) -> None:
    whole = graph.segment("dataset-v1", "weight-v2", expand=2)
    cut = whole.adjust(exclude=on_edges(lambda e: e.relation == "used" and e.target.id == "model-v2"), expand=2)
    assert "model-v2" not in cut
    far = graph.segment("model-v1", "weight-v2")
    assert "update-v2" in far
    assert "train-v2" not in graph.segment("model-v1", "weight-v2", exclude=beyond(0)).vertices
    assert far.adjust(exclude=beyond(9)) == far


def test_cutting_every_path_leaves_an_explained_nothing(graph: Graph) -> None:
    cut = graph.segment("dataset-v1", "weight-v2", exclude="used")
    assert not len(cut)
    assert "cut every path" in cut.why
    assert len(cut.adjust()) > 0, "the induced segment is still there"


def test_matching_the_command_leaves_out_other_ways() -> None:
    steps = {"clean": ("raw1", "table1"), "wash": ("raw2", "table2"), "scrape": ("raw3", "table3")}
    vertices: list[Any] = [("join", "activity", {"command": "join"}), ("result", "entity")]
    edges: list[Any] = [("result", "wasGeneratedBy", "join")]
    for name, (raw, table) in steps.items():
        vertices += [
            (name, "activity", {"command": "clean" if name == "wash" else name}),
            (raw, "entity"),
            (table, "entity"),
        ]
        role = {"role": "left" if name == "clean" else "right"}
        edges += [(name, "used", raw), (table, "wasGeneratedBy", name), ("join", "used", table, role)]
    graph = Graph.build(vertices, edges)
    free = graph.segment("raw1", "result")
    assert {"raw2", "raw3"} <= set(free.vertices)
    assert free.by_rule["direct"] == ["clean", "table1", "join"]
    alike = graph.segment("raw1", "result", match="command")
    assert alike.by_rule["similar"] == ["raw2", "wash", "table2"]
    by_role = graph.segment("raw1", "result", match={"used": ["role"], "activity": "command"})
    assert by_role.by_rule["similar"] == []


def test_artifacts_stand_for_their_versions() -> None:
    vertices = [("m1", "entity", {"artifact": "model"}), ("m2", "entity", {"artifact": "model"}), ("fit", "activity"),
                ("model-line", "entity"), ("m3", "entity")]  # fmt: skip
    edges = [("fit", "used", "m1"), ("m2", "wasGeneratedBy", "fit"), ("m3", "wasDerivedFrom", "m2"),
             ("m3", "specializationOf", "model-line"), ("m1", "specializationOf", "model-line")]  # fmt: skip
    graph = Graph.build(vertices, edges)
    assert graph.versions("model") == ["m1", "m2"]
    assert graph.versions("model-line") == ["m1", "m3"]
    assert set(graph.segment("model", "m3").vertices) == {"m1", "m2", "m3", "fit"}


def test_ancestors_descendants_paths_and_blame(graph: Graph) -> None:
    assert graph.ancestors("model-v2") == ["model-v1", "update-v2"]
    assert set(graph.descendants("solver-v3")) == {"train-v3", "log-v3", "weight-v3"}
    assert graph.shortest_path("weight-v3", "solver-v1") == [
        ("weight-v3", "wasGeneratedBy", "train-v3"), ("train-v3", "used", "solver-v3"),
        ("solver-v3", "wasDerivedFrom", "solver-v1"),
    ]  # fmt: skip
    assert len(list(graph.paths("weight-v3", "solver-v1"))) == 2
    with pytest.raises(wh.errors.TooLarge, match="more than 1 paths"):
        list(graph.paths("weight-v3", "solver-v1", most=1))
    assert graph.blame("weight-v3") == {
        "Alice": ["dataset-v1", "model-v1", "solver-v1"], "Bob": ["update-v3", "train-v3"],
    }  # fmt: skip


def test_segments_are_compared(first: Segment, second: Segment) -> None:
    diff = first.diff(second)
    assert set(diff.only_second[0]) == {"train-v3", "log-v3", "solver-v3", "weight-v3", "Bob", "update-v3"}
    assert set(diff.common[0]) == {"dataset-v1", "model-v1", "solver-v1"}
    assert ("update-v2", "used", "model-v1") in diff.only_first[1]
    assert "only in the first: 6 vertices" in str(diff)
    assert first != second
    assert first == first.adjust(exclude=ASIDE, expand={"weight-v2": 2})
