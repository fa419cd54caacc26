"""OpenLineage run events: activities out as runs of jobs with their inputs and outputs, and runs of others in."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from whence.errors import BadGraph, StoreError
from whence.graph import Graph

PRODUCER = "https://pypi.org/project/whence/"
_SPEC = "https://openlineage.io/spec"
SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
NAMESPACE = "whence"
_ENDS = {"COMPLETE", "FAIL", "ABORT"}
_RUNS = uuid.UUID("6c2f3b0e-6f0b-5d5e-9a43-0d1c52a7d3a1")  # the space of ids of runs that had none
Event = dict[str, Any]
Place = str | PathLike[str]


# --- out


def events(graph: Graph, namespace: str = NAMESPACE) -> list[Event]:
    """Two events for each activity, of its start and its end; each names inputs, outputs and who ran it.

    Facets of whence's own keep ids and properties, so that reading the events again gives the same activities.
    """
    vertices, edges = graph.records()
    described = {name: (kind, properties) for name, kind, properties in vertices}
    ends: dict[tuple[str, str], list[str]] = {}
    for source, relation, target, _ in edges:
        if relation in ("used", "wasAssociatedWith"):
            ends.setdefault((relation, source), []).append(target)
        elif relation == "wasGeneratedBy":
            ends.setdefault((relation, target), []).append(source)

    def datasets(names: Iterable[str]) -> list[Event]:
        return [_dataset(name, described[name][1], namespace) for name in names]

    found = []
    for name, (kind, properties) in described.items():
        if kind != "activity":
            continue
        agents = [{"id": each, "properties": described[each][1]} for each in ends.get(("wasAssociatedWith", name), ())]
        facet = _facet("whence_activity", {"id": name, "properties": properties, "agents": agents})
        job: Event = {"namespace": namespace, "name": str(properties.get("command") or name)}
        if agents:
            owners = [{"name": each["id"], "type": "agent"} for each in agents]
            job["facets"] = {"ownership": _facet("OwnershipJobFacet", {"owners": owners}, "1-0-1")}
        failed = bool(properties.get("error")) or properties.get("exit_code") not in (None, 0)
        for event, times in (
            ("START", ("prov:startTime", "started")), ("FAIL" if failed else "COMPLETE", ("prov:endTime", "ended"))
        ):  # fmt: skip
            told = next((str(properties[each]) for each in times if each in properties), "1970-01-01T00:00:00Z")
            found.append({
                "eventType": event, "eventTime": told, "producer": PRODUCER, "schemaURL": SCHEMA,
                "run": {"runId": _run_id(name, properties), "facets": {"whence_activity": facet}}, "job": job,
                "inputs": datasets(ends.get(("used", name), ())),
                "outputs": datasets(ends.get(("wasGeneratedBy", name), ())),
            })  # fmt: skip
    return found


def write(graph: Graph, path: Place) -> None:
    """Write the events of a graph: as a list if the name ends in .json, else one a line."""
    found = events(graph)
    if Path(path).suffix.lower() == ".json":
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    else:
        text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in found)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


def _run_id(name: str, properties: Mapping[str, Any]) -> str:
    given = properties.get("openlineage_run")
    return given if isinstance(given, str) else str(uuid.uuid5(_RUNS, name))


def _facet(name: str, content: Event, version: str | None = None) -> Event:
    schema = f"{PRODUCER}#{name}" if version is None else f"{_SPEC}/facets/{version}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": schema, **content}


def _dataset(name: str, properties: Mapping[str, Any], namespace: str) -> Event:
    artifact, version = properties.get("artifact"), properties.get("version")
    facets = {"whence_entity": _facet("whence_entity", {"id": name, "properties": dict(properties)})}
    if isinstance(artifact, str) and version is not None:
        facets["version"] = _facet("DatasetVersionDatasetFacet", {"datasetVersion": str(version)}, "1-0-1")
    columns = properties.get("columns")
    if isinstance(columns, Mapping) and "fields" in columns:
        facets["columnLineage"] = _facet("ColumnLineageDatasetFacet", dict(columns), "1-2-0")
    return {"namespace": namespace, "name": artifact if isinstance(artifact, str) else name, "facets": facets}


# --- in


def is_event_file(path: Path) -> bool:
    """Whether a file of JSON holds run events: an object with a run and a job, or a list that begins with one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # whoever reads it next says what is wrong
        return False
    first = found[0] if isinstance(found, list) and found else found
    return isinstance(first, dict) and {"run", "job"} <= first.keys()


def read(path: Place) -> Graph:
    """The graph of a file of events."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    try:
        if Path(path).suffix.lower() == ".json":
            found = json.loads(text)
            items = found if isinstance(found, list) else [found]
        else:
            items = [json.loads(line) for line in text.splitlines() if line.strip()]
    except json.JSONDecodeError as error:
        raise BadGraph(f"{path} is no JSON: {error}") from error
    return graph_of(items)


def graph_of(items: Iterable[Event]) -> Graph:
    """The graph of events; those of one run are one activity.

    A dataset that is written by several runs has a version for each; a run reads the version that was there last.

    >>> run = {"runId": "0190-1"}
    >>> event = {"eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:00Z", "run": run,
    ...          "job": {"namespace": "etl", "name": "load"},
    ...          "inputs": [{"namespace": "s3", "name": "raw"}], "outputs": [{"namespace": "db", "name": "t"}]}
    >>> graph_of([event]).edges
    [('etl/load/0190-1', 'used', 's3/raw@v1'), ('db/t@v1', 'wasGeneratedBy', 'etl/load/0190-1')]
    """
    runs: dict[str, list[Event]] = {}
    for place, event in enumerate(items):
        runs.setdefault(_text(event, place, "run", "runId"), []).append(event)
    taker = _Taker()
    for run, own in sorted(runs.items(), key=lambda pair: min(str(each.get("eventTime", "")) for each in pair[1])):
        taker.run(run, own)
    return Graph.build(taker.vertices.values(), taker.edges)


def _text(event: Any, place: int, *keys: str) -> str:
    value = event
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, str) or not value:
        raise BadGraph(f"event {place} has no {'.'.join(keys)}, which OpenLineage asks for")
    return value


class _Taker:
    def __init__(self) -> None:
        self.vertices: dict[str, tuple[str, str, Event]] = {}
        self.edges: dict[tuple[str, str, str], None] = {}
        self.latest: dict[str, int] = {}

    def run(self, run: str, events: list[Event]) -> None:
        """One activity out of all events of a run."""
        first = events[0]
        own = next((each["run"]["facets"]["whence_activity"] for each in events if _has(each["run"])), None)
        if own is not None:
            name, properties, agents = own["id"], own.get("properties", {}), own.get("agents", [])
        else:
            job = f"{_text(first, 0, 'job', 'namespace')}/{_text(first, 0, 'job', 'name')}"
            name, properties = f"{job}/{run}", {"command": job, "openlineage_run": run}
            for event in events:
                kind = event.get("eventType")
                if kind in _ENDS or kind == "START":
                    properties["prov:startTime" if kind == "START" else "prov:endTime"] = event.get("eventTime")
                if kind in _ENDS:
                    properties["state"] = kind
            owners = first["job"].get("facets", {}).get("ownership", {}).get("owners", [])
            agents = [{"id": each["name"]} for each in owners if isinstance(each, Mapping) and "name" in each]
        self.vertices[name] = (name, "activity", properties)
        for agent in agents:
            self.vertices.setdefault(agent["id"], (agent["id"], "agent", agent.get("properties", {})))
            self.edges.setdefault((name, "wasAssociatedWith", agent["id"]))
        sides: dict[str, dict[tuple[str, str], Event]] = {"inputs": {}, "outputs": {}}
        for place, event in enumerate(events):
            for side, found in sides.items():
                for each in event.get(side) or ():
                    key = _text(each, place, "namespace"), _text(each, place, "name")
                    label = each.get("facets", {}).get("whence_entity", {}).get("id", "")
                    found[key[0], f"{key[1]}\0{label}"] = each
        for each in sides["inputs"].values():
            self.edges.setdefault((name, "used", self.dataset(each, made=False)))
        for each in sides["outputs"].values():
            self.edges.setdefault((self.dataset(each, made=True), "wasGeneratedBy", name))

    def dataset(self, told: Event, made: bool) -> str:
        """The entity that an input or output is."""
        facets = told.get("facets") or {}
        own = facets.get("whence_entity")
        if own is not None:
            name = str(own["id"])
            self.vertices.setdefault(name, (name, "entity", own.get("properties", {})))
            return name
        artifact = f"{told['namespace']}/{told['name']}"
        version = (facets.get("version") or {}).get("datasetVersion")
        if version is None:
            if made or artifact not in self.latest:
                self.latest[artifact] = self.latest.get(artifact, 0) + 1
            version = self.latest[artifact]
        name = f"{artifact}@v{version}"
        properties: Event = {"artifact": artifact, "version": version}
        lineage = facets.get("columnLineage")
        if isinstance(lineage, Mapping):
            properties["columns"] = {key: value for key, value in lineage.items() if not key.startswith("_")}
        known = self.vertices.setdefault(name, (name, "entity", properties))
        known[2].update(properties)
        return name


def _has(run: Event) -> bool:
    return "whence_activity" in (run.get("facets") or {})
