"""Materialize a run with Spark's tasks: they store the lineage of every row, and this process only handles counts and
bounds.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whence.errors import BadType
from whence.rows.determinism.clock import reads_clock
from whence.rows.saving import OUTPUT, TracePlan
from whence.spark.catalyst.frames import frame
from whence.spark.progress import watched
from whence.spark.running.artifacts import Result, RunArtifacts
from whence.spark.running.record import stored_run
from whence.spark.scale.recording import marked
from whence.spark.scale.rows import Piece, Stored, Use, relations, write_rows
from whence.spark.tables.datasets import numberings, output_table, source_tables, sources_of
from whence.store.catalog.clock import now
from whence.store.catalog.runs import run_of
from whence.store.recording.tables import Origin, Table, record
from whence.store.recording.writer import Written
from whence.words import counted, in_units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whence.relation import Relation
    from whence.spark.analysis import Analysis
    from whence.spark.sources.numbering import Numbering
    from whence.store import Store

ENGINES = ("auto", "local", "spark")

MANY = 1 << 30
"""If the sources have more bytes than this, Spark's tasks materialize the run."""

ROWS_ALONE = "cell lineage is not stored: Spark's tasks store only row lineage"


def chosen(analysis: Analysis, engine: str = "auto") -> tuple[str, str]:
    """Return whether this process (local) or Spark's tasks (spark) store the lineage of a run, and why."""
    if engine not in ENGINES:
        raise BadType(f"engine is one of {', '.join(map(repr, ENGINES))}, not {engine!r}")
    size = sum(size for files in analysis.files.values() for _, size, _ in files)
    what = f"the sources have {in_units(size)} in files"
    if engine != "auto":
        return engine, f"{what}; engine={engine!r} was given"
    return ("spark" if size > MANY else "local"), f"{what}; up to {in_units(MANY)} this process does it"


def materialize(store: Store, analysis: Analysis) -> tuple[str, Table] | None:
    """Run a pipeline with the ids of source rows, and record its output and lineage, which Spark's tasks write to the
    log.

    This is a new run, and its rows have the order of that run. Return None if it gave no rows: then nothing is stored.
    """
    started = now()
    analysis.require_unchanged()
    if reads_clock(analysis.unpinned_plan):
        analysis = analysis.at(datetime.now(UTC))
    if not analysis.plan.output:
        raise BadType("the pipeline has no columns, so there are no rows to store")
    tagged = analysis.annotated(analysis.settings.witness)
    position = {attr: at for at, attr in reversed(list(enumerate(tagged.plan.output)))}
    occurrences = list(tagged.ids)
    uses = [Use(position[tagged.ids[each].attr], tagged.ids[each].many) for each in occurrences]
    places = _shown_once(analysis)
    shown = [position[analysis.plan.output[place]] for place in places]
    spark, blobs = analysis.session, store.blobs
    with ExitStack() as held:
        beat = held.enter_context(marked(blobs))
        with watched(spark, f"materializing {analysis.name}: rows", beat) as count:
            pieces = write_rows(frame(tagged.plan, analysis.jvm), shown, uses, blobs, count)
        if not pieces:
            return None
        held.callback(_remove, store, pieces)
        with watched(spark, f"materializing {analysis.name}: counting the rows of the sources", beat):
            numbered = numberings(analysis)
        about = _sources(analysis, numbered, occurrences)
        with watched(spark, f"materializing {analysis.name}: {counted(len(about), 'source')}", beat) as count:
            found = relations(spark, pieces, uses, len(analysis.plan.output), about, blobs, count)
        return _recorded(store, analysis, pieces, places, numbered, found, started)


def _shown_once(analysis: Analysis) -> tuple[int, ...]:
    """The indices of the output's columns; of a repeated column, the first."""
    first = {attr: place for place, attr in reversed(list(enumerate(analysis.plan.output)))}
    return tuple(sorted(first.values()))


def _sources(
    analysis: Analysis, numbered: Mapping[str, Numbering], occurrences: Sequence[int]
) -> dict[str, Stored]:  # fmt: skip
    found = {}
    for name, source in sources_of(analysis).items():
        own = {each.occurrence for each in analysis.sources if each.name == name}
        uses = tuple(place for place, each in enumerate(occurrences) if each in own)
        found[name] = Stored(uses, numbered[name], len(source.columns))
    return found


def _recorded(
    store: Store, analysis: Analysis, pieces: Sequence[Piece], places: tuple[int, ...],
    numbered: Mapping[str, Numbering], found: Mapping[str, Relation], started: str,
) -> tuple[str, Table]:  # fmt: skip
    """Record the run, then its tables. From here on, what the tasks wrote is visible."""
    rows = sum(piece.rows for piece in pieces)
    result = Result((), tuple(analysis.plan.output[place] for place in places), places, rows)
    why = TracePlan(unavailable_reason="its lineage is stored as relations")
    run = RunArtifacts(why, {OUTPUT: result})
    files = [Written(piece.hash, piece.size) for piece in pieces]
    number = stored_run(store, analysis, run, started, {OUTPUT: files})
    stored = run_of(store, number)
    used = stored.document.get("used", {})
    versions = {name: used[artifact] for name, artifact in stored.document["artifacts"].items() if artifact in used}
    tables = source_tables(analysis, numbered, versions)
    table = output_table(analysis, run, rows, stored, tables)
    reasons = tuple(dict.fromkeys((*analysis.annotated(analysis.settings.witness).reasons, *analysis.cuts)))
    if reasons:
        table = table.noted("; ".join(reasons))
    origins = [Origin(each, found[name]) for name, each in tables.items()]
    return record(store, table, origins, stored.activity, stored.id), table


def _remove(store: Store, pieces: Sequence[Piece]) -> None:
    """Remove the files of ids, which are no longer needed."""
    for piece in pieces:
        store.blobs.remove(piece.ids)
