"""Runs of pipelines in the log: what was read, what was saved, and by which activity."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import Damaged, WhenceError
from whence.rows.saving import ANNOTATED, OUTPUT, PlanPath
from whence.spark.running.artifacts import Result, RunArtifacts
from whence.spark.running.fingerprint import digest, fingerprint, saved_at

if TYPE_CHECKING:
    from whence.spark.analysis import Analysis
    from whence.store import Store
    from whence.store.recording.activity import Activity
    from whence.store.recording.artifacts import Content

HASHED = 16 << 20  # bytes of a file up to which its version is known by all of them
PLAN_CHARACTERS = 20_000  # of a plan that are written to the log
LISTED_FILES = 20  # of a source that are written to the log


def record(store: Store, analysis: Analysis, run: RunArtifacts, started: str) -> RunArtifacts:
    """Write a run to the store, with all it saved. From now on its results are read from there.

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
                    "operator": digest(saved_at(analysis.unpinned_plan, place)),
                }
            )
        document = {
            "saved": saved,
            "virtual": [{"place": each.place, "columns": each.places} for each in run.trace_plan.saved if each.virtual],
            "sources": analysis.files,
            "failures": list(run.failures),
            "missing": run.trace_plan.unavailable_reason,
            "row_ids": run.row_id is not None,
            "pinned_time": None if analysis.time is None else analysis.time.isoformat(),
        }
        activity = _activity_of_run(store, analysis, run, started)
        stored = runs.record(store, activity, analysis.name, fingerprint(analysis), document, files)
        return replace(run, results=opened(store, stored.files, saved, run.results))
    except (WhenceError, OSError) as error:
        return replace(run, failures=(*run.failures, f"the run could not be recorded in the log: {error}"))


def opened(store: Store, files: tuple[str, ...], saved: list[dict[str, Any]], results: Any) -> dict[PlanPath, Result]:
    """The results with their files as the log has them on this machine."""
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


def _activity_of_run(store: Store, analysis: Analysis, run: RunArtifacts, started: str) -> Activity:
    """The run as the project graph has it: what it read, in which versions, and the output with its columns."""
    from whence.graph.column_lineage import column_lineage
    from whence.store.recording.artifacts import Content

    activity = store.activity(analysis.name, command=f"pipeline {analysis.name}")
    activity.started = started
    activity.note(
        plan=str(analysis.plan)[:PLAN_CHARACTERS], sources=list(analysis.source_names), failures=list(run.failures)
    )
    paths = {source.name: source.paths for source in analysis.sources}
    read = {name: _content_of_source(store, paths[name], files) for name, files in analysis.files.items() if files}
    for content in read.values():
        activity.used_content(content)
    output = run.results.get(OUTPUT)
    made = hashlib.sha256(Path(output.paths[0]).read_bytes()).hexdigest() if output else f"run of {activity.started}"
    datasets = {name: content.artifact for name, content in read.items()}
    properties: dict[str, Any] = {"columns": column_lineage(analysis.columns(), datasets)}
    if output:
        properties["rows"] = output.rows
    activity.generated_content(Content(f"{analysis.name} (output)", "", made, 0, "table", properties))
    return activity


def _content_of_source(store: Store, paths: tuple[str, ...], files: list[list[Any]]) -> Content:
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
    return Content(name, path, digest, total, "table", {"files": files[:LISTED_FILES], "path": path})
