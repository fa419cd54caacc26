"""Files from strangers: any value at any place is taken, or refused by an error of whence that names the file."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whence as wh
from whence.errors import WhenceError
from whence.graph import Graph, GraphWarning
from whence.interop import openlineage, prov

numbers = st.one_of(
    st.integers(), st.just(10**400), st.floats(allow_nan=False, allow_infinity=False), st.just(-(2**63))
)
texts = st.one_of(
    st.text(max_size=5), st.sampled_from(["", " ", "\ud800", "\0", "a\nb", "@v1", "x" * 3000, "prov:id", "_:b", ":"])
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=4,
)
CALM = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))

FACET = {"_producer": "https://example.org", "_schemaURL": "https://example.org"}
NAMED = {"run": {"runId": "p"}, "job": {"namespace": "n", "name": "parent"}}
EVENTS = [
    {
        "eventType": "START", "eventTime": "2026-01-01T00:00:00Z", "producer": "p", "schemaURL": "s",
        "run": {"runId": "r", "facets": {"parent": {**FACET, **NAMED, "root": NAMED}}},
        "job": {"namespace": "n", "name": "j", "facets": {"ownership": {**FACET, "owners": [{"name": "ada"}]}}},
        "inputs": [{"namespace": "db", "name": "t", "facets": {"version": {**FACET, "datasetVersion": "3"}}}],
        "outputs": [{"namespace": "db", "name": "u", "facets": {"columnLineage": {**FACET, "fields": {}}},
                     "outputFacets": {"outputStatistics": {**FACET, "rowCount": 3}}}],
    },
    {
        "eventType": "FAIL", "eventTime": "2026-01-01T00:00:01Z", "run": {"runId": "q"},
        "job": {"namespace": "n", "name": "j"}, "outputs": [{"namespace": "db", "name": "u"}],
    },
]  # fmt: skip


def own_events() -> list[Any]:
    """What whence writes itself, with facets that only it reads."""
    vertices = [
        ("a", "activity", {"started": "2026-01-01T00:00:00Z", "n": 3}), ("b", "activity", {}), ("p", "agent", {}),
        ("e", "entity", {"artifact": "e", "version": 1, "sha256": "0"}), ("o", "entity", {}),
    ]  # fmt: skip
    edges = [
        ("a", "used", "e", {"prov:role": "in"}), ("o", "wasGeneratedBy", "a", {}), ("a", "wasAssociatedWith", "p", {}),
        ("a", "wasInformedBy", "b", {}), ("o", "wasAttributedTo", "p", {}), ("o", "wasDerivedFrom", "e", {}),
    ]  # fmt: skip
    found: list[Any] = json.loads(json.dumps(openlineage.events(Graph.build(vertices, edges))))
    return found


DOCUMENT = {
    "prefix": {"ex": "http://example.org/", "default": "http://other.org/"},
    "entity": {"ex:e": {"prov:type": {"$": "ex:T", "type": "prov:QUALIFIED_NAME"},
                        "ex:n": [1, {"$": "2", "type": "xsd:int"}]},
               "plain": {"ex:t": {"$": "hallo", "lang": "de"}}},
    "activity": {"ex:a": {"prov:startTime": "2026-01-01T00:00:00", "prov:endTime": "2026-01-01T00:00:01+02:00"}},
    "agent": {"ex:p": {}},
    "used": {"_:u": {"prov:activity": "ex:a", "prov:entity": "ex:e", "prov:time": "2026-01-01T00:00:00"}},
    "wasGeneratedBy": {"ex:g": {"prov:entity": "plain", "prov:activity": "ex:a"}},
    "wasAssociatedWith": {"_:w": {"prov:activity": "ex:a", "prov:agent": "ex:p", "prov:plan": "ex:e"}},
    "bundle": {"ex:b": {"entity": {"ex:inner": {}}}},
}  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from places(each, (*path, number))


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    found = copy.deepcopy(document)
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return found


def taken(place: Path, name: str, text: str) -> bool:
    """Whether a file is imported; otherwise an error says which file, and the log holds nothing."""
    (place / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        with wh.open(place / "log") as log:
            refused = None
            try:
                log.import_(str(place / name))
            except WhenceError as error:
                refused = "\n".join([str(error), *getattr(error, "__notes__", [])])
            if refused is not None:
                assert name in refused
                assert len(log.graph) == 0
                return False
            graph = log.graph
            assert len(graph) == len(graph.records()[0])
            for format in ("json", "provn"):
                try:
                    prov.dump(graph, format)
                except WhenceError:  # a name that the format cannot write
                    continue
            openlineage.events(graph)
    return True


@pytest.mark.parametrize("kind", ["foreign", "own"])
def test_any_value_at_any_place_of_an_event(tmp_path_factory: pytest.TempPathFactory, kind: str) -> None:
    events = EVENTS if kind == "foreign" else own_events()

    @CALM
    @given(st.sampled_from(list(places(events))), values, st.sampled_from(["e.json", "e.jsonl"]))
    def check(path: tuple[Any, ...], value: Any, name: str) -> None:
        found = replaced(events, path, value)
        lines = found if isinstance(found, list) and name.endswith("l") else [found]
        text = "\n".join(json.dumps(each) for each in lines) if name.endswith("l") else json.dumps(found)
        taken(tmp_path_factory.mktemp("fuzz"), name, text)

    assert taken(tmp_path_factory.mktemp("fuzz"), "e.json", json.dumps(events))
    check()


def test_any_value_at_any_place_of_prov_json(tmp_path_factory: pytest.TempPathFactory) -> None:
    @CALM
    @given(st.sampled_from(list(places(DOCUMENT))), values)
    def check(path: tuple[Any, ...], value: Any) -> None:
        found = replaced(DOCUMENT, path, value)
        taken(tmp_path_factory.mktemp("fuzz"), "d.provjson", json.dumps(found))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphWarning)
            try:
                Graph.from_prov(found) if isinstance(found, dict) else None
            except WhenceError:
                return

    assert taken(tmp_path_factory.mktemp("fuzz"), "d.provjson", json.dumps(DOCUMENT))
    check()


@pytest.mark.parametrize("ending", [".provn", ".xml", ".ttl", ".trig", ".json"])
def test_text_that_was_changed_anywhere(tmp_path_factory: pytest.TempPathFactory, ending: str) -> None:
    format = prov.FORMATS[ending]
    document = {name: each for name, each in DOCUMENT.items() if name != "bundle" or ending != ".ttl"}
    whole = prov.dump(prov.parse(json.dumps(document), "json").graph, format)

    @settings(CALM, max_examples=40)
    @given(
        st.integers(0, len(whole)), st.integers(0, 8), st.one_of(texts, st.sampled_from(list("<>&;:()[]{}%\"'\\,=")))
    )
    def check(start: int, length: int, inserted: str) -> None:
        taken(tmp_path_factory.mktemp("fuzz"), f"d{ending}", whole[:start] + inserted + whole[start + length :])

    assert taken(tmp_path_factory.mktemp("fuzz"), f"d{ending}", whole)
    check()


@pytest.mark.parametrize("name", ["e.json", "e.jsonl", "e.provjson"])
@pytest.mark.parametrize(
    "text",
    ['{"a":' * 100_000, "[" * 100_000, '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": ' + "9" * 5000 + "}",
     "{", "[[1]]", "null", '{"a": 1, "a": 2}', '{"run": ' + '{"x":' * 150 + "1" + "}" * 151, "\ufeff{}"],
)  # fmt: skip
def test_json_that_is_none_or_too_much(tmp_path: Path, name: str, text: str) -> None:
    assert not taken(tmp_path, name, text)


ENTITIES = """<?xml version="1.0"?>
<!DOCTYPE d [{0}]>
<prov:document xmlns:prov="http://www.w3.org/ns/prov#" xmlns:ex="http://example.org/">
  <prov:entity prov:id="ex:e"><prov:label>&x;</prov:label></prov:entity>
</prov:document>
"""


@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY x SYSTEM "secret.txt">', '<!ENTITY x "short">', '<!ENTITY % p SYSTEM "secret.txt"> %p; <!ENTITY x "y">',
     '<!ENTITY a "lol"><!ENTITY b "' + "&a;" * 10 + '"><!ENTITY x "' + "&b;" * 10 + '">'],
)  # fmt: skip
def test_entities_of_xml_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("secret.txt").write_text("secret")
    Path("d.xml").write_text(ENTITIES.format(declared))
    with wh.open("log") as log, pytest.raises(WhenceError, match="document type declaration"):
        log.import_("d.xml")
