"""Read OpenLineage run events: runs as activities, datasets as versions."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.graph import Graph, GraphWarning
from whence.graph.model import CODES
from whence.interop.openlineage_fields import Event, Fields

_ENDS = {"COMPLETE", "FAIL", "ABORT"}
FAILED = {"FAIL", "ABORT"}
# Facets that a graph can express.
_JOB, _DATASET = {"ownership"}, {"whence_entity", "version", "columnLineage"}


def graph_of(items: Iterable[Any], names: Sequence[str] | None = None) -> Graph:
    """Return the graph of events; the events of one run are one activity. `names` are names of events for messages.

    A dataset that several runs write has a version for each; a run reads the latest version. A run that failed or was
    aborted generated nothing: its outputs are in its property `outputs_not_generated`. A run was informed by its
    parent. Facets that a graph cannot express are kept in properties called `openlineage`.

    >>> run = {"runId": "0190-1"}
    >>> event = {"eventType": "COMPLETE", "eventTime": "2026-01-01T00:00:00Z", "run": run,
    ...          "job": {"namespace": "etl", "name": "load"},
    ...          "inputs": [{"namespace": "s3", "name": "raw"}], "outputs": [{"namespace": "db", "name": "t"}]}
    >>> graph_of([event]).edges
    [('etl/load/0190-1', 'used', 's3/raw@v1'), ('db/t@v1', 'wasGeneratedBy', 'etl/load/0190-1')]
    """
    runs: dict[str, _Run] = {}
    for place, item in enumerate(items):
        event = Fields.of(item, names[place] if names else f"event {place}")
        if "run" not in event and ("job" in event or "dataset" in event):
            warnings.warn(f"{event.event} belongs to no run, and is left out", GraphWarning, stacklevel=2)
            continue
        identity = _run_id(event.object("run"), event)
        runs.setdefault(identity, _Run(identity)).add(event)
    taker = _RunReader({run.id: run.name for run in runs.values()})
    for run in sorted(runs.values(), key=lambda each: each.started):
        taker.run(run)
    return Graph.build(taker.vertices.values(), [*taker.edges.values(), *taker.related()])


def _run_id(run: Fields, event: Fields) -> str:
    return run.text("runId") if "run" in event else event.text("run")


@dataclass
class _Dataset:
    """One input or output of a run, merged from all its events."""

    fields: Fields
    facets: Event = field(default_factory=dict)
    more: Event = field(default_factory=dict)  # facets of the edge

    @property
    def named(self) -> dict[str, str]:
        return {key: self.fields.text(key) for key in ("namespace", "name")}

    def facet(self, name: str) -> Fields:
        return Fields(self.fields.event, f"{self.fields.path}.facets", self.facets).object(name)


@dataclass
class _Run:
    """All events of one run."""

    id: str
    events: list[tuple[dt.datetime, str, Fields]] = field(default_factory=list)

    def add(self, event: Fields) -> None:
        self.events.append((*event.time("eventTime"), event))

    @property
    def started(self) -> dt.datetime:
        return min(time for time, _, _ in self.events)

    @property
    def ordered(self) -> list[Fields]:
        """The events by time; events of the same time in the order of the file."""
        return [event for _, _, event in sorted(self.events, key=lambda each: each[0])]

    def facets(self, part: str) -> Fields:
        """Return the facets of the run or its job, merged from all events."""
        together: Event = {}
        for event in self.ordered:
            together |= event.object(part).object("facets").content
        return Fields(self.ordered[0].event, f"{part}.facets", together)

    @property
    def job(self) -> dict[str, str]:
        job = self.events[0][2].object("job")
        return {key: job.text(key) for key in ("namespace", "name")}

    @property
    def name(self) -> str:
        """The id of the run in the graph."""
        own = self.facets("run")
        return (
            own.object("whence_activity").text("id") if "whence_activity" in own else _activity_name(self.job, self.id)
        )

    def times(self) -> Event:
        found: Event = {}
        for _, text, event in sorted(self.events, key=lambda each: each[0]):
            kind = event.optional("eventType")
            if kind == "START":
                found.setdefault("prov:startTime", text)
            elif kind in _ENDS:
                found |= {"prov:endTime": text, "state": kind}
        return found

    def side(self, side: str, more: str) -> list[_Dataset]:
        """Return the inputs or outputs, merged from all events."""
        found: dict[tuple[str, str, str], _Dataset] = {}
        for event in self.ordered:
            for each in event.objects(side):
                facets = each.object("facets")
                label = facets.object("whence_entity").optional("id") or ""
                known = found.setdefault((each.text("namespace"), each.text("name"), label), _Dataset(each))
                known.facets |= facets.content
                known.more |= each.object(more).content
        return list(found.values())


def _activity_name(job: Mapping[str, str], run: str) -> str:
    return f"{job['namespace']}/{job['name']}/{run}"


class _RunReader:
    def __init__(self, runs: Mapping[str, str]) -> None:
        self.runs = runs  # names of the runs with events, by id
        self.vertices: dict[str, tuple[str, str, Event]] = {}
        self.edges: dict[str, tuple[str, str, str, Event]] = {}  # without duplicates
        self.latest: dict[str, int] = {}
        self.relations: dict[str, list[tuple[str, str, Event]]] = {}  # relations that the format cannot express

    def related(self) -> list[tuple[str, str, str, Event]]:
        """Return the relations whose target is in some event."""
        return [
            (source, relation, target, attributes)
            for source, edges in self.relations.items()
            for relation, target, attributes in edges
            if target in self.vertices
        ]

    def note(self, own: Fields) -> tuple[str, Event]:
        """Return the id and properties in a facet of whence, and add its relations once."""
        name = own.text("id")
        if name not in self.relations:
            self.relations[name] = []
            for each in own.objects("relations"):
                relation, target = each.text("relation"), each.text("target")
                if relation not in CODES:
                    raise each.wrong("relation", "a relation of PROV")
                self.relations[name].append((relation, target, each.object("attributes").content))
                if "agent" in each:
                    self.vertices.setdefault(target, (target, "agent", each.object("agent").content))
        return name, own.object("properties").content

    def run(self, run: _Run) -> None:
        """Add the activity of a run, from all its events."""
        facets = run.facets("run")
        inputs, outputs = run.side("inputs", "inputFacets"), run.side("outputs", "outputFacets")
        if "whence_activity" in facets:
            own = facets.object("whence_activity")
            name, properties = self.note(own)
            agents = [(each.text("id"), each) for each in own.objects("agents")]
            # Outputs without a facet of whence were not generated; the properties list them, too.
            outputs = [each for each in outputs if "whence_entity" in each.facets]
        else:
            name, properties = run.name, self.described(run, facets)
            owners = run.facets("job").object("ownership").objects("owners")
            agents = [(each.text("name"), Fields(each.event, each.path, {})) for each in owners]
            self.parents(name, facets)
            if properties.get("state") in FAILED:
                if outputs:
                    properties["outputs_not_generated"] = [
                        {**each.named, "facets": each.facets, **({"outputFacets": each.more} if each.more else {})}
                        for each in outputs
                    ]
                outputs = []
        self.vertices[name] = (name, "activity", properties)
        for person, given in agents:
            self.vertices.setdefault(person, (person, "agent", given.object("properties").content))
            self.edge(name, "wasAssociatedWith", person, given.object("attributes").content)
        for each in inputs:
            used = self.dataset(each, made=False)
            for attributes in _edge_attributes(each):
                self.edge(name, "used", used, attributes)
        for each in outputs:
            made = self.dataset(each, made=True)
            for attributes in _edge_attributes(each):
                self.edge(made, "wasGeneratedBy", name, attributes)

    def described(self, run: _Run, facets: Fields) -> Event:
        """Return the properties of a run that whence did not write."""
        job = run.job
        described: Event = {"job": _with_facets(dict(job), run.facets("job").content, _JOB)}
        if facets.content:
            described["run"] = {"facets": facets.content}
        return {**_stub(job, run.id), **run.times(), "openlineage": described}

    def parents(self, name: str, facets: Fields) -> None:
        """Add that the run was informed by its parent, and the parent by the root run."""
        if "parent" not in facets:
            return
        parent = facets.object("parent")
        above = [parent, *([parent.object("root")] if "root" in parent else [])]
        for each in above:
            job = {key: each.object("job").text(key) for key in ("namespace", "name")}
            run = each.object("run").text("runId")
            other = self.runs.get(run) or _activity_name(job, run)
            if other == name:
                continue
            self.vertices.setdefault(other, (other, "activity", _stub(job, run)))
            self.edge(name, "wasInformedBy", other, {})
            name = other

    def edge(self, source: str, relation: str, target: str, attributes: Event) -> None:
        edge = (source, relation, target, attributes)
        self.edges.setdefault(json.dumps(edge, sort_keys=True), edge)

    def dataset(self, dataset: _Dataset, made: bool) -> str:
        """Return the entity of an input or output."""
        facets = dataset.facets
        if "whence_entity" in facets:
            name, properties = self.note(dataset.facet("whence_entity"))
            self.vertices.setdefault(name, (name, "entity", properties))
            return name
        named = dataset.named
        artifact = f"{named['namespace']}/{named['name']}"
        version: str | int | None = dataset.facet("version").optional("datasetVersion")
        if version is None:
            if made or artifact not in self.latest:
                self.latest[artifact] = self.latest.get(artifact, 0) + 1
            version = self.latest[artifact]
        name = f"{artifact}@v{version}"
        properties = {"artifact": artifact, "version": version}
        lineage = dataset.facet("columnLineage").content
        if lineage:
            properties["column_lineage"] = {key: value for key, value in lineage.items() if not key.startswith("_")}
        kept = _with_facets(dict(named), facets, _DATASET)
        known = self.vertices.setdefault(name, (name, "entity", properties))[2]
        before = known.get("openlineage", {}).get("facets", {})
        known |= {**properties, "openlineage": _with_facets(kept, before | kept.get("facets", {}), set())}
        return name


def _stub(job: Mapping[str, str], run: str) -> Event:
    """Return the properties of a run without events; its events add others when they are imported."""
    called = f"{job['namespace']}/{job['name']}"
    return {"command": called, "openlineage_run": run, "openlineage_job": dict(job)}


def _edge_attributes(dataset: _Dataset) -> list[Event]:
    """Return the attributes of each edge to a dataset from whence's facet; the first also gets the other facets."""
    more = Fields(dataset.fields.event, f"{dataset.fields.path}.facets", dict(dataset.more))
    found = [each.content for each in more.object("whence_relation").objects("edges")]
    more.content.pop("whence_relation", None)
    first, *rest = found or [{}]
    return [{**first, "openlineage": {"facets": more.content}} if more.content else first, *rest]


def _with_facets(event: Event, facets: Event, known: set[str]) -> Event:
    others = {name: each for name, each in facets.items() if name not in known}
    return {**event, "facets": others} if others else {key: each for key, each in event.items() if key != "facets"}
