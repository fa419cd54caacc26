"""The log as a project graph: what was recorded is there, and can be segmented and summarized."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import whence as wh
from whence.graph import GraphWarning

ASIDE = 'a"side, \u00e9'  # names may need quoting


@pytest.fixture(params=["sqlite", "postgresql"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[wh.Log]:
    if request.param == "sqlite":
        opened = wh.open(tmp_path / "log")
    else:
        opened = wh.open(request.getfixturevalue("postgresql_url"), blobs=str(tmp_path / "blobs"))
    with opened as log:
        for name in ("raw", "clean", "scaled", "result", ASIDE):
            log.array(name, shape=(3,))
        log.register_operation("wash", ["raw"], ["clean"], capture=["identity"])
        log.register_operation("scale", ["clean", "clean"], ["scaled"], op_args={"by": 2})
        log.lineage("result", "scaled", "whole")
        yield log


def test_datasets_operations_and_people_are_its_vertices(log: wh.Log) -> None:
    graph = log.graph
    assert graph.of_kind("entity") == ["raw", "clean", "scaled", "result", ASIDE]
    assert [graph[name]["command"] for name in graph.of_kind("activity")] == ["wash", "scale"]
    assert len(graph.of_kind("agent")) == 1
    scale = next(name for name in graph.of_kind("activity") if name.startswith("scale#"))
    assert graph[scale]["by"] == 2
    assert graph.ancestors("clean") == ["raw", next(n for n in graph.vertices if n.startswith("wash#"))]
    assert ("result", "wasDerivedFrom", "scaled") in graph.edges
    assert len(graph.edges) == len(set(graph.edges))


def test_it_is_segmented_and_summarized(log: wh.Log) -> None:
    segment = log.graph.segment("raw", "result")
    assert {"raw", "clean", "scaled", "result"} <= set(segment.vertices)
    assert ASIDE not in segment
    assert list(log.graph.blame("scaled")) == log.graph.of_kind("agent")
    assert len(wh.summarize([segment], keep={"activity": ["command"]})) <= len(segment)


def test_it_follows_what_is_recorded_and_is_not_read_again_otherwise(log: wh.Log) -> None:
    before = log.graph
    assert log.graph is before
    log.lineage(ASIDE, "result", "whole")
    assert ASIDE in log.graph.descendants("raw")
    assert ASIDE not in before.descendants("raw"), "a graph never changes"
    log.delete(ASIDE)
    assert ASIDE not in log.graph


def test_names_that_two_kinds_share_are_distinguished(log: wh.Log) -> None:
    agent = log.graph.of_kind("agent")[0]
    log.array(agent, shape=(1,))
    assert log.graph[agent].kind == "entity"
    assert log.graph.of_kind("agent") == [f"agent:{agent}"]


def test_what_is_overwritten_in_place_is_a_cycle_and_said_to_be(log: wh.Log) -> None:
    log.register_operation("sort", ["raw"], ["raw"], capture=["whole"])
    with pytest.warns(GraphWarning) as told:
        graph = log.graph
    texts = [str(each.message) for each in told]
    assert any("derived from themselves" in text for text in texts)
    assert any("a cycle: " in text and "raw" in text for text in texts)
    assert "raw" in graph.segment("raw", "result")


def test_an_empty_log_has_an_empty_graph(tmp_path: Path) -> None:
    with wh.open(tmp_path / "empty") as log:
        assert repr(log.graph) == "Graph(0 entities, 0 activities, 0 agents, 0 edges)"
