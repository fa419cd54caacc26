"""PROV documents: what is written and read again is the same graph, in every format, whatever its names and values."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.errors import BadGraph, BadType, StoreError
from whence.graph import Graph, GraphWarning
from whence.graph.model import KINDS, RELATIONS
from whence.interop import prov
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
_properties = st.dictionaries(_names.filter(lambda name: not name.startswith("prov:")), _values, max_size=3)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any relations between any vertices that they fit, without cycles and without one edge twice."""
    ids = draw(st.lists(_names.filter(lambda name: not name.startswith("prov:")), min_size=2, max_size=6, unique=True))
    kinds = {name: draw(st.sampled_from(KINDS)) for name in ids}
    edges: dict[tuple[str, str, str], dict[str, Any]] = {}
    for _ in range(draw(st.integers(0, 6))):
        relation = draw(st.sampled_from([each for each in RELATIONS if each.name != "mentionOf"]))
        older, younger = sorted(draw(st.lists(st.sampled_from(range(len(ids))), min_size=2, max_size=2, unique=True)))
        source, target = ids[younger], ids[older]
        fits = relation.source in (None, kinds[source]) and relation.target in (None, kinds[target])
        if fits and relation.name not in ("specializationOf", "alternateOf", "hadMember"):
            edges[source, relation.name, target] = draw(_properties)
        elif fits:
            edges[source, relation.name, target] = {}  # PROV gives these no attributes
    vertices = [(name, kind, draw(_properties)) for name, kind in kinds.items()]
    return Graph.build(vertices, [(*edge, own) for edge, own in edges.items()])


def comparable(graph: Graph) -> tuple[list[str], list[str]]:
    """All of a graph, independent of the order of things."""
    vertices, edges = graph.records()
    return (
        sorted(json.dumps(each, sort_keys=True) for each in vertices),
        sorted(json.dumps(each, sort_keys=True) for each in edges),
    )


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_a_round_trip_loses_nothing(format: str, graph: Graph) -> None:
    again = prov.parse(prov.dump(graph, format), format).graph
    assert comparable(again) == comparable(graph)


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


def test_numbers_that_are_none_are_kept() -> None:
    graph = Graph.build([("a", "entity", {"x": math.inf, "y": -math.inf})], [])
    for format in FORMATS:
        assert prov.parse(prov.dump(graph, format), format).graph["a"].properties == {"x": math.inf, "y": -math.inf}


@pytest.mark.parametrize(
    ("format", "text"),
    [("json", "{"), ("json", '{"entity": 3}'), ("provn", "document\n  entity("), ("xml", "<a"), ("rdf", "@prefix")],
)
def test_what_is_no_document_is_refused(format: str, text: str) -> None:
    with pytest.raises(BadGraph, match=f"no PROV document in the format {format}"):
        prov.parse(text, format)


def test_bad_places_and_values_are_errors(tmp_path: Path) -> None:
    with pytest.raises(BadType, match=r"PROV documents end in \.json"):
        prov.read(tmp_path / "a.csv")
    with pytest.raises(StoreError, match="cannot be read"):
        prov.read(tmp_path / "none.json")
    with pytest.raises(StoreError, match="cannot be written"):
        prov.write(lifecycle(), tmp_path / "none" / "a.json")
    with pytest.raises(BadGraph, match="cannot be written as xml"):
        prov.dump(Graph.build([("a", "entity", {"x": "\x00"})], []), "xml")
    with pytest.raises(BadGraph, match="no PROV"):
        prov.dump(Graph.build([("a", "activity", {"prov:startTime": "soon"})], []), "json")
    with pytest.warns(GraphWarning, match="names no prov:activity"):
        assert prov.parse(
            "document\n entity(a)\n wasGeneratedBy(a, -, -)\nendDocument".replace("(a", "(prov:a"), "provn"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prov.dump(lifecycle(), "rdf")
