"""Importing into a log and exporting from it: nothing lost, nothing twice, nothing half done."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from prov.model import ProvDocument
from tests.commands import run

import whence as wh
from whence.errors import BadGraph, BadType, Redefined, StoreError
from whence.graph import Graph, GraphWarning
from whence.interop import openlineage, prov
from whence.interop.export import as_prov
from whence.store.prov.importing import add_graph
from whence.testing.graphs import lifecycle
from whence.testing.graphs.strategies import Drawn, provenance

DOCUMENT = """document
  prefix ex <http://example.org/>
  entity(ex:raw, [prov:type='ex:Table', ex:rows=10, ex:tag="a", ex:tag="b"])
  entity(ex:clean)
  entity(ex:plan)
  activity(ex:wash, 2026-01-01T00:00:00, 2026-01-01T00:01:00)
  agent(ex:ada, [prov:type='prov:Person'])
  used(ex:u1; ex:wash, ex:raw, 2026-01-01T00:00:30, [prov:role="input"])
  wasGeneratedBy(ex:clean, ex:wash, -)
  wasAssociatedWith(ex:wash, ex:ada, ex:plan)
  wasInvalidatedBy(ex:raw, ex:wash, -)
  specializationOf(ex:clean, ex:raw)
endDocument
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    (tmp_path / "a.provn").write_text(DOCUMENT)
    wh.open(tmp_path / "project.whence").close()
    return tmp_path


def comparable(graph: Graph, drop: tuple[str, ...] = ()) -> tuple[list[Any], list[Any]]:
    vertices, edges = graph.records()
    kept = [(name, kind, {k: v for k, v in own.items() if k not in drop}) for name, kind, own in vertices]
    return (
        sorted(json.dumps(each, sort_keys=True) for each in kept),
        sorted(json.dumps(each, sort_keys=True) for each in edges),
    )


@pytest.mark.parametrize("ending", [".json", ".provn", ".xml", ".ttl"])
def test_what_is_imported_can_be_exported_and_imported_elsewhere(project: Path, ending: str) -> None:
    assert run("import", "a.provn").output == "imported 3 entities, 1 activity, 1 agent, 5 relations\n"
    assert run("export", f"b{ending}").exit_code == 0
    assert run("import", f"b{ending}", "--log", "other.whence").exit_code == 0
    with wh.open("project.whence") as one, wh.open("other.whence") as other:
        assert comparable(one.graph) == comparable(other.graph)
        assert one.graph["ex:wash"]["started"] == "2026-01-01T00:00:00.000000Z"
        assert one.graph["ex:raw"]["ex:rows"] == 10
        assert ("ex:raw", "wasInvalidatedBy", "ex:wash") in one.graph.edges
        [edge] = [one.graph.edge_at(row) for row in range(5) if one.graph.edge_at(row).relation == "used"]
        assert edge.properties["prov:role"] == "input"
        assert [each.inputs for each in one.operations()] == [("ex:raw",)]
        assert one.check().ok
    text = (project / f"b{ending}").read_text()
    assert "http://example.org/" in text


TIMES = """document
  prefix ex <http://example.org/>
  entity(ex:raw)
  entity(ex:dated, [ex:atTime="2020-05-05T05:05:05+05:00" %% xsd:dateTime])
  entity(ex:clean)
  entity(ex:late)
  activity(ex:nobody_knows, -, -)
  activity(ex:zoned, 2026-01-01T12:00:00+02:00, 2026-01-01T12:00:00.5-03:30)
  activity(ex:local, 2026-01-01T12:00:00, -)
  activity(ex:ended, -, 2026-01-02T00:00:00Z)
  used(ex:zoned, ex:raw, 2026-01-01T12:00:00.25+02:00)
  used(ex:nobody_knows, ex:raw, -)
  wasGeneratedBy(ex:clean, ex:nobody_knows, -)
  wasGeneratedBy(ex:late, ex:zoned, 2026-01-01T12:00:00.4+02:00)
endDocument
"""


def times(graph: Graph) -> set[tuple[str, str, str]]:
    """All times that a graph says, by where it says them."""
    vertices, edges = graph.records()
    named = [(name, own) for name, _, own in vertices]
    named += [(f"{source} {relation} {target}", own) for source, relation, target, own in edges]
    return {
        (name, key, json.dumps(value))
        for name, own in named
        for key, value in own.items()
        if "ime" in key or key in ("created", "started", "ended")
    }


@pytest.mark.parametrize("ending", [".json", ".provn", ".xml", ".ttl", ".trig", ".jsonl"])
def test_times_are_kept_and_none_is_invented(project: Path, ending: str) -> None:
    Path("t.provn").write_text(TIMES)
    with wh.open("project.whence") as log, wh.open("other.whence") as other:
        log.import_("t.provn")
        log.export(f"out{ending}")
        other.import_(f"out{ending}")
        if ending != ".jsonl":  # whose facets hold the properties of the log
            original, written = prov.read("t.provn").graph, prov.read(f"out{ending}").graph
            assert times(original) == times(written)
            assert len(times(written)) == 7
        expected = times(log.graph)
        if ending == ".jsonl":  # which has no entities but those of activities
            expected = {each for each in expected if each[0] != "ex:dated"}
        assert times(other.graph) == expected
        graph = log.graph
        assert graph["ex:zoned"]["started"] == "2026-01-01T10:00:00.000000Z"
        assert graph["ex:zoned"]["prov:startTime"] == "2026-01-01T12:00:00+02:00"
        for name, unknown in (("ex:raw", "created"), ("ex:nobody_knows", "started"), ("ex:nobody_knows", "ended"),
                              ("ex:local", "ended"), ("ex:ended", "started")):  # fmt: skip
            assert unknown not in graph[name].properties
        assert [each.created for each in log.datasets()] == [None] * 4
        assert {each.started for each in log.operations() if each.name.endswith("knows")} == {None}
    assert "unknown" in run("ls", "--log", "project.whence").output
    assert "at an unknown time" in run("show", "ex:raw", "--log", "project.whence").output


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (("--after", "2030-01-01"), {"ex:nobody_knows", "ex:raw", "ex:clean", "ex:late"}),
        (("--before", "1999-01-01"), {"ex:nobody_knows", "ex:raw", "ex:clean", "ex:late"}),
        (("--after", "2026-01-01T10:00:00Z"), {"ex:nobody_knows", "ex:zoned", "ex:raw", "ex:clean", "ex:late"}),
    ],
)
def test_filters_by_time_leave_in_what_has_none(project: Path, options: tuple[str, ...], left: set[str]) -> None:
    Path("t.provn").write_text(TIMES)
    run("import", "t.provn")
    asked = ("segment", "--src", "ex:raw", "--dst", "ex:clean", "--dst", "ex:late")
    found = json.loads(run(*asked, *options, "--json").stdout)["vertices"]
    paths = {each["id"] for each in found if each["kind"] == "activity"}
    assert paths == {each for each in left if each in ("ex:nobody_knows", "ex:zoned")}


def test_a_time_that_was_not_known_can_be_added(project: Path) -> None:
    with wh.open("project.whence") as log:
        vertices = [("a", "activity"), ("e", "entity")]
        add_graph(log._store, Graph.build(vertices, []))
        known = [("a", "activity", {"prov:startTime": "2026-01-01T12:00:00+02:00"}),
                 ("e", "entity", {"created": "2026-01-01T00:00:00.000000Z"})]  # fmt: skip
        add_graph(log._store, Graph.build(known, []))
        add_graph(log._store, Graph.build(known, []))
        assert log.graph["a"]["started"] == "2026-01-01T10:00:00.000000Z"
        assert log.graph["a"]["prov:startTime"] == "2026-01-01T12:00:00+02:00"
        assert log.datasets()[0].created == "2026-01-01T00:00:00.000000Z"
        with pytest.raises(Redefined, match="prov:startTime"):
            add_graph(log._store, Graph.build([("a", "activity", {"started": "2027-01-01T12:00:00Z"})], []))
        add_graph(log._store, Graph.build([("x", "entity", {"created": 5})], []))
        assert log.graph["x"]["created"] == 5


def test_importing_twice_adds_nothing(project: Path) -> None:
    run("import", "a.provn")
    result = run("import", "a.provn", "--json")
    assert json.loads(result.stdout) == {"entities": 0, "activities": 0, "agents": 0, "relations": 0}


def test_what_contradicts_the_log_is_refused_and_nothing_is_imported(project: Path) -> None:
    run("import", "a.provn")
    with wh.open("project.whence") as log:
        before = comparable(log.graph)
        for text, words in (
            (DOCUMENT.replace("rows=10", "rows=11").replace("ex:clean", "ex:new"), "ex:rows = 10"),
            (DOCUMENT.replace("example.org", "elsewhere.org"), "the prefix 'ex' means"),
        ):
            Path("b.provn").write_text(text)
            with pytest.raises(Redefined, match=words):
                log.import_("b.provn")
        with pytest.raises(Redefined, match="is an activity in the log"):
            add_graph(log._store, Graph.build([("new", "entity"), ("ex:wash", "entity")], []))
        with pytest.raises(BadGraph, match="not a time"):
            add_graph(log._store, Graph.build([("x", "activity", {"prov:startTime": "soon"})], []))
        assert comparable(log.graph) == before


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=provenance(4))
def test_a_log_holds_any_graph(drawn: Drawn, tmp_path_factory: pytest.TempPathFactory) -> None:
    own = ("kind", "created", "started", "ended", "name", "command")
    with wh.open(tmp_path_factory.mktemp("any") / "log") as log:
        add_graph(log._store, drawn.graph)
        assert comparable(log.graph, own) == comparable(drawn.graph, own)
        assert {name: log.graph[name].get("command") for name in drawn.of_kind("activity")} == {
            name: drawn.graph[name].get("command") for name in drawn.of_kind("activity")
        }


def test_versions_that_come_from_elsewhere_go_on_here(project: Path) -> None:
    Path("data.csv").write_text("1")
    with wh.open("project.whence") as log:
        with log.activity("look") as a:
            a.used("data.csv")
        prov.write(as_prov(log.graph), "b.json")
    with wh.open("other.whence") as log:
        log.import_("b.json")
        with log.activity("look") as a:
            a.used("data.csv")
        assert a.inputs == {"data.csv": "data.csv@v1"}
        Path("data.csv").write_text("2")
        with log.activity("look") as a:
            a.used("data.csv")
        assert log.graph.versions("data.csv") == ["data.csv@v1", "data.csv@v2"]


def test_pictures_are_exports_too(project: Path) -> None:
    run("import", "a.provn")
    for name in ("a.svg", "a.png", "a.mmd", "a.dot"):
        assert run("export", name).exit_code == 0
        assert (project / name).stat().st_size > 100


def test_errors_say_what_can_be_done(project: Path) -> None:
    for arguments, words in (
        (("import", "a.csv"), "cannot be imported: use one of git; OpenLineage events"),
        (("import", "none.json"), "none.json cannot be read"),
        (("import", "git"), "git cannot read"),
        (("export", "a.csv"), "must end in .json"),
    ):
        result = run(*arguments)
        assert result.exit_code == 1, result.output
        assert words in result.stderr


def test_a_package_may_bring_an_ingestor(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "plugin.py").write_text(
        "from whence.graph import Graph\n"
        "class Notes:\n"
        "    about = 'notes'\n"
        "    def claims(self, source): return source.endswith('.note')\n"
        "    def read(self, source, log): return Graph.build([(source, 'entity')], [])\n"
    )
    info = project / "plugin-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[whence.ingestors]\nnotes = plugin:Notes\n")
    monkeypatch.syspath_prepend(str(project))
    with wh.open("project.whence") as log:
        assert log.import_("a.note").entities == 1
        (info / "entry_points.txt").write_text("[whence.ingestors]\nnotes = plugin:Gone\n")
        with pytest.raises(StoreError, match="the ingestor 'notes'"):
            log.import_("a.note")
    sys.modules.pop("plugin", None)


TURTLE = """@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix : <http://{0}.org/> .
:a a prov:Entity ; :size 3 .
:b a prov:Entity ; prov:wasDerivedFrom :a .
"""
NOTATION = """document
  default <http://{0}.org/>
  entity(a, [size=3])
  entity(b)
  wasDerivedFrom(b, a)
endDocument
"""
JSON = """{{"prefix": {{"default": "http://{0}.org/"}}, "entity": {{"a": {{"size": 3}}, "b": {{}}}},
          "wasDerivedFrom": {{"_:d": {{"prov:generatedEntity": "b", "prov:usedEntity": "a"}}}}}}"""


@pytest.mark.parametrize("ending", [".json", ".provn", ".xml", ".ttl", ".trig"])
@pytest.mark.parametrize(("own", "text"), [(".ttl", TURTLE), (".provn", NOTATION), (".json", JSON)])
def test_documents_with_different_default_namespaces(project: Path, own: str, text: str, ending: str) -> None:
    expected = set()
    with wh.open("project.whence") as log, wh.open("other.whence") as other:
        for name in ("one", "two"):
            Path(f"{name}{own}").write_text(text.format(name))
            log.import_(f"{name}{own}")
            assert log.import_(f"{name}{own}").relations == 0, "the same namespace gets the same prefix"
            expected |= {f"http://{name}.org/{local}" for local in "ab"}
        assert set(log.graph.ids) == {"default_ns:a", "default_ns:b", "default_ns_2:a", "default_ns_2:b"}
        log.export(f"out{ending}")
        other.import_(f"out{ending}")
        assert set(other.graph.edges) == set(log.graph.edges)
        format, *more = {".ttl": ("rdf", "turtle"), ".trig": ("rdf", "trig")}.get(ending, (ending[1:],))
        options = {"rdf_format": more[0]} if more else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of what the library calls in rdflib
            document = ProvDocument.deserialize(f"out{ending}", format=format, **options)
        found = [record.identifier for record in document.get_records() if record.is_element()]
        assert {each.uri for each in found if each is not None} == expected


# --- OpenLineage


def held(graph: Graph) -> tuple[list[Any], list[Any]]:
    """What events can hold: activities, what they used and generated, who ran them, and relations between all these."""
    vertices, edges = graph.records()
    runs = [each for each in edges if each[1] in ("used", "wasGeneratedBy", "wasAssociatedWith")]
    touched = {end for each in runs for end in (each[0], each[2])} | set(graph.of_kind("activity"))
    touched |= {each[2] for each in edges if each[0] in touched and graph[each[2]].kind == "agent"}
    kept = [each for each in edges if {each[0], each[2]} <= touched]
    return comparable(Graph.build([each for each in vertices if each[0] in touched], kept))


@settings(max_examples=40, deadline=None)
@given(drawn=provenance())
def test_events_hold_runs_without_loss(drawn: Drawn) -> None:
    events = json.loads(json.dumps(openlineage.events(drawn.graph)))
    assert held(openlineage.graph_of(events)) == held(drawn.graph)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_events_are_written_and_imported(project: Path, name: str) -> None:
    openlineage.write(lifecycle(), name)
    with wh.open("project.whence") as log:
        imported = log.import_(name)
        assert (imported.activities, imported.agents) == (5, 2)
    assert run("export", "--format", "openlineage", "out.json").exit_code == 0
    events = json.loads((project / "out.json").read_text())
    for event in events:
        assert {"eventType", "eventTime", "producer", "schemaURL", "run", "job"} <= event.keys()
        for dataset in event["inputs"] + event["outputs"]:
            assert {"namespace", "name"} <= dataset.keys()
            assert all({"_producer", "_schemaURL"} <= facet.keys() for facet in dataset["facets"].values())
    assert {event["eventType"] for event in events} == {"OTHER"}  # nobody said when they were
    assert len({event["run"]["runId"] for event in events}) == 5


def event(kind: str, run: str, minute: int, inputs: list[str], outputs: list[str], **more: Any) -> dict[str, Any]:
    def datasets(names: list[str]) -> list[dict[str, Any]]:
        return [{"namespace": "db", "name": name, **more} for name in names]

    return {
        "eventType": kind, "eventTime": f"2026-01-01T00:{minute:02}:00Z", "run": {"runId": run},
        "job": {"namespace": "etl", "name": "copy"}, "inputs": datasets(inputs), "outputs": datasets(outputs),
    }  # fmt: skip


def test_runs_of_others_make_versions() -> None:
    graph = openlineage.graph_of([
        event("START", "r1", 0, ["t"], []), event("COMPLETE", "r1", 1, [], ["t"]),
        event("START", "r2", 2, ["t"], []), event("FAIL", "r2", 3, ["t"], ["u"]),
    ])  # fmt: skip
    assert graph.acyclic
    assert graph.versions("db/t") == ["db/t@v1", "db/t@v2"]
    assert set(graph.edges) == {
        ("etl/copy/r1", "used", "db/t@v1"), ("db/t@v2", "wasGeneratedBy", "etl/copy/r1"),
        ("etl/copy/r2", "used", "db/t@v2"),
    }  # fmt: skip
    assert graph["etl/copy/r2"]["outputs_not_generated"] == [{"namespace": "db", "name": "u", "facets": {}}]
    assert graph["etl/copy/r2"]["state"] == "FAIL"
    assert graph["etl/copy/r2"]["prov:endTime"] == "2026-01-01T00:03:00Z"


def test_lineage_of_columns_is_kept() -> None:
    fields = {"total": {"inputFields": [{"namespace": "db", "name": "t", "field": "price"}]}}
    facet = {"_producer": "p", "_schemaURL": "s", "fields": fields}
    graph = openlineage.graph_of([event("COMPLETE", "r1", 1, [], ["u"], facets={"columnLineage": facet})])
    assert graph["db/u@v1"]["column_lineage"] == {"fields": fields}
    [last] = openlineage.events(graph)
    assert last["outputs"][0]["facets"]["columnLineage"]["fields"] == fields


def test_events_without_what_they_need_are_refused(project: Path) -> None:
    with pytest.raises(BadGraph, match=r"event 0 has no run\.runId"):
        openlineage.graph_of([{"run": {}, "job": {}}])
    Path("a.jsonl").write_text("{\n")
    with pytest.raises(BadGraph, match="is not JSON"):
        openlineage.read("a.jsonl")
    with wh.open("project.whence") as log, pytest.raises(BadType, match="cannot be imported"):
        log.import_("a.parquet")


def test_what_was_rewritten_in_place_is_exported(project: Path) -> None:
    with wh.open("project.whence") as log:
        log.array("a", shape=(3,))
        log.array("b", shape=(3,))
        log.lineage("b", "a", "identity")
        log.lineage("a", "b", "identity")
        with pytest.warns(GraphWarning, match="a cycle"):
            log.export("a.provn")
    text = (project / "a.provn").read_text()
    assert "wasDerivedFrom(log:a, log:b, -, -, -)" in text
    with pytest.raises(BadGraph, match="a cycle of derivations"):
        prov.read("a.provn")


def test_what_is_known_gets_the_properties_it_lacked(project: Path) -> None:
    with wh.open("project.whence") as log:
        log.array("a", shape=(3,))
        add_graph(log._store, Graph.build([("a", "entity", {"unit": "K"}), ("do", "activity")], [("do", "used", "a")]))
        assert log.graph["a"]["unit"] == "K"
        assert log.graph["a"]["kind"] == "array"
        assert log.datasets()[0].shape == (3,)
        with pytest.raises(Redefined, match="unit = 'K'"):
            add_graph(log._store, Graph.build([("a", "entity", {"unit": "C"})], []))
