"""The output of a run in a fixed order: the rows of hand-overs, which the log numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import BadType
from whence.rows.saving import ANNOTATED, OUTPUT, TracePlan
from whence.spark.running.artifacts import Held, RunArtifacts, described_jobs
from whence.spark.running.execute import run, run_annotating
from whence.spark.running.materialize import fetched_rows, output_result
from whence.spark.running.record import add_output, record
from whence.spark.running.subject import Subject
from whence.spark.tables.equal_rows import has_equal_rows, matched, numbered_names
from whence.store.catalog.clock import now

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.rows.eager.ids import Ids
    from whence.spark.analysis import Analysis
    from whence.spark.sources.numbering import Ints
    from whence.spark.tables.recording import Pairs


@dataclass(frozen=True)
class Ordered:
    """The rows of an output in their order, with the columns of the plan.

    `subject` is their run. `pairs` is the lineage of each row, if the run annotated its rows.
    """

    subject: Subject
    rows: pa.Table
    pairs: Pairs | None = None
    reasons: tuple[str, ...] = ()  # why the pairs are a superset of the lineage


def ordered(analysis: Analysis, subject: Subject) -> Ordered:
    """Return the output of the last run, or of a new one, such that each row can be identified.

    If there are equal rows, the pipeline runs again with the ids of source rows, and the rows are those of that run.
    """
    if subject.annotated is not None:
        return _with_output(annotated_rows(subject))
    if subject.run is None or (subject.run.output is None and OUTPUT not in subject.run.results):
        subject = run(analysis, fetched=True)
        if subject.annotated is not None:
            return _with_output(annotated_rows(subject))
    subject, rows = _saved(subject)
    if has_equal_rows(rows):
        return _annotated_run(subject.analysis)
    return Ordered(subject, rows)


def materialized(analysis: Analysis, subject: Subject) -> Ordered:
    """Like `ordered`, with the lineage of every row, from a run that annotated its rows. If there is none, it runs
    now.
    """
    if subject.annotated is not None:
        return _with_output(annotated_rows(subject))
    if subject.run is None or (subject.run.output is None and OUTPUT not in subject.run.results):
        return _annotated_run(analysis)
    subject, rows = _saved(subject)  # keep the order of rows that may have been handed over
    found = annotated_rows(run_annotating(subject.analysis))
    places = None if has_equal_rows(rows) else matched(rows, found.rows)
    if places is None:
        return _annotated_run(subject.analysis)
    assert found.pairs is not None
    pairs = {number: (places[out], ids) for number, (out, ids) in found.pairs.items()}
    return replace(found, subject=subject, rows=rows, pairs=pairs)


def _annotated_run(analysis: Analysis) -> Ordered:
    """Run with the lineage of every row, and record the output. The caller records the lineage."""
    started = now()
    subject = run_annotating(analysis)
    found = annotated_rows(subject)
    assert subject.run is not None
    if analysis.store is None:
        return found
    held = Held()
    result = output_result(found.rows, subject.analysis.plan.output, held.folder / "output")
    why = TracePlan(unavailable_reason="its lineage is stored as relations")
    saved = RunArtifacts(why, {OUTPUT: result}, held=(held,))
    recorded = record(analysis.store, subject.analysis, saved, started)
    both = {**subject.run.results, **recorded.results}
    artifacts = replace(subject.run, results=both, recorded=recorded.recorded, failures=recorded.failures)
    return replace(found, subject=replace(subject, run=artifacts))


def _with_output(found: Ordered) -> Ordered:
    """Also save the rows, in their order."""
    artifacts, analysis = found.subject.run, found.subject.analysis
    assert artifacts is not None
    if OUTPUT in artifacts.results or analysis.store is None:
        return found
    return replace(found, subject=replace(found.subject, run=_saving(artifacts, found.rows, analysis)))


def _saving(artifacts: RunArtifacts, rows: pa.Table, analysis: Analysis) -> RunArtifacts:
    held = Held()
    result = output_result(rows, analysis.plan.output, held.folder / "output")
    artifacts = replace(artifacts, results={**artifacts.results, OUTPUT: result}, held=(*artifacts.held, held))
    return artifacts if analysis.store is None else add_output(analysis.store, artifacts)


def annotated_rows(subject: Subject) -> Ordered:
    """The annotated rows of a run, in the order of the run, and their lineage."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    analysis, output = subject.analysis, subject.annotated
    assert output is not None
    result = None if subject.run is None else subject.run.results.get(ANNOTATED)
    if result is not None:
        table = pq.read_table(list(result.paths))
    else:
        names = [f"c{place}" for place in range(len(output.rows.columns))]
        table = output.rows.toDF(*names).toArrow()
    if not table.num_columns:
        raise BadType("the pipeline has no columns, so there are no rows to hand over")
    place = f"c{table.num_columns - 1}"
    table = table.take(pc.sort_indices(table.column(place)))
    tagged = output.tagged
    position = {attr: at for at, attr in reversed(list(enumerate(tagged.plan.output)))}
    rows = table.select([position[attr] for attr in analysis.plan.output])
    pairs = {number: id_pairs(table.column(position[ids.attr]), ids) for number, ids in tagged.ids.items()}
    reasons = tuple(dict.fromkeys((*tagged.reasons, *analysis.cuts)))
    return Ordered(subject, numbered_names(rows), pairs, reasons)


def _saved(subject: Subject) -> tuple[Subject, pa.Table]:
    """The saved rows of the output; a large output is saved now."""
    import pyarrow.parquet as pq

    artifacts, analysis = subject.run, subject.analysis
    assert artifacts is not None
    result = artifacts.results.get(OUTPUT)
    if result is None:
        assert artifacts.output is not None
        with described_jobs(analysis.jvm, "the output, to be handed over"):
            table = numbered_names(fetched_rows(artifacts.output))
        return replace(subject, run=_saving(artifacts, table, analysis)), table
    held = pq.read_table(list(result.paths))
    output = analysis.plan.output
    places = [result.places.index(output.index(attr)) for attr in output]
    return subject, numbered_names(held.select(places))


def id_pairs(column: pa.ChunkedArray, ids: Ids) -> tuple[Ints, Ints]:
    """Return two arrays: indices of rows in a column of ids, and an id of each of these rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not ids.many:
        there = pc.indices_nonzero(pc.is_valid(column)).to_numpy().astype(np.int64)
        return there, pc.drop_null(column).to_numpy().astype(np.int64)
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):
        lists = pa.concat_arrays(lists.chunks) if lists.num_chunks else pa.array([], column.type)
    parents, values = pc.list_parent_indices(lists), pc.list_flatten(lists)
    there = pc.is_valid(values)
    return (
        pc.filter(parents, there).to_numpy().astype(np.int64),
        pc.filter(values, there).to_numpy().astype(np.int64),
    )
