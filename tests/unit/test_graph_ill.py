"""Graphs that are none: each is refused with the record named, or taken with a warning where PROV allows it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.errors import BadGraph, BadType, StoreError, TooLarge, UnknownName
from whence.graph import Graph, GraphWarning, beyond, summarize, what, when, where, who
from whence.graph.boundary import times_of
from whence.testing.graphs import lifecycle, pd

VERTICES: list[Any] = [("e", "entity"), ("f", "entity"), ("a", "activity"), ("u", "agent")]
GOOD: dict[str, Any] = {
    "prefix": {"ex": "http://example.org/"},
    "entity": {"ex:e": {"ex:size": {"$": "3", "type": "xsd:int"}}, "ex:f": {}},
    "activity": {"ex:a": {"prov:startTime": "2026-01-01T00:00:00Z"}},
    "agent": {"ex:u": {"prov:type": {"$": "prov:Person", "type": "xsd:QName"}}},
    "used": {"_:1": {"prov:activity": "ex:a", "prov:entity": "ex:e", "prov:role": "input"}},
    "wasGeneratedBy": {"_:2": {"prov:entity": "ex:f", "prov:activity": "ex:a"}},
    "wasAssociatedWith": {"_:3": {"prov:activity": "ex:a", "prov:agent": "ex:u"}},
    "wasInformedBy": {},
}


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "used", "nothing")], "'a' used 'nothing': there is no vertex 'nothing'"),
        ([("e", "used", "f")], "'e' used 'f': 'e' is an entity, and an activity belongs there"),
        ([("e", "wasGeneratedBy", "u")], "'u' is an agent, and an activity belongs there"),
        ([("e", "ate", "f")], "no such relation"),
        ([("e", "wasDerivedFrom", "e")], "'e' wasDerivedFrom 'e': nothing can have this relation to itself"),
        ([("e", "wasDerivedFrom", "f"), ("f", "wasDerivedFrom", "e")], "'e' -> 'f' -> 'e'"),
    ],
)
def test_edges_that_no_provenance_has_are_refused(edges: list[Any], message: str) -> None:
    with pytest.raises(BadGraph) as refused:
        Graph.build(VERTICES, edges)
    assert message in str(refused.value)


def test_ids_and_kinds_are_checked() -> None:
    with pytest.raises(BadGraph, match="the id 'e' occurs twice"):
        Graph.build([*VERTICES, ("e", "entity")], [])
    with pytest.raises(BadGraph, match="'x' has the kind 'thing'"):
        Graph.build([("x", "thing")], [])
    with pytest.raises(BadGraph, match="'1' has a kind that PROV does not have"):
        Graph.from_arrays(np.array([0, 7], np.uint8), {})
    ends = np.array([0], np.int32)
    with pytest.raises(BadGraph, match="vertex number 5"):
        Graph.from_arrays(np.array([0, 1], np.uint8), {"wasGeneratedBy": (ends, ends + 5)})
    with pytest.raises(BadGraph, match="not a relation of PROV"):
        Graph.from_arrays(np.array([0, 1], np.uint8), {"made": (ends, ends)})
    with pytest.raises(BadType, match="1 ids for 2 vertices"):
        Graph.from_arrays(np.array([0, 1], np.uint8), {}, ids=["x"])
    with pytest.raises(BadType, match="'size' has 1 values for 2 rows"):
        Graph.from_arrays(np.array([0, 1], np.uint8), {}, properties={"size": [1]})


def test_a_cycle_through_an_activity_is_taken_with_a_warning() -> None:
    edges = [("a", "used", "e"), ("e", "wasGeneratedBy", "a"), ("f", "wasGeneratedBy", "a")]
    with pytest.warns(GraphWarning, match="a cycle: 'e' -> 'a' -> 'e'"):
        graph = Graph.build(VERTICES, edges)
    assert set(graph.segment("e", "f").vertices) == {"a", "e", "f"}
    with pytest.raises(BadGraph, match="cannot be summarized: 'e' -> 'a' -> 'e'"):
        summarize([graph.segment("e", "f")])
    assert graph.segment("e", "f", match="command") == graph.segment("e", "f")


def test_similar_paths_with_a_cycle_end_soon_or_say_what_is_cyclic(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = pd(400, seed=1)
    used, made = arrays.edges["used"], arrays.edges["wasGeneratedBy"]
    activity, entity = (int(each[len(each) // 2]) for each in used)
    rewritten = (np.append(made[0], np.int32(entity)), np.append(made[1], np.int32(activity)))
    with pytest.warns(GraphWarning, match="is refused for large ones"):
        graph = Graph.from_arrays(arrays.kinds, {**arrays.edges, "wasGeneratedBy": rewritten})
    first, early, last = (str(arrays.entities[each]) for each in (1, 10, -1))
    whole = Graph.from_arrays(arrays.kinds, arrays.edges)
    monkeypatch.setattr("whence.graph.similar.PAIR_BYTES", 1000)
    assert (
        graph.segment(str(arrays.entities[0]), early).vertices == whole.segment(str(arrays.entities[0]), early).vertices
    )
    assert set(graph.segment(None, last)) >= set(whole.segment(None, last))
    with pytest.raises(TooLarge, match=f"with a cycle take too long: '{entity}' -> '{activity}' -> "):
        graph.segment(first, last)


SUMMARIZED = [("a", "used", "e"), ("f", "wasGeneratedBy", "a"), ("a", "wasAssociatedWith", "u")]


def test_what_an_activity_used_up_is_summarized() -> None:
    segment = Graph.build(VERTICES, [*SUMMARIZED, ("e", "wasInvalidatedBy", "a")]).segment("e", "f")
    summary = summarize([segment])
    found = {(edge.source.label, edge.relation, edge.target.label) for edge in summary.edges}
    assert ("entity", "wasInvalidatedBy", "activity") in found
    assert len(summary.edges) == 4
    assert segment._repr_svg_()


@pytest.mark.parametrize(
    "edge", [("e", "alternateOf", "f"), ("e", "wasInfluencedBy", "a"), ("a", "wasInformedBy", "a")]
)
def test_other_relations_that_lead_round_are_left_out_of_summaries(edge: tuple[str, str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)  # of an edge from a vertex to itself
        graph = Graph.build(VERTICES, [*SUMMARIZED, edge, ("f", "alternateOf", "e")])
    segment = graph.segment("e", "f")
    with pytest.warns(GraphWarning, match=rf"edge\(s\) that form a cycle \(.*{edge[1]}.*\) are left out"):
        summary = summarize([segment])
    assert {each.relation for each in summary.edges} >= {"used", "wasGeneratedBy", "wasAssociatedWith"}
    assert edge[1] not in {each.relation for each in summary.edges} or edge[1] == "alternateOf"
    assert segment._repr_svg_()


def test_loops_that_prov_allows_are_taken_with_a_warning() -> None:
    with pytest.warns(GraphWarning, match="'e' alternateOf 'e'"):
        assert len(Graph.build(VERTICES, [("e", "alternateOf", "e")]).edges) == 1


def test_prov_json_is_read_from_a_dict_and_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prov.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    for graph in (Graph.from_prov(GOOD), Graph.from_prov(path), Graph.from_prov(str(path))):
        assert repr(graph) == "Graph(2 entities, 1 activity, 1 agent, 3 edges)"
        assert graph["ex:e"]["ex:size"] == 3
        assert graph.properties.get(graph.ids.number("ex:e"), "size") == 3
        assert graph.edge_at(0).properties == {"prov:role": "input"}
        assert set(graph.segment("ex:e", "ex:f").vertices) == {"ex:e", "ex:f", "ex:a", "ex:u"}
        assert list(graph.vertices) == ["ex:e", "ex:f", "ex:a", "ex:u"]


def test_records_of_one_id_are_one_and_bundles_are_part_of_the_graph() -> None:
    inner = {"entity": {"ex:g": [{"ex:x": 1}, {"ex:y": 2}], "ex:e": {"ex:size": 4}},
             "specializationOf": {"_:1": {"prov:specificEntity": "ex:e", "prov:generalEntity": "ex:g"}}}  # fmt: skip
    graph = Graph.from_prov({**GOOD, "bundle": {"ex:b": inner}})
    assert graph["ex:g"].properties == {"ex:x": 1, "ex:y": 2, "whence:bundle": "ex:b"}
    assert graph["ex:e"].properties == {
        "ex:size": (3, 4), "whence:bundle": {"": {"ex:size": 3}, "ex:b": {"ex:size": 4}},
    }  # fmt: skip
    assert graph["ex:b"].kind == "entity"
    assert graph.records()[1][-1] == ("ex:e", "specializationOf", "ex:g", {"whence:bundle": "ex:b"})
    with pytest.raises(BadGraph, match="'ex:a' is an activity and a bundle"):
        Graph.from_prov({**GOOD, "bundle": {"ex:a": {}}})


def test_typed_and_several_values_are_compared_by_what_they_say() -> None:
    graph = Graph.from_prov({
        **GOOD, "entity": {
            "ex:e": {"ex:tag": ["a", {"$": "b", "lang": "en"}],
                     "ex:created": {"$": "2026-01-01", "type": "xsd:dateTime"}},
            "ex:f": {"prov:type": {"$": "ex:Model", "type": "xsd:QName"}},
        },
    })  # fmt: skip
    segment = graph.segment("ex:e", "ex:f", exclude=what("agent", type="prov:Person"))
    assert "ex:u" not in segment
    chosen = [what(tag="b"), what(type="ex:Model"), when(before="2026-01-02"), what(tag="c")]
    numbers = graph.numbers(["ex:e", "ex:f"])
    assert [each.vertices(segment, numbers)[0].tolist() for each in chosen] == [
        [True, False], [False, True], [True, True], [False, False],
    ]  # fmt: skip
    assert {v.label for v in summarize([segment], keep={"entity": ["type", "tag"]}).vertices} >= {"ex:Model", "b, a"}


def test_relations_keep_their_ids_and_what_they_say() -> None:
    time = "2026-01-01T00:00:00"
    members = {"prov:collection": "ex:e", "prov:entity": ["ex:f", "ex:g"]}
    with pytest.warns(GraphWarning, match="assumes an entity"):
        graph = Graph.from_prov({
            **GOOD, "used": {"ex:u1": {"prov:activity": "ex:a", "prov:entity": "ex:e", "prov:time": time}},
            "hadMember": {"_:9": members},
        })  # fmt: skip
    edges = graph.records()[1]
    assert edges[0] == ("ex:a", "used", "ex:e", {"prov:time": time, "prov:id": "ex:u1"})
    assert [edge[:3] for edge in edges[-2:]] == [("ex:e", "hadMember", "ex:f"), ("ex:e", "hadMember", "ex:g")]
    assert graph.prefixes == {"ex": "http://example.org/"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"agent": {"ex:a": {}}}, "'ex:a' is both an activity and an agent"),
        ({"entity": {"ex:e": [{"ex:x": 1}, {"ex:x": 2}]}}, "occurs twice, with different values of 'ex:x'"),
        ({"used": {"_:9": {"prov:activity": "ex:e", "prov:entity": "ex:e"}}}, "used '_:9': 'ex:e' is an entity"),
        ({"used": {"_:9": {"prov:activity": ["ex:a"] * 2, "prov:entity": "ex:e"}}}, "prov:activity is not an id"),
        ({"wasInfluencedBy": {"_:9": {"prov:influencee": "ex:e", "prov:influencer": "?"}}}, "its kind is unknown"),
        ({"usedd": {}}, "'usedd' is not a kind of record"),
        ({"entity": {"ex:e": {"whence:open": 3}}}, "entity 'ex:e' has the property 'whence:open'"),
        ({"used": []}, "'used' must be an object"),
        ({"entity": {"ex:e": 3}}, "entity 'ex:e' must be an object with attributes"),
        ({"entity": {"ex:e": {"ex:n": {"$": "many", "type": "xsd:int"}}}}, "'many' is not a xsd:int"),
    ],
)
def test_ill_records_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadGraph) as refused:
        Graph.from_prov({**GOOD, **change})
    assert message in str(refused.value)


def test_what_prov_allows_is_taken_with_a_warning() -> None:
    dangling = {**GOOD, "used": {"_:1": {"prov:activity": "ex:a", "prov:entity": "ex:elsewhere"}}}
    with pytest.warns(GraphWarning, match="used '_:1' refers to 'ex:elsewhere'"):
        assert Graph.from_prov(dangling)["ex:elsewhere"].kind == "entity"
    half = {**GOOD, "used": {"_:1": {"prov:activity": "ex:a"}}}
    with pytest.warns(GraphWarning, match="used '_:1' names no prov:entity"):
        assert len(Graph.from_prov(half).edges) == 2
    both = {**GOOD, "agent": {"ex:u": {}, "ex:e": {}}}
    with pytest.warns(GraphWarning, match="both an entity and an agent"):
        assert Graph.from_prov(both)["ex:e"].kind == "entity"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere\.json"):
        Graph.from_prov(tmp_path / "nowhere.json")
    for text, message in (
        ("{", "is not JSON"),
        ("[]", "not PROV-JSON"),
        ('{"entity": {"e": {}, "e": {}}}', "'e' occurs twice"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(BadGraph, match=message):
            Graph.from_prov(tmp_path / "bad.json")


def test_questions_that_cannot_be_asked_say_why() -> None:
    graph = lifecycle()
    with pytest.raises(UnknownName, match="did you mean 'dataset-v1'"):
        graph.segment("datset-v1", "log-v1")
    with pytest.raises(BadType, match="'train-v1' is an activity, and an entity belongs there"):
        graph.segment("dataset-v1", "train-v1")
    with pytest.raises(BadType, match="src must name an entity"):
        graph.segment([], "log-v1")
    with pytest.raises(BadType, match="which are strings; got 3"):
        graph.segment(3, "log-v1")  # type: ignore[arg-type] # refused on purpose
    segment = graph.segment("dataset-v1", "log-v1")
    with pytest.raises(UnknownName, match=r"relation of PROV 'c' \(used, .*exclude=where\('c'\) leaves out"):
        graph.segment("dataset-v1", "weight-v2", exclude=["c"])
    with pytest.raises(UnknownName, match="relation of PROV 'usd'; did you mean 'used'"):
        segment.adjust(exclude="usd")
    with pytest.raises(UnknownName, match="agent 'Bop'"):
        segment.adjust(exclude=who("Bop"))
    for wrong in (3, {"x": -1}, "far", True):
        with pytest.raises((BadType, UnknownName)):
            segment.adjust(exclude=wrong if wrong == 3 else None, expand=None if wrong == 3 else wrong)
    for match in (3, {"agent": ["name"]}, [1]):
        with pytest.raises(BadType):
            graph.segment("dataset-v1", "log-v1", match=match)
    for make in (who, where, when, lambda: what("thing"), lambda: beyond(-1), lambda: when(after="soon")):
        with pytest.raises(BadType):
            make()
    for keep, k in (({"thing": []}, 0), ({"entity": [1]}, 0), (3, 0), ({}, -1), ({}, True)):
        with pytest.raises(BadType):
            summarize([segment], keep=keep, k=k)
    with pytest.raises(BadType, match="summarize takes segments"):
        summarize([graph])  # type: ignore[list-item] # refused on purpose


def test_the_slow_methods_refuse_what_would_not_fit() -> None:
    graph = pd(2000).graph()
    ends, marks = graph.numbers("20"), np.zeros(len(graph), np.uint8)
    with pytest.raises(TooLarge, match="CflrB needs more than 0 MB"):
        graph.ancestry.mark_by_cflrb(ends, ends, 1000, marks)
    with pytest.raises(TooLarge, match="SimProvAlg needs more than 0 MB"):
        graph.ancestry.mark_by_pairs(ends, ends, True, 1000, marks)


def test_numbers_out_of_range_do_not_reach_the_kernels() -> None:
    ancestry = pd(50).graph().ancestry
    for starts in (np.array([-1], np.int32), np.array([10_000], np.int32)):
        with pytest.raises(ValueError, match="out of range"):
            ancestry.reach(starts, True)
    with pytest.raises(ValueError, match="one mark for each vertex"):
        ancestry.mark_similar(np.array([9], np.int32), np.array([9], np.int32), 1, np.zeros(1, np.uint8))


def test_times_come_from_the_vertex_its_generation_or_its_maker() -> None:
    graph = Graph.build(
        [
            ("a", "activity", {"started": 0, "ended": "1970-01-01T00:00:10+00:00"}),
            ("e", "entity"),
            ("f", "entity"),
            ("g", "entity"),
        ],
        [("e", "wasGeneratedBy", "a"), ("f", "wasGeneratedBy", "a", {"prov:time": "1970-01-01T00:00:05"})],
    )
    segment = graph.induced(graph.vertices)
    first, last = times_of(segment, segment.numbers)
    assert [None if each is None else each.timestamp() for each in first] == [0, 10, 5, None]
    assert [None if each is None else each.timestamp() for each in last] == [10, 10, 5, None]
