"""OpenLineage: its own client is the judge, whose classes are generated from the published schemas.

What whence writes has to be what these classes describe, field by field; what the client writes is imported.
"""

from __future__ import annotations

import json
import types
import typing
import uuid
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import attr
import pytest
from hypothesis import given, settings
from openlineage.client import event_v2, facet_v2
from openlineage.client.generated import base
from openlineage.client.serde import Serde

import whence as wh
from whence.errors import BadGraph, BadType
from whence.graph import Graph, GraphWarning
from whence.interop import openlineage
from whence.rows.columns import ColumnLineage
from whence.testing.graphs import lifecycle
from whence.testing.graphs.strategies import Drawn, provenance

# The facets that whence writes and that the format describes; others have to be facets of any kind.
_KNOWN: dict[str, Any] = {
    "ownership": facet_v2.ownership_job.OwnershipJobFacet,
    "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
    "columnLineage": facet_v2.column_lineage_dataset.ColumnLineageDatasetFacet,
    "errorMessage": facet_v2.error_message_run.ErrorMessageRunFacet,
}


def build(kind: Any, value: Any, where: str = "event") -> Any:
    """A value as the type says, made by the client's own classes: all that is required, nothing that is unknown."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else build(arguments[0], value, where)
    if origin is list:
        assert isinstance(value, list), where
        return [build(arguments[0], each, f"{where}[{place}]") for place, each in enumerate(value)]
    if origin is dict:
        assert isinstance(value, dict), where
        facets = isinstance(arguments[1], type) and issubclass(arguments[1], base.BaseFacet)
        return {
            name: build(_KNOWN.get(name, arguments[1]) if facets else arguments[1], each, f"{where}.{name}")
            for name, each in value.items()
        }
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if not attr.has(kind):
        assert isinstance(value, kind), f"{where} is {value!r}"
        return value
    return _built(kind, value, where)


def _built(kind: Any, value: Any, where: str) -> Any:
    assert isinstance(value, dict), where
    hints, given = typing.get_type_hints(kind), dict(value)
    if issubclass(kind, (base.BaseFacet, base.BaseEvent)):  # what the classes fill in, and the schemas require
        mark = "_" if issubclass(kind, base.BaseFacet) else ""
        assert given[f"{mark}producer"].startswith("https://"), where
        schema = given.pop(f"{mark}schemaURL")
        assert schema == kind._get_schema() if kind in (*_KNOWN.values(), base.RunEvent) else "://" in schema, where
    fields = {each.name: each for each in attr.fields(kind)}
    own = {
        fields[name].alias: build(hints[name], each, f"{where}.{name}")
        for name, each in given.items()
        if name in fields
    }
    more = {name: each for name, each in given.items() if name not in fields}
    assert not more or hasattr(kind, "with_additional_properties"), f"{where}: {sorted(more)}"
    return kind(**own)


def judged(events: list[dict[str, Any]]) -> list[Any]:
    return [build(base.RunEvent, each) for each in json.loads(json.dumps(events, allow_nan=False))]


@settings(max_examples=40, deadline=None)
@given(drawn=provenance())
def test_events_are_as_the_schemas_say(drawn: Drawn) -> None:
    events = openlineage.events(drawn.graph)
    assert len(judged(events)) == len(events)


def test_the_judge_is_no_pushover() -> None:
    [event, *_] = openlineage.events(lifecycle())
    facet = {"_producer": "https://a", "_schemaURL": "https://b"}  # the version itself is missing
    ill: list[dict[str, Any]] = [
        {"eventType": "BEGIN"}, {"eventTime": "soon"}, {"run": {"runId": "7"}}, {"job": {"name": "x"}}, {"inputs": {}},
        {"inputs": [{"namespace": "a", "name": "b", "facets": {"version": facet}}]},
    ]  # fmt: skip
    for wrong in ill:
        with pytest.raises((AssertionError, KeyError, TypeError, ValueError)):
            judged([{**event, **wrong}])


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[wh.Log]:
    monkeypatch.chdir(tmp_path)
    with wh.open("project.whence") as log:
        yield log


COLUMNS = {
    "total": ColumnLineage(
        frozenset({("orders", "price"), ("orders", "rate")}), frozenset({("orders", "day"), ("orders", "rate")})
    ),
    "who": ColumnLineage(frozenset({("people", "name")}), frozenset({("orders", "day")})),
}


def test_a_log_is_exported_as_the_schemas_say(log: wh.Log) -> None:
    Path("data.csv").write_text("a")
    with log.activity("train", command="train.py", agent="ada", lr=float("nan")) as activity:
        activity.used("data.csv")
        Path("out.csv").write_text("b")
        activity.generated("out.csv")
    with pytest.raises(ValueError, match="too cold"), log.activity("fail"):
        raise ValueError("too cold")
    told = judged(openlineage.events(log.graph))
    assert [each.eventType.value for each in told] == ["START", "COMPLETE", "START", "FAIL"]
    assert told[1].run.facets.keys() == {"whence_activity"}
    assert told[3].run.facets["errorMessage"].message == "ValueError: too cold"
    assert told[0].job.facets["ownership"].owners[0].name == "ada"
    assert told[0].inputs[0].facets["version"].datasetVersion == "1"


def test_columns_of_a_pipeline_are_a_facet() -> None:
    found = openlineage.column_lineage(COLUMNS, {"orders": "data/orders.parquet", "people": ("db", "people")})
    graph = Graph.build(
        [("q", "activity"), ("out", "entity", {"column_lineage": found})], [("out", "wasGeneratedBy", "q")]
    )  # fmt: skip
    facet = judged(openlineage.events(graph))[-1].outputs[0].facets["columnLineage"]

    def told(fields: list[Any]) -> list[tuple[str, str, str, list[str]]]:
        return [(each.namespace, each.name, each.field, [own.type for own in each.transformations]) for each in fields]

    assert told(facet.dataset) == [("whence", "data/orders.parquet", "day", ["INDIRECT"])]
    assert told(facet.fields["total"].inputFields) == [
        ("whence", "data/orders.parquet", "price", ["DIRECT"]),
        ("whence", "data/orders.parquet", "rate", ["DIRECT", "INDIRECT"]),
    ]
    assert told(facet.fields["who"].inputFields) == [("db", "people", "name", ["DIRECT"])]
    assert openlineage.graph_of(openlineage.events(graph))["out"]["column_lineage"] == found
    assert openlineage.column_lineage({}) == {"fields": {}}
    with pytest.raises(BadType, match="name a dataset by a string"):
        openlineage.column_lineage(COLUMNS, {"orders": 3})  # type: ignore[dict-item] # that it is refused is the point


@pytest.mark.parametrize(
    "columns",
    [3, ["a"], {"fields": 3}, {"fields": {"a": {"inputFields": [{"name": "t"}]}}}, {"fields": {}, "dataset": {}},
     {"fields": {"a": {"inputFields": [{"namespace": "n", "name": "t", "field": "f", "transformations": [{}]}]}}}],
)  # fmt: skip
def test_another_property_called_columns_is_no_facet(columns: Any) -> None:
    graph = Graph.build(
        [("q", "activity"), ("out", "entity", {"column_lineage": columns})], [("out", "wasGeneratedBy", "q")]
    )
    events = openlineage.events(graph)
    assert "columnLineage" not in judged(events)[-1].outputs[0].facets
    assert openlineage.graph_of(events)["out"]["column_lineage"] == columns


def events_of_others() -> list[dict[str, Any]]:
    """A run as the client of OpenLineage tells it: the schema at its start, the columns at its end."""
    run, job = str(uuid.uuid4()), event_v2.Job("etl", "load", {"sql": facet_v2.sql_job.SQLJobFacet("select 1")})
    field = facet_v2.column_lineage_dataset.InputField("db", "raw", "price")
    schema = facet_v2.schema_dataset.SchemaDatasetFacet(
        [facet_v2.schema_dataset.SchemaDatasetFacetFields("price", "int")]
    )
    columns = facet_v2.column_lineage_dataset.ColumnLineageDatasetFacet(
        {"total": facet_v2.column_lineage_dataset.Fields([field], "sum", "AGGREGATION")}
    )
    counted = facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=3)
    statistics: dict[str, Any] = {"outputStatistics": counted}
    parent = facet_v2.parent_run.ParentRunFacet(
        facet_v2.parent_run.Run(str(uuid.uuid4())), facet_v2.parent_run.Job("etl", "daily")
    )
    source = event_v2.InputDataset("db", "raw", facets={"schema": schema})
    written = [
        event_v2.RunEvent(
            eventTime="2026-01-01T00:00:00Z", run=event_v2.Run(run, {"parent": parent}), job=job,
            eventType=event_v2.RunState.START, inputs=[source], outputs=[event_v2.OutputDataset("db", "t")],
        ),
        event_v2.RunEvent(
            eventTime="2026-01-01T00:05:00Z", run=event_v2.Run(run), job=job, eventType=event_v2.RunState.COMPLETE,
            inputs=[event_v2.InputDataset("db", "raw")],
            outputs=[event_v2.OutputDataset("db", "t", facets={"columnLineage": columns}, outputFacets=statistics)],
        ),
    ]  # fmt: skip
    return [json.loads(Serde.to_json(each)) for each in written]


def test_what_the_client_writes_is_imported_and_written_again(log: wh.Log) -> None:
    told = events_of_others()
    Path("events.jsonl").write_text("\n".join(map(json.dumps, told)))
    assert log.import_("events.jsonl").activities == 2  # its own, and the parent it names
    graph, run = log.graph, told[0]["run"]["runId"]
    assert graph.ancestors("db/t@v1") == ["db/raw@v1", f"etl/load/{run}"]
    parent = told[0]["run"]["facets"]["parent"]["run"]["runId"]
    assert (f"etl/load/{run}", "wasInformedBy", f"etl/daily/{parent}") in graph.edges
    assert graph["db/t@v1"]["column_lineage"]["fields"]["total"]["transformationType"] == "AGGREGATION"
    again = openlineage.events(graph)
    judged(again)
    again = [each for each in again if each["run"]["runId"] == run]
    for before, after in zip(told, again, strict=True):
        assert after["eventType"] == before["eventType"]
        assert after["eventTime"][:19] == before["eventTime"][:19]
        assert (after["job"]["namespace"], after["job"]["name"], after["run"]["runId"]) == ("etl", "load", run)
        assert after["job"]["facets"]["sql"] == before["job"]["facets"]["sql"]
    assert again[0]["run"]["facets"]["parent"] == told[0]["run"]["facets"]["parent"]
    assert again[0]["inputs"][0]["facets"]["schema"] == told[0]["inputs"][0]["facets"]["schema"]
    [output] = again[1]["outputs"]
    assert (output["namespace"], output["name"]) == ("db", "t")
    assert output["facets"]["columnLineage"]["fields"] == told[1]["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert log.import_("events.jsonl").relations == 0, "what is known is not imported again"


def test_times_without_an_offset_and_runs_without_a_proper_id_are_mended() -> None:
    properties = {"prov:startTime": "2026-01-01T00:00:00", "openlineage_run": "7"}
    [start] = openlineage.events(Graph.build([("a", "activity", properties)], []))
    assert (start["eventType"], start["eventTime"]) == ("START", "2026-01-01T00:00:00+00:00")
    judged([start])
    with pytest.raises(BadGraph, match="'soon', which is not a time"):
        openlineage.events(Graph.build([("a", "activity", {"started": "soon"})], []))


def test_attributes_of_edges_are_kept() -> None:
    vertices = [("a", "activity"), ("e", "entity"), ("o", "entity"), ("p", "agent")]
    edges = [
        ("a", "used", "e", {"prov:role": "input"}), ("a", "used", "e", {"prov:role": "model"}), ("a", "used", "e", {}),
        ("o", "wasGeneratedBy", "a", {"prov:id": "g"}), ("o", "wasDerivedFrom", "e", {"prov:usage": "u"}),
        ("a", "wasAssociatedWith", "p", {"prov:plan": "e"}), ("a", "wasAssociatedWith", "p", {}),
    ]  # fmt: skip
    events = openlineage.events(Graph.build(vertices, edges))
    judged(events)
    again = openlineage.graph_of(events)
    assert sorted(again.records()[1], key=str) == sorted(edges, key=str)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"inputs": {}}, r"event 0: inputs is not a list"),
        ({"inputs": [{"name": "x"}]}, r"event 0 has no inputs\[0\]\.namespace"),
        ({"run": {"runId": "r", "facets": 3}}, r"event 0: run\.facets is not an object, but 3"),
        (
            {"run": {"runId": "r", "facets": {"whence_activity": {}}}},
            r"event 0 has no run\.facets\.whence_activity\.id",
        ),
        ({"eventType": []}, r"event 0: eventType is not a string, but \[\]"),
        ({"eventTime": "soon"}, r"event 0: eventTime is not a time"),
        ({"outputs": [[]]}, r"event 0: outputs\[0\] is not an object"),
        ({"job": {"namespace": "n"}}, r"event 0 has no job\.name"),
        ({"eventTime": None}, r"event 0 has no eventTime"),
    ],
)
def test_bad_events_are_named(wrong: dict[str, Any], told: str) -> None:
    event = {"eventType": "START", "eventTime": "2026-01-01T00:00:00Z", "run": {"runId": "r"},
             "job": {"namespace": "n", "name": "j"}}  # fmt: skip
    with pytest.raises(BadGraph, match=told):
        openlineage.graph_of([{**event, **wrong}])


def test_events_of_no_run_are_left_out() -> None:
    with pytest.warns(GraphWarning, match="event 0 belongs to no run"):
        assert len(openlineage.graph_of([{"job": {"namespace": "n", "name": "j"}}])) == 0


def airflow() -> list[dict[str, Any]]:
    """A DAG of Airflow with a task that submits a Spark job; another attempt of it failed before."""
    runs = {name: str(uuid.uuid5(uuid.NAMESPACE_URL, name)) for name in ("dag", "task", "spark", "failed")}
    jobs = {name: {"namespace": "airflow", "name": name} for name in ("dag", "task")}
    jobs |= {name: {"namespace": "spark", "name": "load"} for name in ("spark", "failed")}
    producer = {"_producer": "https://example.org", "_schemaURL": "https://example.org"}

    def event(kind: str, name: str, time: str, parents: list[str], **more: Any) -> dict[str, Any]:
        named = [{"run": {"runId": runs[each]}, "job": jobs[each]} for each in parents]
        facets = {"parent": {**producer, **named[0], **({"root": named[-1]} if named[1:] else {})}} if named else {}
        return {"eventType": kind, "eventTime": time, "producer": "https://example.org", "schemaURL": "https://x.org",
                "run": {"runId": runs[name], "facets": facets}, "job": {**jobs[name], "facets": more.pop("job", {})},
                **more}  # fmt: skip

    owner = {"ownership": {**producer, "owners": [{"name": "data team", "type": "team"}]}}
    raw: dict[str, Any] = {"namespace": "db", "name": "raw", "facets": {}}
    table: dict[str, Any] = {"namespace": "db", "name": "table", "facets": {}}
    # The time of the failure is before that of the success, although as text it is after.
    return [
        event("START", "dag", "2026-01-01T00:00:00Z", [], job=owner),
        event("START", "task", "2026-01-01T00:01:00Z", ["dag"], job=owner),
        event("START", "spark", "2026-01-01T05:00:00Z", ["task", "dag"], inputs=[raw], outputs=[table]),
        event("COMPLETE", "spark", "2026-01-01T05:30:00Z", ["task", "dag"], inputs=[raw], outputs=[table]),
        event("START", "failed", "2026-01-01T06:00:00+02:00", ["task", "dag"], inputs=[raw], outputs=[table]),
        event("FAIL", "failed", "2026-01-01T06:30:00+02:00", ["task", "dag"], inputs=[raw],
              outputs=[{**table, "outputFacets": {"outputStatistics": {**producer, "rowCount": 3}}}]),
        event("COMPLETE", "task", "2026-01-01T07:00:00Z", ["dag"]),
    ]  # fmt: skip


@pytest.mark.parametrize("left_out", [[], ["dag"], ["dag", "task"]])
def test_a_run_leads_to_its_parents_and_their_owner(log: wh.Log, left_out: list[str]) -> None:
    told = [each for each in airflow() if each["job"]["name"] not in left_out]
    Path("events.json").write_text(json.dumps(told))
    log.import_("events.json")
    graph = log.graph
    names = {graph[name]["openlineage_job"]["name"]: name for name in graph.of_kind("activity")}
    spark = next(
        name for name in graph.of_kind("activity") if graph[name].get("state") == "COMPLETE" and "load" in name
    )
    informed = {edge for edge in graph.edges if edge[1] == "wasInformedBy"}
    assert (spark, "wasInformedBy", names["task"]) in informed
    assert (names["task"], "wasInformedBy", names["dag"]) in informed
    owned = {edge[0] for edge in graph.edges if edge[1:] == ("wasAssociatedWith", "data team")}
    assert owned == {names[each] for each in ("dag", "task") if each not in left_out}
    Path("all.json").write_text(json.dumps(airflow()))
    log.import_("all.json")  # what was only known by its name is completed
    assert (names["dag"], "wasAssociatedWith", "data team") in log.graph.edges
    openlineage.write(log.graph, "again.json")
    judged(json.loads(Path("again.json").read_text()))
    with wh.open("other.whence") as other:
        other.import_("again.json")
        assert sorted(other.graph.edges) == sorted(log.graph.edges)
        assert {name: other.graph[name].properties for name in other.graph.ids} == {
            name: log.graph[name].properties for name in log.graph.ids
        }


def test_what_a_failed_run_was_to_write_is_not_generated(log: wh.Log) -> None:
    Path("events.json").write_text(json.dumps(airflow()))
    log.import_("events.json")
    graph = log.graph
    failed = next(name for name in graph.of_kind("activity") if graph[name].get("state") == "FAIL")
    assert graph.versions("db/table") == ["db/table@v1"]
    assert [edge[2] for edge in graph.edges if edge[1] == "wasGeneratedBy"] != [failed]
    assert failed not in graph.ancestors("db/table@v1")
    assert (failed, "used", "db/raw@v1") in graph.edges
    [output] = graph[failed]["outputs_not_generated"]
    assert (output["name"], output["outputFacets"]["outputStatistics"]["rowCount"]) == ("table", 3)
    written = [each for each in openlineage.events(graph) if each["eventType"] == "FAIL"]
    assert written[0]["outputs"][0]["name"] == "table"
    again = openlineage.graph_of(openlineage.events(graph))
    assert sorted(again.edges) == sorted(graph.edges)


def test_runs_are_in_the_order_of_time_whatever_their_zones() -> None:
    """Written at 04:00 UTC and at 05:00 UTC; as text, the first is after the second."""
    base = {
        "eventType": "COMPLETE",
        "job": {"namespace": "n", "name": "j"},
        "outputs": [{"namespace": "n", "name": "t"}],
    }
    graph = openlineage.graph_of([
        {**base, "run": {"runId": "second"}, "eventTime": "2026-01-01T05:00:00Z"},
        {**base, "run": {"runId": "first"}, "eventTime": "2026-01-01T06:00:00+02:00"},
    ])  # fmt: skip
    assert ("n/t@v1", "wasGeneratedBy", "n/j/first") in graph.edges
