"""Run a pipeline so that its rows can be traced."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whence.rows import walk
from whence.rows.determinism.clock import reads_clock
from whence.rows.eager import FUNCTIONS
from whence.spark.catalyst.frames import frame
from whence.spark.running import outputs
from whence.spark.running.annotated import row_id_column, run_annotated
from whence.spark.running.materialize import run_saving
from whence.spark.running.record import record
from whence.spark.running.subject import Subject
from whence.spark.tracing.grouped_maps import carries_ids
from whence.store.catalog.clock import now

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.spark.analysis import Analysis
    from whence.spark.running.artifacts import RunArtifacts


FEW_ROWS = 100_000  # functions of groups are annotated if they get at most this many rows


def run(analysis: Analysis, *, row_ids: bool = False, fetched: bool = False) -> Subject:
    """Run a pipeline, save what is needed to trace its rows, and record the run in the log, if there is one.

    With `fetched`, the whole output is saved, and not cached: it will be handed over.
    """
    analysis.require_unchanged()
    started = now()
    if reads_clock(analysis.unpinned_plan):
        analysis = analysis.at(datetime.now(UTC))
    if row_ids or analysis.causes or calls_again(analysis):
        artifacts = _annotated(analysis, row_ids, saved=True)
    else:
        plan, jvm = analysis.plan, analysis.jvm
        df = analysis.df if analysis.time is None else frame(plan, jvm).toDF(*analysis.df.columns)

        def local(rows: pa.Table) -> DataFrame | None:
            if analysis.time is not None:  # a pipeline over this output would read the clock again
                return None
            return outputs.local(rows, analysis.df, plan, analysis.versions, jvm)

        witness, small = analysis.settings.witness, likely_small(analysis)
        artifacts = run_saving(df, plan, analysis.trace_plan, witness, jvm, local, small, fetched)
    if analysis.store is not None:
        artifacts = record(analysis.store, analysis, artifacts, started)
    return Subject.of(analysis, artifacts)


def run_annotating(analysis: Analysis) -> Subject:
    """Run a pipeline with the lineage of every row, saved in files until this process ends. The run is not recorded."""
    analysis.require_unchanged()
    if reads_clock(analysis.unpinned_plan):
        analysis = analysis.at(datetime.now(UTC))
    return Subject.of(analysis, _annotated(analysis, False, saved=True))


def run_eager(analysis: Analysis, *, row_ids: bool = False) -> Subject:
    """Run a pipeline with the lineage of every row. It lasts until the session ends, and is not recorded."""
    saved = bool(analysis.nondeterminism.possible_reasons)
    return Subject.of(analysis, _annotated(analysis, row_ids, saved=saved))


def calls_again(analysis: Analysis) -> bool:
    """Whether the run should annotate its rows, because questions would otherwise call functions of groups again.

    Each result row of a group has the ids of all rows of the group, which is too much to save for large groups.
    """
    if analysis.trace_plan.unavailable_reason is None:
        return False
    functions = [part for part in walk(analysis.plan) if isinstance(part, FUNCTIONS)]
    given = (child for each in functions for child in each.children)
    return (
        bool(functions)
        and all(map(carries_ids, functions))
        and all(analysis.sizes.rows(child) <= FEW_ROWS for child in given)
    )


def likely_small(analysis: Analysis) -> bool:
    """Whether the output is probably small, so that it can become local data."""
    plan = analysis.plan
    known = analysis.sizes.measured(plan)
    return (
        analysis.time is None
        and outputs.holdable(plan)
        and (outputs.surely_small(plan) or (known is not None and known <= outputs.MOST_ROWS))
    )


def _annotated(analysis: Analysis, row_ids: bool, *, saved: bool) -> RunArtifacts:
    """Run with the ids of source rows."""
    reasons = analysis.nondeterminism.possible_reasons
    why = "row ids are shown" if row_ids else reasons[0] if reasons else "the run saves the lineage of every row"
    shown = row_id_column(analysis.plan.output) if row_ids else None
    tagged = analysis.annotated(analysis.settings.witness)
    return run_annotated(tagged, why, analysis.jvm, saved=saved, row_id=shown)
