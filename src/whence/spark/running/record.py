"""Record runs of pipelines in the log: what they read, what they saved, and the activity."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.rows.saving import OUTPUT, PlanPath
from whence.spark.running.artifacts import RunArtifacts, opened
from whence.spark.running.document import run_document
from whence.spark.running.fingerprint import digest, fingerprint, saved_at
from whence.spark.sources.handed import handed_file
from whence.spark.tables.recording import record_tables

if TYPE_CHECKING:
    from whence.spark.analysis import Analysis
    from whence.store import Store
    from whence.store.recording.activity import Activity
    from whence.store.recording.artifacts import Content
    from whence.store.recording.writer import Blob

HASHED = 16 << 20  # a file of at most this many bytes is identified by the hash of its content
PLAN_CHARACTERS = 20_000  # of a plan are written to the log
LISTED_FILES = 20  # of a source are written to the log


def record(store: Store, analysis: Analysis, run: RunArtifacts, started: str) -> RunArtifacts:
    """Write a run to the log with everything it saved, and read its results from there from now on.

    If the log cannot be written, the pipeline does not fail: then the saved results last as long as this process.
    """
    try:
        number, files, saved = _stored(store, analysis, run, started, {})
        run = replace(run, results=opened(store, files, saved, run.results), recorded=number)
        record_tables(store, analysis, run, quickly=True)
        return run
    except (WhenceError, OSError) as error:
        return replace(run, failures=(*run.failures, f"the run could not be recorded in the log: {error}"))


def stored_run(
    store: Store, analysis: Analysis, run: RunArtifacts, started: str, there: Mapping[PlanPath, Sequence[Blob]]
) -> int:
    """Write a run to the log whose results are already among the blobs, and return its id."""
    return _stored(store, analysis, run, started, there)[0]


def _stored(
    store: Store, analysis: Analysis, run: RunArtifacts, started: str, there: Mapping[PlanPath, Sequence[Blob]]
) -> tuple[int, tuple[str, ...], list[dict[str, Any]]]:
    """Write a run to the log; return its id, its files, and what is saved in them."""
    from whence.store.catalog import runs
    from whence.store.catalog.runs import File

    files: list[Blob] = []
    saved: list[dict[str, Any]] = []
    for place, result in run.results.items():
        first = len(files)
        files += there[place] if place in there else [File.of(Path(path).read_bytes()) for path in result.paths]
        saved.append(
            {
                "place": list(place),
                "columns": list(result.places),
                "files": list(range(first, len(files))),
                "rows": result.rows,
                "operator": digest(saved_at(analysis.unpinned_plan, place)),
            }
        )
    document: dict[str, Any] = {
        "plan": _plan(analysis, run, files),
        "saved": saved,
        "recomputed": [
            {"place": each.place, "columns": each.places} for each in run.trace_plan.saved if each.recomputed
        ],
        "sources": analysis.files,
        "failures": list(run.failures),
        "missing": run.trace_plan.unavailable_reason,
        "row_ids": run.row_id is not None,
        "pinned_time": None if analysis.time is None else analysis.time.isoformat(),
    }
    activity, document["artifacts"] = _activity_of_run(store, analysis, run, started)
    stored = runs.record(store, activity, analysis.name, fingerprint(analysis), document, files)
    return stored.id, stored.files, saved


def add_output(store: Store, run: RunArtifacts) -> RunArtifacts:
    """Add the output of a recorded run to the log. It was too large to be saved during the run."""
    from whence.store.catalog import runs
    from whence.store.catalog.runs import File

    if run.recorded is None:
        return run
    result = run.results[OUTPUT]
    files = [File.of(Path(path).read_bytes()) for path in result.paths]
    saved = {"place": list(OUTPUT), "columns": list(result.places), "rows": result.rows}
    stored = runs.add_result(store, run.recorded, saved, files)
    entry = next(each for each in stored.document["saved"] if tuple(each["place"]) == OUTPUT)
    return replace(run, results={**run.results, **opened(store, stored.files, [entry], run.results)})


def _plan(analysis: Analysis, run: RunArtifacts, files: list[Blob]) -> dict[str, Any]:
    """Add the document that lets a later program ask the run, and return which file it is; or why there is none."""
    from whence.store.catalog.runs import File

    try:
        files.append(File.of(run_document(analysis, run.trace_plan)))
    except WhenceError as error:
        return {"missing": str(error)}
    return {"file": len(files) - 1}


def _activity_of_run(
    store: Store, analysis: Analysis, run: RunArtifacts, started: str
) -> tuple[Activity, dict[str, str]]:
    """The activity of the run in the project graph, with the versions that it read; and the artifact of each source."""
    activity = store.activity(analysis.name, command=f"pipeline {analysis.name}")
    activity.started = started
    activity.note(
        plan=str(analysis.plan)[:PLAN_CHARACTERS], sources=list(analysis.source_names), failures=list(run.failures)
    )
    paths = {source.name: source.paths for source in analysis.sources}
    read = {
        name: _content_of_source(store, paths[name], files)
        for name, files in analysis.files.items()
        if files and handed_file(paths[name]) is None  # handed-over rows are already in the log
    }
    for content in read.values():
        activity.used_content(content)
    datasets = {name: content.artifact for name, content in read.items()}
    return activity, datasets


def _content_of_source(store: Store, paths: tuple[str, ...], files: list[list[Any]]) -> Content:
    """The content of a source: a file's hash, unless the file is large and not known yet; a directory's list of
    files.
    """
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
