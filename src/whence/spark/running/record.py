"""Runs of pipelines in the log: what was read, by whom, what was saved; and finding them again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import Damaged, WhenceError
from whence.rows import (
    AggCall,
    Attr,
    Call,
    Cogroup,
    GroupedMap,
    Opaque,
    Operator,
    Source,
    Udf,
    Values,
    WindowCall,
    fresh,
    like,
    walk,
)
from whence.rows.questions.restrict import sources as sources_of
from whence.rows.saving import ANNOTATED, OUTPUT, PlanPath, Sizes, TracePlan, operator_at, trace_plan
from whence.rows.tree import Tree, transform, written
from whence.spark.running.materialize import Result, RunArtifacts
from whence.spark.tracing.annotated import row_id

if TYPE_CHECKING:
    from whence.spark.pipeline import Pipeline
    from whence.store import Store
    from whence.store.catalog.runs import Run
    from whence.store.recording.activity import Activity
    from whence.store.recording.artifacts import Content

HASHED = 16 << 20  # bytes of a file up to which its version is known by all of them
LONGEST, SHOWN = 20_000, 20  # characters of a plan, and files of a source, that are written down
SETTINGS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.caseSensitive")


def canonical(plan: Operator) -> str:
    """The plan as text that is the same in every session: columns are numbered as they are met."""
    numbers: dict[int, int] = {}

    def change(part: Tree) -> Tree:
        if isinstance(part, Attr):
            return replace(part, id=numbers.setdefault(part.id, len(numbers)))
        if isinstance(part, Call) and part.name == "Uuid":  # its seed is another one in every session
            return replace(part, detail="")
        return part

    return written(transform(plan, change))


def fingerprint(pipeline: Pipeline) -> str | None:
    """A hash that is the same for the same pipeline; None where the plan does not show all that it does."""
    hidden = (Udf, GroupedMap, Cogroup, Opaque)
    for part in walk(pipeline.unpinned_plan):
        if isinstance(part, hidden) or (isinstance(part, AggCall | WindowCall) and part.python):
            return None
        if isinstance(part, Source) and not part.paths:
            return None
        if isinstance(part, Values) and getattr(part.origin, "nodeName", str)() != "OneRowRelation":
            return None
    settings = [str(pipeline._df.sparkSession.conf.get(name)) for name in SETTINGS]
    text = "\n".join((canonical(pipeline.unpinned_plan), pipeline.witness, *settings))
    return hashlib.sha256(text.encode()).hexdigest()


def sizes(pipeline: Pipeline, store: Store | None) -> Sizes:
    """What is known of sizes: what Catalyst says of the sources, and what earlier runs measured."""
    found: dict[str, float] = {}
    for source in sources_of(pipeline.plan):
        origin: Any = source.origin
        width = max(1, sum(8 for _ in source.columns))
        found[source.name] = float(str(origin.stats().sizeInBytes())) / width
    return Sizes(found, {} if store is None else _measured(pipeline, store))


def _measured(pipeline: Pipeline, store: Store) -> dict[str, int]:
    from whence.store.catalog import runs

    measured: dict[str, int] = {}
    try:
        earlier = runs.listed(store, pipeline.called)
    except WhenceError:  # estimates have to do; whoever needs the log hears of it
        return measured
    for run in earlier:
        for saved in run.document.get("saved", ()):
            place = tuple(saved["place"])
            try:
                digest, op = _digest(_saved_at(pipeline.unpinned_plan, place)), _saved_at(pipeline.plan, place)
            except IndexError:  # the pipeline was another one then
                continue
            if saved.get("operator") == digest:
                measured[str(op)] = int(saved["rows"])
    return measured


def record(store: Store, pipeline: Pipeline, run: RunArtifacts, started: str) -> RunArtifacts:
    """Write a run to the store, with all it saved; what it kept is read from there from now on.

    A log that cannot be written to does not fail the pipeline: what was saved then lives as long as this process.
    """
    from whence.store.catalog import runs
    from whence.store.catalog.runs import File

    try:
        files, saved = list[File](), []
        for place, result in run.results.items():
            numbers = []
            for path in result.paths:
                numbers.append(len(files))
                files.append(File.of(Path(path).read_bytes()))
            saved.append(
                {
                    "place": list(place),
                    "columns": list(result.places),
                    "files": numbers,
                    "rows": result.rows,
                    "operator": _digest(_saved_at(pipeline.unpinned_plan, place)),
                }
            )
        document = {
            "saved": saved,
            "virtual": [{"place": each.place, "columns": each.places} for each in run.trace_plan.saved if each.virtual],
            "sources": pipeline.versions,
            "failures": list(run.failures),
            "missing": run.trace_plan.unavailable_reason,
            "row_ids": run.row_id is not None,
            "pinned_time": None if pipeline.pinned_time is None else pipeline.pinned_time.isoformat(),
        }
        activity = _activity(store, pipeline, run, started)
        stored = runs.record(store, activity, pipeline.called, fingerprint(pipeline), document, files)
        return replace(run, results=_opened(store, stored.files, saved, run.results))
    except (WhenceError, OSError) as error:
        return replace(run, failures=(*run.failures, f"the run could not be recorded in the log: {error}"))


def recorded(store: Store, pipeline: Pipeline) -> RunArtifacts | None:
    """What the last run of the same pipeline over the same sources kept; None if there is none."""
    from whence.store.catalog import runs

    key = fingerprint(pipeline)
    for run in [] if key is None else runs.alike(store, key):
        if run.document.get("sources") == json.loads(json.dumps(pipeline.versions)):
            found = _artifacts(store, pipeline, run)
            if found is not None or pipeline.pinned_time is not None:  # it is the last run that questions are about
                return found
    return None


def changed(store: Store, pipeline: Pipeline) -> str:
    """What to say if the last run of the same pipeline read other data: which sources, and when; else nothing."""
    from whence.store.catalog import runs

    key = fingerprint(pipeline)
    now = json.loads(json.dumps(pipeline.versions))
    for run in [] if key is None else runs.alike(store, key, 1):
        before = run.document.get("sources", {})
        names = [name for name in now if before.get(name) != now[name]]
        if names:
            return f"; since the run of {run.created}, the source {', '.join(names)} has changed"
    return ""


def _artifacts(store: Store, pipeline: Pipeline, run: Run) -> RunArtifacts | None:
    saved = {tuple(each["place"]): each for each in run.document["saved"]}
    pinned_time = run.document.get("pinned_time")
    if pinned_time is not None:
        pipeline.pin_time(datetime.fromisoformat(pinned_time))
    if ANNOTATED in saved:
        columns = tuple(map(like, (*pipeline.annotated_plan.output, fresh("_place", "long", nullable=False))))
        table = Result((), columns, tuple(range(len(columns))), saved[ANNOTATED]["rows"])
        shown = row_id(pipeline.plan.output) if run.document.get("row_ids") else None
        files = _opened(store, run.files, run.document["saved"], {ANNOTATED: table})
        return RunArtifacts(TracePlan(unavailable_reason=run.document["missing"]), files, annotated=True, row_id=shown)
    virtual = {tuple(each["place"]): each["columns"] for each in run.document.get("virtual", ())}
    chosen = virtual | {place: each["columns"] for place, each in saved.items() if place != OUTPUT}
    found = trace_plan(pipeline.plan, pipeline.witness, chosen=chosen).with_virtual(lambda each: each.place in virtual)
    if (
        run.document["missing"]
        or found.unavailable_reason
        or {each.place for each in found.saved} != chosen.keys()
        or OUTPUT not in saved
    ):
        return None
    columns_of = {each.place: each.columns for each in found.saved}
    columns_of[OUTPUT] = tuple(pipeline.plan.output[index] for index in saved[OUTPUT]["columns"])
    results = {
        place: Result((), columns_of[place], tuple(each["columns"]), each["rows"]) for place, each in saved.items()
    }
    return RunArtifacts(found, _opened(store, run.files, run.document["saved"], results), None)


def _opened(store: Store, files: tuple[str, ...], saved: list[dict[str, Any]], results: Any) -> dict[PlanPath, Result]:
    found = {}
    for each in saved:
        place = tuple(each["place"])
        title = "the output" if place in (OUTPUT, ANNOTATED) else "a saved result"
        try:
            paths = tuple(str(store.blobs.local(files[number], title)) for number in each["files"])
        except Damaged as error:
            raise Damaged(f"{error}. Until then, log.pipeline(df, save='never') answers by replay") from error
        found[place] = replace(results[place], paths=paths)
    return found


def _activity(store: Store, pipeline: Pipeline, run: RunArtifacts, started: str) -> Activity:
    """The run as the project graph has it: what it read, in which versions, and the output with its columns."""
    from whence.graph.column_lineage import column_lineage
    from whence.store.recording.artifacts import Content

    activity = store.activity(pipeline.called, command=f"pipeline {pipeline.called}")
    activity.started = started
    activity.note(plan=str(pipeline.plan)[:LONGEST], sources=list(pipeline.sources), failures=list(run.failures))
    paths = {source.name: source.paths for source in sources_of(pipeline.plan)}
    read = {name: _content(store, paths[name], files) for name, files in pipeline.versions.items() if files}
    for content in read.values():
        activity.used_content(content)
    output = run.results.get(OUTPUT)
    made = hashlib.sha256(Path(output.paths[0]).read_bytes()).hexdigest() if output else f"run of {activity.started}"
    datasets = {name: content.artifact for name, content in read.items()}
    properties: dict[str, Any] = {"columns": column_lineage(pipeline.columns(), datasets)}
    if output:
        properties["rows"] = output.rows
    activity.generated_content(Content(f"{pipeline.called} (output)", "", made, 0, "table", properties))
    return activity


def _content(store: Store, paths: tuple[str, ...], files: list[list[Any]]) -> Content:
    """What a source held: a file by its bytes, unless it is large and not known yet; a directory by its files."""
    from whence.store.recording.artifacts import Content, artifact_name, content_of, project_of, unchanged

    project = project_of(store.where)
    path = paths[0] if len(paths) == 1 else paths[0].rsplit("/", 1)[0]
    local = path.startswith("file:/")
    if local:
        path = "/" + path.removeprefix("file:").lstrip("/")
    name = artifact_name(path, project) if local else path
    if local and Path(path).is_file():
        ((_, size, changed),) = files
        with store.database.read() as connection:
            known = unchanged(connection, name, size, changed * 1_000_000)
        if known is not None:
            return Content(name, path, known, size)
        if size <= HASHED:
            return content_of(path, project)
    digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    total = sum(size for _, size, _ in files)
    return Content(name, path, digest, total, "table", {"files": files[:SHOWN], "path": path})


def _saved_at(plan: Operator, place: PlanPath) -> Operator:
    """What a table holds the rows of."""
    return plan if place in (OUTPUT, ANNOTATED) else operator_at(plan, place)


def _digest(op: Operator) -> str:
    return hashlib.sha256(canonical(op).encode()).hexdigest()[:16]
