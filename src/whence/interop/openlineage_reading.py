"""OpenLineage run events, in: the runs of others as activities, their datasets as versions."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from whence.errors import BadGraph
from whence.graph import Graph, GraphWarning

Event = dict[str, Any]
_ENDS = {"COMPLETE", "FAIL", "ABORT"}
# Facets that a graph has words for.
_RUN, _JOB, _DATASET = {"whence_activity"}, {"ownership"}, {"whence_entity", "version", "columnLineage"}


def graph_of(items: Iterable[Any]) -> Graph:
    """The graph of events; those of one run are one activity.

    A dataset that is written by several runs has a version for each; a run reads the version that was there last.
    Facets that a graph has no words for are kept in properties called `openlineage`.

    >>> run = {"runId": "0190-1"}
    >>> event = {"eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:00Z", "run": run,
    ...          "job": {"namespace": "etl", "name": "load"},
    ...          "inputs": [{"namespace": "s3", "name": "raw"}], "outputs": [{"namespace": "db", "name": "t"}]}
    >>> graph_of([event]).edges
    [('etl/load/0190-1', 'used', 's3/raw@v1'), ('db/t@v1', 'wasGeneratedBy', 'etl/load/0190-1')]
    """
    runs: dict[str, list[tuple[int, Event]]] = {}
    for place, event in enumerate(items):
        if isinstance(event, Mapping) and "run" not in event and ("job" in event or "dataset" in event):
            warnings.warn(f"event {place} is of no run, and is left out", GraphWarning, stacklevel=2)
            continue
        runs.setdefault(_text(event, place, "run", "runId"), []).append((place, event))
    taker = _Taker()
    for run, own in sorted(runs.items(), key=lambda pair: min(str(each.get("eventTime", "")) for _, each in pair[1])):
        taker.run(run, own)
    return Graph.build(taker.vertices.values(), [*taker.edges.values(), *taker.related()])


class _Taker:
    def __init__(self) -> None:
        self.vertices: dict[str, tuple[str, str, Event]] = {}
        self.edges: dict[str, tuple[str, str, str, Event]] = {}  # each once
        self.latest: dict[str, int] = {}
        self.relations: dict[str, list[tuple[str, str, Event]]] = {}  # those that the format has no place for

    def related(self) -> list[tuple[str, str, str, Event]]:
        """The relations whose other end some event speaks of."""
        return [
            (source, relation, target, attributes)
            for source, told in self.relations.items()
            for relation, target, attributes in told
            if target in self.vertices
        ]

    def note(self, own: Event, place: int) -> tuple[str, Event]:
        """The id and the properties out of a facet of whence's own; its relations are noted, once."""
        name = _text(own, place, "id")
        if name not in self.relations:
            self.relations[name] = []
            for each in _list(own, place, "relations"):
                target = _text(each, place, "target")
                self.relations[name].append(
                    (_text(each, place, "relation"), target, _mapping(each, place, "attributes"))
                )
                if "agent" in each:
                    self.vertices.setdefault(target, (target, "agent", _mapping(each, place, "agent")))
        return name, _mapping(own, place, "properties")

    def run(self, run: str, events: list[tuple[int, Event]]) -> None:
        """One activity out of all events of a run."""
        place, first = events[0]
        runs, jobs, sides = Event(), Event(), (dict[str, Event](), dict[str, Event]())
        for at, event in events:
            runs |= _mapping(_mapping(event, at, "run"), at, "facets")
            jobs |= _mapping(_mapping(event, at, "job"), at, "facets")
            for side, more, found in zip(
                ("inputs", "outputs"), ("inputFacets", "outputFacets"), sides, strict=True
            ):  # fmt: skip
                for each in _list(event, at, side):
                    _merge(found, each, at, more)
        own = runs.get("whence_activity")
        if own is not None:
            name, properties = self.note(own, place)
            agents = _list(own, place, "agents")
        else:
            job = {key: _text(first, place, "job", key) for key in ("namespace", "name")}
            called = f"{job['namespace']}/{job['name']}"
            name, properties = f"{called}/{run}", {"command": called, "openlineage_run": run, **_times(events)}
            told: Event = {"job": _with_facets(job, jobs, _JOB)}
            if runs:
                told["run"] = {"facets": runs}
            properties["openlineage"] = told
            owners = _list(_mapping(jobs, place, "ownership"), place, "owners")
            agents = [{"id": _text(each, place, "name")} for each in owners]
        self.vertices[name] = (name, "activity", properties)
        for agent in agents:
            person = _text(agent, place, "id")
            self.vertices.setdefault(person, (person, "agent", _mapping(agent, place, "properties")))
            self.edge(name, "wasAssociatedWith", person, _mapping(agent, place, "attributes"))
        for each in sides[0].values():
            used = self.dataset(each, place, made=False)
            for own in _attributes(each, place):
                self.edge(name, "used", used, own)
        for each in sides[1].values():
            made = self.dataset(each, place, made=True)
            for own in _attributes(each, place):
                self.edge(made, "wasGeneratedBy", name, own)

    def edge(self, source: str, relation: str, target: str, attributes: Event) -> None:
        edge = (source, relation, target, attributes)
        self.edges.setdefault(json.dumps(edge, sort_keys=True), edge)

    def dataset(self, told: Event, place: int, made: bool) -> str:
        """The entity that an input or output is."""
        facets = told["facets"]
        if "whence_entity" in facets:
            name, properties = self.note(_mapping(facets, place, "whence_entity"), place)
            self.vertices.setdefault(name, (name, "entity", properties))
            return name
        artifact = f"{told['namespace']}/{told['name']}"
        version = _mapping(facets, place, "version").get("datasetVersion")
        if version is None:
            if made or artifact not in self.latest:
                self.latest[artifact] = self.latest.get(artifact, 0) + 1
            version = self.latest[artifact]
        name = f"{artifact}@v{version}"
        properties = {"artifact": artifact, "version": version}
        lineage = _mapping(facets, place, "columnLineage")
        if lineage:
            properties["columns"] = {key: value for key, value in lineage.items() if not key.startswith("_")}
        kept = _with_facets({"namespace": told["namespace"], "name": told["name"]}, facets, _DATASET)
        known = self.vertices.setdefault(name, (name, "entity", properties))[2]
        before = known.get("openlineage", {}).get("facets", {})
        known |= {**properties, "openlineage": _with_facets(kept, before | kept.get("facets", {}), set())}
        return name


def _merge(found: dict[str, Event], told: object, place: int, more: str) -> None:
    """Take what an event says of a dataset to what earlier events of the run said."""
    namespace, name = (_text(told, place, key) for key in ("namespace", "name"))
    facets = _mapping(told, place, "facets")
    label = _mapping(facets, place, "whence_entity").get("id", "")
    known = found.setdefault(
        f"{namespace}\0{name}\0{label}", {"namespace": namespace, "name": name, "facets": {}, "more": {}}
    )
    known["facets"] |= facets
    known["more"] |= _mapping(told, place, more)


def _attributes(dataset: Event, place: int) -> list[Event]:
    """The attributes of each edge to a dataset: whence's own, and, with the first, the facets of others."""
    more = dict(dataset["more"])
    found = [
        _mapping({"edge": each}, place, "edge") for each in _list(more.pop("whence_relation", None), place, "edges")
    ]
    first, *rest = found or [{}]
    return [{**first, "openlineage": {"facets": more}} if more else first, *rest]


def _with_facets(told: Event, facets: Event, known: set[str]) -> Event:
    others = {name: each for name, each in facets.items() if name not in known}
    return {**told, "facets": others} if others else {key: each for key, each in told.items() if key != "facets"}


def _times(events: list[tuple[int, Event]]) -> Event:
    found: Event = {}
    for place, event in events:
        kind = event.get("eventType")
        if kind == "START":
            found.setdefault("prov:startTime", _text(event, place, "eventTime"))
        elif kind in _ENDS:
            found |= {"prov:endTime": _text(event, place, "eventTime"), "state": kind}
    return found


# --- what an event may hold


def _text(event: object, place: int, *keys: str) -> str:
    value = event
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, str) or not value:
        raise BadGraph(f"event {place} has no {'.'.join(keys)}, which OpenLineage asks for")
    return value


def _mapping(held: object, place: int, key: str) -> Event:
    """A part that may be missing, and otherwise is an object."""
    found = held.get(key) if isinstance(held, Mapping) else None
    if found is not None and not isinstance(found, Mapping):
        raise BadGraph(f"event {place}: {key} is no object, but {found!r}")
    return dict(found or {})


def _list(held: object, place: int, key: str) -> list[Any]:
    found = held.get(key) if isinstance(held, Mapping) else None
    if found is not None and not isinstance(found, list):
        raise BadGraph(f"event {place}: {key} is no list, but {found!r}")
    return list(found or ())
