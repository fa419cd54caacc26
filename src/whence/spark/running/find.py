"""Find the run that questions refer to: the last run in the log of the same plan over the same files."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from whence.rows import fresh, like
from whence.rows.saving import ANNOTATED, OUTPUT, TracePlan, trace_plan
from whence.spark.running.annotated import row_id_column
from whence.spark.running.artifacts import Result, RunArtifacts, opened
from whence.spark.running.fingerprint import fingerprint
from whence.spark.running.subject import Subject

if TYPE_CHECKING:
    from whence.spark.analysis import Analysis
    from whence.store import Store
    from whence.store.catalog.runs import Run


def find(analysis: Analysis) -> Subject:
    """Return the subject of questions: the last run of the pipeline in the log, or the plan alone. This changes
    nothing.

    If the plan calls `current_timestamp()`, the subject's plan has the time of that run.
    """
    from whence.store.catalog import runs

    store, settings = analysis.store, analysis.settings
    if store is None or settings.mode == "eager" or settings.save == "never":
        return Subject(analysis)
    key, files = fingerprint(analysis), json.loads(json.dumps(analysis.files))
    for run in [] if key is None else runs.alike(store, key):
        if run.document.get("sources") == files:
            time = run.document.get("pinned_time")
            then = analysis if time is None else analysis.at(datetime.fromisoformat(time))
            found = _artifacts_of_run(store, then, run)
            if found is not None or time is not None:  # questions refer to the last run, even if its results are gone
                return Subject.of(then, found)
    return Subject(analysis)


def changed_since(analysis: Analysis) -> str:
    """Return the part of an error message that names the sources that changed since the last run, or an empty
    string.
    """
    from whence.store.catalog import runs

    key = None if analysis.store is None else fingerprint(analysis)
    if analysis.store is None or key is None:
        return ""
    now = json.loads(json.dumps(analysis.files))
    for run in runs.alike(analysis.store, key, 1):
        before = run.document.get("sources", {})
        names = [name for name in now if before.get(name) != now[name]]
        if names:
            return f"; since the run of {run.created}, the source {', '.join(names)} has changed"
    return ""


def _artifacts_of_run(store: Store, analysis: Analysis, run: Run) -> RunArtifacts | None:
    """What a recorded run saved; None if its rows cannot be traced with that."""
    plan, witness = analysis.plan, analysis.settings.witness
    saved = {tuple(each["place"]): each for each in run.document["saved"]}
    if ANNOTATED in saved:
        held = (*analysis.annotated(witness).plan.output, fresh("_place", "long", nullable=False))
        columns = tuple(map(like, held))
        table = Result((), columns, tuple(range(len(columns))), saved[ANNOTATED]["rows"])
        shown = row_id_column(plan.output) if run.document.get("row_ids") else None
        files = opened(store, run.files, run.document["saved"], {ANNOTATED: table})
        missing = TracePlan(unavailable_reason=run.document["missing"])
        return RunArtifacts(missing, files, annotated=True, row_id=shown, recorded=run.id)
    recomputed = {tuple(each["place"]): each["columns"] for each in run.document.get("recomputed", ())}
    chosen = recomputed | {place: each["columns"] for place, each in saved.items() if place != OUTPUT}
    found = trace_plan(plan, witness, chosen=chosen).with_recomputed(lambda each: each.place in recomputed)
    if (
        run.document["missing"]
        or found.unavailable_reason
        or {each.place for each in found.saved} != chosen.keys()
        or OUTPUT not in saved
    ):
        return None
    columns_of = {each.place: each.columns for each in found.saved}
    columns_of[OUTPUT] = tuple(plan.output[index] for index in saved[OUTPUT]["columns"])
    results = {
        place: Result((), columns_of[place], tuple(each["columns"]), each["rows"]) for place, each in saved.items()
    }
    return RunArtifacts(found, opened(store, run.files, run.document["saved"], results), None, recorded=run.id)
