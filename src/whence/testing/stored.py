"""Record runs of plans in a log without Spark: the interpreter runs the plan, and files contain what a run saves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from whence.errors import BadType
from whence.log import Log
from whence.rows import Operator, Source, Tree, transform
from whence.rows.documents import StoredPlan
from whence.rows.questions.restrict import sources as sources_of
from whence.rows.saving import OUTPUT, trace_plan
from whence.spark.running.document import RunDocument, run_document
from whence.spark.running.fingerprint import SETTINGS
from whence.spark.sources.kind import Listing
from whence.spark.sources.stored import StoredLeaf
from whence.spark.stored import StoredRun, open_run
from whence.spark.stored.analysis import StoredAnalysis
from whence.spark.tracing.recompute import cheap_to_recompute
from whence.store.catalog import runs, schema
from whence.store.recording.writer import commit
from whence.testing.interpreter import Tables, run

VALUES = dict(zip(SETTINGS, ("UTC", "true", "false"), strict=True))


def recorded(log: Log, plan: Operator, tables: Tables, folder: Path, witness: str = "rows") -> StoredRun | None:
    """Record a run of a plan with long columns; return None if questions about such a plan would have to replay it.

    Each table is a Parquet file with few rows in a row group.
    """
    store = log._store
    files = {name: _parquet(folder / f"{name}.parquet", rows) for name, rows in tables.items()}

    def placed(part: Tree) -> Tree:
        if not isinstance(part, Source):
            return part
        path = f"file:{files[part.name]}"
        listing = Listing((path,), (path,), {})
        fields = [{"name": each.name, "type": "long", "nullable": True, "metadata": {}} for each in part.columns]
        schema = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))
        return replace(part, format="parquet", paths=(path,), origin=StoredLeaf("parquet", listing, schema))

    plan = transform(plan, placed)
    trace = trace_plan(plan, witness).with_recomputed(cheap_to_recompute)
    if trace.unavailable_reason or trace.limit_to_check is not None:
        return None
    results: list[runs.File] = []
    saved: list[dict[str, Any]] = []
    shown = tuple(dict.fromkeys(plan.output))
    kept: list[Any] = [(OUTPUT, plan, shown, [plan.output.index(attr) for attr in shown])]
    kept += [(each.place, each.operator, each.columns, each.places) for each in trace.written]
    for place, operator, columns, places in kept:
        rows = [row.shown(columns) for row in run(operator, tables, witness)]
        number = len(results)
        results.append(runs.File.of(_parquet(folder / f"saved{number}", rows, len(columns)).read_bytes()))
        saved.append({"place": list(place), "columns": places, "files": [number], "rows": len(rows)})
    versions = {source.name: frozenset({(source.paths[0], *_state(files[source.name]))}) for source in sources_of(plan)}
    analysis = StoredAnalysis.of(RunDocument(StoredPlan(plan, trace), VALUES, witness), versions, "made", store)
    results.append(runs.File.of(run_document(analysis, trace)))
    document = {
        "plan": {"file": len(saved)},
        "saved": saved,
        "sources": analysis.files,
        "failures": [],
        "missing": None,
    }
    activity = store.activity("made")
    activity.started = datetime.now(UTC).isoformat()
    return open_run(store, runs.record(store, activity, "made", None, document, results).id)


def _parquet(path: Path, rows: Any, width: int | None = None) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = list(zip(*rows, strict=True)) or [()] * (2 if width is None else width)
    names = ["k", "v"] if width is None else [f"c{place}" for place in range(width)]
    if len(columns) != len(names):
        raise BadType(f"the tables have the columns {', '.join(names)}")
    arrays = [pa.array(column, pa.int64()) for column in columns]
    pq.write_table(pa.table(dict(zip(names, arrays, strict=True))), path, row_group_size=2)
    return path


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns // 1_000_000


def written_over(log: Log, change: Callable[[Any], Any]) -> StoredRun:
    """Replace the plan of the last run in a log, as an attacker who made the log might."""
    run = log.runs()[-1]
    held = run.record.document["plan"]["file"]
    data = change(json.loads(log._store.blobs.local(run.record.files[held], "plan").read_bytes()))
    file = runs.File.of(data if isinstance(data, bytes) else json.dumps(data).encode())

    def write(connection: sa.Connection) -> None:
        of = schema.results.c
        connection.execute(schema.results.update().where(of.run == run.id, of.position == held).values(hash=file.hash))

    commit(log._store, [file], write)
    return StoredRun(log._store, runs.listed(log._store)[-1])
