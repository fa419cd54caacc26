"""PROV documents: what is written and read again is the same graph, in every format, whatever its names and values."""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import whence as wh
from whence.errors import BadGraph, BadType, StoreError
from whence.graph import Graph, GraphWarning
from whence.graph.model import CODES, KINDS, RELATIONS
from whence.graph.prov_records import Records
from whence.interop import openlineage, prov
from whence.interop.export import as_prov
from whence.store.prov.importing import add_graph
from whence.store.values import plain, several
from whence.testing.graphs import lifecycle

FORMATS = ["json", "provn", "xml", "rdf"]
_texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=12)
_names = _texts.map(str.strip).filter(bool) | st.sampled_from(
    ["ex:a", "prov:label", "log:x", "a b", "x.", "1_x20_", "C:\\d", "~"]
)
_values = (
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts
    | st.lists(st.integers() | _texts, max_size=3)
    | st.just({"$": "2026-01-02T03:04:05+00:00", "type": "xsd:dateTime"})
    | st.just({"$": "prov:Person", "type": "prov:QUALIFIED_NAME"})
    | st.just({"$": "hallo", "lang": "de"})
    | st.just(("a", "b"))
)  # fmt: skip
_properties = st.dictionaries(
    _names.filter(lambda name: not name.startswith(("prov:", "whence:"))), _values, max_size=3
)


@st.composite
def graphs(draw: st.DrawFn, bundles: bool = False) -> Graph:
    """Any relations between any vertices that they fit, without cycles; vertices may be described in bundles, too."""
    ids = draw(st.lists(_names.filter(lambda name: not name.startswith("prov:")), min_size=2, max_size=6, unique=True))
    places = ["", *draw(st.lists(_names, max_size=2, unique=True))] if bundles else [""]
    places = [each for each in places if each not in ids and not each.startswith("prov:")]
    kinds = {name: draw(st.sampled_from(KINDS)) for name in ids}
    records = Records()
    for name, kind in kinds.items():
        for place in draw(st.lists(st.sampled_from(places), min_size=1, unique=True)):
            records.add_vertex(name, kind, draw(_properties), place)
    for place in places[1:]:
        records.add_bundle(place)
    held = {name for own in records.attributes_of.values() for name in own}
    seen: set[tuple[str, ...]] = set()
    for number in range(draw(st.integers(0, 6))):
        relation = draw(st.sampled_from([each for each in RELATIONS if each.name != "mentionOf"]))
        older, younger = sorted(draw(st.lists(st.sampled_from(range(len(ids))), min_size=2, max_size=2, unique=True)))
        source, target = ids[younger], ids[older]
        place = draw(st.sampled_from([each for each in places if not each or each in held]))
        fits = relation.source in (None, kinds[source]) and relation.target in (None, kinds[target])
        if not fits or (place, relation.name, source, target) in seen:
            continue
        seen.add((place, relation.name, source, target))
        own: dict[str, Any] = {}
        if relation.name not in ("specializationOf", "alternateOf", "hadMember"):  # PROV gives these no attributes
            own = draw(_properties) | ({"prov:id": f"ex:r{number}"} if draw(st.booleans()) else {})
        records.add_edge("", relation.name, {relation.source_key: source, relation.target_key: target, **own}, place)
    for name in draw(st.lists(st.sampled_from(ids), max_size=2, unique=True)):
        relation = RELATIONS[CODES[{"entity": "wasGeneratedBy", "activity": "wasStartedBy"}.get(kinds[name], "used")]]
        if kinds[name] != "agent":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GraphWarning)
                half = {relation.source_key: name, "prov:time": "2026-01-01T00:00:30", **draw(_properties)}
                records.add_edge("", relation.name, half, draw(st.sampled_from(list(records.attributes_of[name]))))
    return Graph.build(records.vertices(), records.edges)


def parsed(text: str, format: str) -> Graph:
    """A document of which it is known that relations in it lack an end."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*names no", GraphWarning)
        return prov.parse(text, format).graph


def strip(vertex: str) -> str:
    """Without what a log adds to what a document says: kinds, times, and a command that is the name."""
    name, kind, own = json.loads(vertex)
    added = ("kind", "created", "prov:startTime", "prov:endTime", "name", "command")
    return json.dumps([name, kind, {key: value for key, value in own.items() if key not in added}], sort_keys=True)


def comparable(graph: Graph) -> tuple[list[str], list[str]]:
    """All of a graph, independent of the order of things."""
    vertices, edges = graph.records()
    return (
        sorted(json.dumps(each, sort_keys=True) for each in vertices),
        sorted(json.dumps(each, sort_keys=True) for each in edges),
    )


@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_turtle_loses_nothing(graph: Graph) -> None:
    assert comparable(parsed(prov.dump(graph, "rdf"), "rdf")) == comparable(graph)


@pytest.mark.parametrize("format", ["json", "provn", "xml", "trig"])
@settings(max_examples=60, deadline=None)
@given(graph=graphs(bundles=True))
def test_other_formats_lose_nothing_bundles_included(format: str, graph: Graph) -> None:
    assert comparable(parsed(prov.dump(graph, format), format)) == comparable(graph)


@settings(max_examples=60, deadline=None)
@given(graph=graphs(bundles=True))
def test_a_graph_reads_prov_json_as_the_library_does(graph: Graph) -> None:
    text = prov.dump(graph, "json")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*names no", GraphWarning)
        read = Graph.from_prov(json.loads(text))
        library = prov.parse_by_library(text, "json")
        ours = prov.parse(text, "json")
    assert comparable(read) == comparable(library.graph)
    assert comparable(ours.graph) == comparable(library.graph)
    assert ours.prefixes == library.prefixes


@settings(max_examples=25, deadline=None)
@given(graph=graphs(bundles=True))
def test_a_log_keeps_all_of_a_document(graph: Graph) -> None:
    assume(all(name.isprintable() for name in graph.vertices))  # a log takes no other names
    with tempfile.TemporaryDirectory() as place, wh.open(Path(place, "log")) as log:
        add_graph(log._store, graph)
        again = parsed(prov.dump(as_prov(log.graph), "json"), "json")
    vertices, edges = comparable(parsed(prov.dump(graph, "json"), "json"))
    assert [strip(each) for each in comparable(again)[0]] == [strip(each) for each in vertices]
    assert comparable(again)[1] == edges


@settings(max_examples=60, deadline=None)
@given(graph=graphs(bundles=True))
def test_events_of_openlineage_hold_all_that_runs_touched(graph: Graph) -> None:
    again = openlineage.graph_of(json.loads(json.dumps(openlineage.events(graph))))
    vertices, edges = graph.records()
    runs = [each for each in edges if each[1] in ("used", "wasGeneratedBy", "wasAssociatedWith")]
    touched = {end for each in runs for end in (each[0], each[2])} | set(graph.of_kind("activity"))
    touched |= {each[2] for each in edges if each[0] in touched and graph[each[2]].kind == "agent"}
    # What an agent is related to is not told: only runs and datasets have facets.
    kept = [each for each in edges if {each[0], each[2]} <= touched and graph[each[0]].kind != "agent"]
    plain_ = [(*each[:-1], plain(several(each[-1]), "")) for each in vertices if each[0] in touched]
    assert comparable(again) == comparable(
        Graph.build(plain_, [(*each[:-1], plain(several(each[-1]), "")) for each in kept])
    )


@pytest.mark.parametrize("ending", list(prov.FORMATS))
def test_files_know_their_format(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"lifecycle{ending}"
    prov.write(lifecycle(), path)
    assert comparable(prov.read(path).graph) == comparable(lifecycle())


def test_plain_prov_json_is_read_by_the_graph_itself(tmp_path: Path) -> None:
    prov.write(lifecycle(), tmp_path / "a.json")
    assert len(Graph.from_prov(tmp_path / "a.json")) == len(lifecycle())


FOREIGN = """document
  prefix ex <http://example.org/>
  entity(ex:raw, [prov:type='ex:Table', ex:rows=10])
  entity(ex:clean)
  activity(ex:wash, 2026-01-01T00:00:00, 2026-01-01T00:01:00)
  agent(ex:ada, [prov:type='prov:Person'])
  used(ex:u1; ex:wash, ex:raw, 2026-01-01T00:00:30, [prov:role="input"])
  wasGeneratedBy(ex:clean, ex:wash, -)
  wasAssociatedWith(ex:wash, ex:ada, ex:plan)
  wasDerivedFrom(ex:clean, ex:raw, ex:wash, -, ex:u1)
  specializationOf(ex:clean, ex:raw)
endDocument
"""


@pytest.mark.parametrize("format", FORMATS)
def test_what_others_wrote_keeps_namespaces_roles_times_and_ids(format: str) -> None:
    first = prov.parse(FOREIGN, "provn")
    assert first.prefixes == {"ex": "http://example.org/"}
    again = prov.parse(prov.dump(first.graph, format, first.prefixes), format)
    assert again.prefixes == first.prefixes
    assert comparable(again.graph) == comparable(first.graph)
    [used] = [edge for edge in again.graph.records()[1] if edge[1] == "used"]
    assert used[3] == {"prov:time": "2026-01-01T00:00:30", "prov:role": "input", "prov:id": "ex:u1"}
    assert again.graph["ex:wash"]["prov:startTime"] == "2026-01-01T00:00:00"


BUNDLED = """document
  prefix ex <http://example.org/>
  entity(ex:e, [ex:x=1])
  wasGeneratedBy(ex:e, -, 2026-01-01T00:00:30, [ex:y=2])
  bundle ex:b
    prefix ex <http://example.org/other/>
    entity(ex:e)
    activity(ex:a)
    used(ex:u; ex:a, ex:e, -, [prov:role="r"])
    wasStartedBy(ex:a, -, -, 2026-01-01T00:00:30)
  endBundle
endDocument
"""


@pytest.mark.parametrize("format", ["json", "provn", "xml", "trig"])
def test_half_relations_and_prefixes_of_bundles_are_kept(format: str) -> None:
    with pytest.warns(GraphWarning, match=r"names no prov:(activity|trigger): it becomes a property"):
        first = prov.parse(BUNDLED, "provn")
    assert first.prefixes == {"ex": "http://example.org/", "ex_2": "http://example.org/other/"}
    assert first.graph.edges == [("ex_2:a", "used", "ex_2:e")]
    with pytest.warns(GraphWarning, match="names no"):
        again = prov.parse(prov.dump(first.graph, format), format)
    assert comparable(again.graph) == comparable(first.graph)
    assert set(again.prefixes.values()) == set(first.prefixes.values())


@pytest.mark.parametrize(
    "relation", ["wasInfluencedBy", "wasAssociatedWith", "wasAttributedTo", "wasInformedBy", "used"]
)
def test_relations_of_one_source_with_and_without_attributes_are_distinguished(relation: str) -> None:
    known = RELATIONS[CODES[relation]]
    vertices = [("c", known.source or "entity"), ("x", known.target or "entity"), ("y", known.target or "entity")]
    edges = [("c", relation, "x", {"prov:id": "ex:r"}), ("c", relation, "x", {}), ("c", relation, "y", {})]
    graph = Graph.build(vertices, edges[:1] + edges[2:] if relation == "used" else edges)
    for format in (*FORMATS, "trig"):
        assert comparable(prov.parse(prov.dump(graph, format), format).graph) == comparable(graph)


def test_turtle_says_that_it_has_no_bundles() -> None:
    graph = Graph.build([("b", "entity"), ("e", "entity", {"whence:bundle": "b"})], [])
    with pytest.warns(GraphWarning, match=r"Turtle has no bundles, and what is in log:b is written without its bundle"):
        text = prov.dump(graph, "rdf")
    assert prov.parse(text, "rdf").graph.vertices == ["b", "e"]


def test_numbers_that_are_none_are_kept() -> None:
    graph = Graph.build([("a", "entity", {"x": math.inf, "y": -math.inf})], [])
    for format in FORMATS:
        assert prov.parse(prov.dump(graph, format), format).graph["a"].properties == {"x": math.inf, "y": -math.inf}


@pytest.mark.parametrize(
    ("format", "text"),
    [("json", "{"), ("json", '{"entity": 3}'), ("provn", "document\n  entity("), ("xml", "<a"), ("rdf", "@prefix")],
)
def test_what_is_no_document_is_refused(format: str, text: str) -> None:
    with pytest.raises(BadGraph, match=f"not (a PROV document in the format {format}|{format.upper()})"):
        prov.parse(text, format)


def test_bad_places_and_values_are_errors(tmp_path: Path) -> None:
    with pytest.raises(BadType, match=r"a PROV document must end in \.json"):
        prov.read(tmp_path / "a.csv")
    with pytest.raises(StoreError, match="cannot be read"):
        prov.read(tmp_path / "none.json")
    with pytest.raises(StoreError, match="cannot be written"):
        prov.write(lifecycle(), tmp_path / "none" / "a.json")
    with pytest.raises(BadGraph, match="cannot be written as xml"):
        prov.dump(Graph.build([("a", "entity", {"x": "\x00"})], []), "xml")
    with pytest.raises(BadGraph, match="is not PROV"):
        prov.dump(Graph.build([("a", "activity", {"prov:startTime": "soon"})], []), "json")
    with pytest.warns(GraphWarning, match="names no prov:activity"):
        assert prov.parse(
            "document\n entity(a)\n wasGeneratedBy(a, -, -)\nendDocument".replace("(a", "(prov:a"), "provn"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prov.dump(lifecycle(), "rdf")


def test_an_unknown_encoding_is_an_error_that_names_the_file() -> None:
    with pytest.raises(BadGraph, match="is not XML: unknown encoding"):
        prov.parse('<?xml version="1.0" encoding="SCII"?><a/>', "xml")
