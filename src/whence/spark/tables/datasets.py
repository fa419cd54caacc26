"""The tables of a run as datasets: each source with numbered rows, and the output as the run saved it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.rows.saving import OUTPUT
from whence.spark.lineage import widest_first
from whence.spark.running.fingerprint import digest
from whence.spark.sources.handed import handed_file
from whence.spark.sources.numbering import Numbering, numbering_of
from whence.spark.sources.registry import kind_of
from whence.spark.sources.row_ids import files_of, local_files
from whence.store.recording.tables import Table

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.spark.analysis import Analysis
    from whence.spark.running.artifacts import Result, RunArtifacts
    from whence.store.catalog.runs import Run

QUICK = 8 << 20  # while a run is recorded, Spark counts the rows of files up to this many bytes


def sources_of(analysis: Analysis) -> dict[str, Source]:
    """The sources by name; of several uses, the one with all columns."""
    uses: dict[str, list[Source]] = {}
    for each in analysis.sources:
        uses.setdefault(each.name, []).append(each)
    return {name: widest_first(every)[0] for name, every in uses.items()}


def numberings(analysis: Analysis, *, quickly: bool = False) -> dict[str, Numbering]:
    """How the rows of each source are numbered. With `quickly`, only sources whose rows are quick to count."""
    found = {}
    for name, source in sources_of(analysis).items():
        if not quickly or is_quick(source, analysis.files.get(name, [])):
            found[name] = numbering_of(source, analysis.jvm)
    return found


def is_quick(source: Source, states: list[list[Any]]) -> bool:
    """Whether its rows are quick to count: Parquet files with footers, small files, or rows in a plan."""
    if local_files(source) is not None:
        return True
    if states:
        return bool(sum(size for _, size, _ in states) <= QUICK)
    return source.origin is not None and str(source.origin.nodeName()) in ("LocalRelation", "Range")  # type: ignore[attr-defined]  # a JVM object


def source_tables(
    analysis: Analysis, numbered: Mapping[str, Numbering], artifacts: Mapping[str, str]
) -> dict[str, Table]:
    """The sources as tables of the log. `artifacts` are the versions of their files."""
    return {
        name: _source_table(source, analysis, numbered[name], artifacts.get(name))
        for name, source in sources_of(analysis).items()
        if name in numbered
    }


def _source_table(source: Source, analysis: Analysis, numbering: Numbering, artifact: str | None) -> Table:
    columns = tuple(attr.name for attr in source.columns)
    states = analysis.files.get(source.name, [])
    properties = {
        "types": [attr.dtype for attr in source.columns],
        "format": source.format,
        "paths": list(source.paths),
        "numbering": numbering.as_list(),
        "files": list(files_of(source) or ()),
        "states": states,
        **_options(source),
    }
    known = {"columns": columns, "states": states, "numbering": properties["numbering"], "format": source.format}
    if not states:  # in memory, or in another system: not shared between sessions
        known["session"] = str(analysis.jvm.spark.sparkContext.applicationId)
        known["leaf"] = str(source.origin._target_id) if source.origin is not None else ""  # type: ignore[attr-defined]  # a JVM object
    handed = handed_file(source.paths)
    if handed is not None:
        return Table(source.name, columns, numbering.rows, handed.digest, properties)
    content = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    if source.cut:
        properties["note"] = f"is where the lineage ends: {source.cut}"
    return Table(source.name, columns, numbering.rows, content, properties, artifact)


def _options(source: Source) -> dict[str, Any]:
    """The options for reading files, if their format needs them."""
    if source.format == "parquet" or source.origin is None:
        return {}
    found = kind_of(source.origin).reading(source.origin)
    return {} if found is None else {"options": found[1]}


def output_table(analysis: Analysis, run: RunArtifacts, rows: int, stored: Run, sources: Mapping[str, Table]) -> Table:
    """Return the output as a table of the log. It is the same table as an earlier one only if it has the same rows and
    the same plan made it from the same sources, because equal rows of another plan may have another lineage.
    """
    from whence.graph.column_lineage import column_lineage

    result = run.results.get(OUTPUT)
    saved = {} if result is None else saved_rows(analysis, result, stored)
    plan = stored.fingerprint or digest(analysis.unpinned_plan)
    known = [saved.get("blobs") or stored.id, plan, sorted((name, each.digest) for name, each in sources.items())]
    properties = {
        "types": [attr.dtype for attr in analysis.plan.output],
        "format": "parquet",
        "run": stored.id,
        "column_lineage": column_lineage(analysis.columns(), stored.document.get("artifacts", {})),
        **saved,
    }
    content = hashlib.sha256(json.dumps(known).encode()).hexdigest()
    return Table(analysis.name, tuple(analysis.df.columns), rows, content, properties)


def saved_rows(analysis: Analysis, result: Result, stored: Run) -> dict[str, Any]:
    """Where the rows of the output are: the blobs, and which of their columns each output column is."""
    entry = next(each for each in stored.document["saved"] if tuple(each["place"]) == OUTPUT)
    output = analysis.plan.output  # a column may be in the output twice, but is saved once
    return {
        "blobs": [stored.files[number] for number in entry["files"]],
        "blob_columns": [result.places.index(output.index(attr)) for attr in output],
    }
