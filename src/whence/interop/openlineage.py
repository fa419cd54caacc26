"""Write OpenLineage run events: activities as runs of jobs with their inputs and outputs."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from whence.errors import BadGraph, StoreError
from whence.graph import Graph, strict_json
from whence.graph.column_lineage import NAMESPACE, column_lineage, is_column_lineage
from whence.interop.openlineage_fields import Event
from whence.interop.openlineage_reading import FAILED, graph_of
from whence.store.values import plain, several

__all__ = ["NAMESPACE", "PRODUCER", "column_lineage", "events", "graph_of", "is_event_file", "read", "write"]

PRODUCER = "https://pypi.org/project/whence/"
_SPEC = "https://openlineage.io/spec"
SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_RUNS = uuid.UUID("6c2f3b0e-6f0b-5d5e-9a43-0d1c52a7d3a1")  # the namespace for ids of runs that have none
_STARTED, _ENDED = ("prov:startTime", "started"), ("prov:endTime", "ended")
_EPOCH = "1970-01-01T00:00:00Z"
Place = str | PathLike[str]
Side = list[tuple[str, Event]]  # (dataset id, attributes of the edge)


def events(graph: Graph, namespace: str = NAMESPACE) -> list[Event]:
    """Return events for each activity, for its start and its end if known, with inputs, outputs and who ran it.

    Custom facets contain ids, properties and relations that the format cannot express, so that reading the events gives
    the same graph, except for vertices that no activity is related to. An event needs a time: an activity of unknown
    time has one event, of type OTHER, at the beginning of 1970.
    """
    vertices, edges = graph.records()
    writer = _EventWriter({name: (kind, _as_json(own, name)) for name, kind, own in vertices}, namespace)
    for source, relation, target, own in edges:
        attributes = _as_json(own, relation)
        if relation in ("used", "wasAssociatedWith"):
            writer.ends.setdefault((relation, source), []).append((target, attributes))
        elif relation == "wasGeneratedBy":
            writer.ends.setdefault((relation, target), []).append((source, attributes))
        else:
            writer.others.setdefault(source, []).append((relation, target, attributes))
    return [event for name, kind, _ in vertices if kind == "activity" for event in writer.run(name)]


class _EventWriter:
    def __init__(self, described: Mapping[str, tuple[str, Event]], namespace: str) -> None:
        self.described, self.namespace = described, namespace
        self.ends: dict[tuple[str, str], Side] = {}
        self.others: dict[str, list[tuple[str, str, Event]]] = {}

    def run(self, name: str) -> list[Event]:
        properties = self.described[name][1]
        extra = _extra_facets(properties)
        run: Event = {"runId": _run_id_of(name, properties), "facets": {**_facets(extra.get("run"))}}
        agents = [
            {"id": each, "properties": self.described[each][1], **({"attributes": own} if own else {})}
            for each, own in self.ends.get(("wasAssociatedWith", name), ())
        ]
        run["facets"]["whence_activity"] = _facet("whence_activity", {**self.own(name), "agents": agents})
        if isinstance(properties.get("error"), str):
            message = {"message": properties["error"], "programmingLanguage": "python"}
            run["facets"].setdefault("errorMessage", _facet("ErrorMessageRunFacet", message, "1-0-1"))
        inputs = self.datasets(("used", name), "inputFacets")
        outputs = self.datasets(("wasGeneratedBy", name), "outputFacets") + _not_generated(properties)
        times = [("START", _event_time(properties, _STARTED)), (_end(properties), _event_time(properties, _ENDED))]
        known = [(kind, time) for kind, time in times if time is not None]
        return [
            {
                "eventType": kind, "eventTime": time, "producer": PRODUCER, "schemaURL": SCHEMA,
                "run": run, "job": self.job(name, properties, extra, agents), "inputs": inputs, "outputs": outputs,
            }
            for kind, time in known or [("OTHER", _EPOCH)]
        ]  # fmt: skip

    def job(self, name: str, properties: Event, extra: Event, agents: list[Event]) -> Event:
        given = extra.get("job") or properties.get("openlineage_job")
        own = given if isinstance(given, Mapping) else {}
        facets = _facets(own)
        if agents:
            owners = [{"name": each["id"], "type": "agent"} for each in agents]
            facets["ownership"] = _facet("OwnershipJobFacet", {"owners": owners}, "1-0-1")
        called = own.get("name") or properties.get("command") or name
        job = {"namespace": str(own.get("namespace") or self.namespace), "name": str(called)}
        return {**job, "facets": facets} if facets else job

    def datasets(self, end: tuple[str, str], more: str) -> list[Event]:
        """Return the inputs or outputs of a run without duplicates, with the attributes of their edges."""
        edges: dict[str, list[Event]] = {}
        for name, attributes in self.ends.get(end, ()):
            edges.setdefault(name, []).append(dict(attributes))
        found = []
        for name, own in edges.items():
            facets: Event = {}
            for attributes in own:
                facets |= _facets(attributes.pop("openlineage", None))
            if own != [{}]:
                facets["whence_relation"] = _facet("whence_relation", {"edges": own})
            found.append({**self.dataset(name), more: facets} if facets else self.dataset(name))
        return found

    def own(self, name: str) -> Event:
        """Return the content of whence's custom facet for a vertex."""
        found: Event = {"id": name, "properties": self.described[name][1]}
        for relation, target, attributes in self.others.get(name, ()):
            described: Event = {"relation": relation, "target": target}
            if attributes:
                described["attributes"] = attributes
            kind, properties = self.described[target]
            if kind == "agent":  # it may be in no run
                described["agent"] = properties
            found.setdefault("relations", []).append(described)
        return found

    def dataset(self, name: str) -> Event:
        properties = self.described[name][1]
        extra, artifact = _extra_facets(properties), properties.get("artifact")
        facets = {**_facets(extra), "whence_entity": _facet("whence_entity", self.own(name))}
        if isinstance(artifact, str) and properties.get("version") is not None:
            version = {"datasetVersion": str(properties["version"])}
            facets["version"] = _facet("DatasetVersionDatasetFacet", version, "1-0-1")
        columns: Any = properties.get("column_lineage")
        if is_column_lineage(columns):
            facets["columnLineage"] = _facet("ColumnLineageDatasetFacet", dict(columns), "1-2-0")
        fields = _fields(properties)
        if fields:
            facets["schema"] = _facet("SchemaDatasetFacet", {"fields": fields}, "1-2-0")
        called = extra.get("name") or (artifact if isinstance(artifact, str) else name)
        return {"namespace": str(extra.get("namespace") or self.namespace), "name": str(called), "facets": facets}


def _fields(properties: Mapping[str, Any]) -> list[Event]:
    """Return the columns of a table, with their types if known."""
    columns, types = properties.get("columns"), properties.get("types")
    if not isinstance(columns, list) or not all(isinstance(each, str) for each in columns):
        return []
    if not isinstance(types, list) or len(types) != len(columns):
        return [{"name": column} for column in columns]
    return [{"name": column, "type": str(kind)} for column, kind in zip(columns, types, strict=True)]


def _not_generated(properties: Mapping[str, Any]) -> list[Event]:
    """Return the outputs that an imported, failed run should have written."""
    found = properties.get("outputs_not_generated")
    if properties.get("state") not in FAILED or not isinstance(found, list):
        return []
    return [
        dict(each) for each in found if isinstance(each, Mapping) and {"namespace", "name", "facets"} <= each.keys()
    ]


def _as_json(properties: Mapping[str, Any], where: str) -> Event:
    """Convert properties to JSON values, as in a log."""
    found: Event = plain(several(properties), where)
    return found


def _extra_facets(properties: Mapping[str, Any]) -> Event:
    """Return the facets of an imported event that a graph cannot express."""
    found = properties.get("openlineage")
    return dict(found) if isinstance(found, Mapping) else {}


def _facets(held: object) -> Event:
    found = held.get("facets") if isinstance(held, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def _facet(name: str, content: Event, version: str | None = None) -> Event:
    schema = f"{PRODUCER}#{name}" if version is None else f"{_SPEC}/facets/{version}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": schema, **content}


def _run_id_of(name: str, properties: Mapping[str, Any]) -> str:
    given = properties.get("openlineage_run")
    try:
        return str(uuid.UUID(given)) if isinstance(given, str) else str(uuid.uuid5(_RUNS, name))
    except ValueError:  # some producers write invalid ids; the format requires a UUID
        return str(uuid.uuid5(_RUNS, str(given)))


def _event_time(properties: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the time in a property, with an offset, as the format requires."""
    value = next((properties[name] for name in names if name in properties), None)
    if value is None:
        return None
    try:
        time = dt.datetime.fromisoformat(str(value))
    except ValueError:
        raise BadGraph(f"{names[0]} is {value!r}, which is not a time such as 2026-01-31T12:00:00Z") from None
    return str(value) if time.tzinfo else time.replace(tzinfo=dt.UTC).isoformat()


def _end(properties: Mapping[str, Any]) -> str:
    state = properties.get("state")
    if state in ("ABORT", "FAIL"):
        return str(state)
    return "FAIL" if properties.get("error") or properties.get("exit_code") not in (None, 0) else "COMPLETE"


# --- files


def write(graph: Graph, path: Place) -> None:
    """Write the events of a graph: as a list if the file's suffix is .json, else one per line."""
    found = events(graph)
    if Path(path).suffix.lower() == ".json":
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    else:
        text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in found)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


def is_event_file(path: Path) -> bool:
    """Whether a JSON file contains run events: an object with a run and a job, or a list that begins with one."""
    try:
        text = path.read_text(encoding="utf-8")
        if "\\" not in text and not ('"run"' in text and '"job"' in text):  # probably a large PROV document
            return False
        found = strict_json.loads(text, str(path))
    except (OSError, UnicodeDecodeError, BadGraph):  # another reader reports the error
        return False
    first = found[0] if isinstance(found, list) and found else found
    return isinstance(first, dict) and {"run", "job"} <= first.keys()


def read(path: Place) -> Graph:
    """Read the graph of a file of events."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    if Path(path).suffix.lower() == ".json":
        found = strict_json.loads(text, str(path))
        items = found if isinstance(found, list) else [found]
        return graph_of(items, [f"{path}, event {place}" for place in range(len(items))])
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    names = [f"{path}, line {number}" for number, _ in lines]
    items = [strict_json.loads(line, name) for (_, line), name in zip(lines, names, strict=True)]
    return graph_of(items, names)
