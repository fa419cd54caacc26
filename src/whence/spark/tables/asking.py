"""Runs as relations: which source rows made which output rows.

A run computes its answers. If this program still has the pipeline of the run, the pipeline answers; otherwise the run
is opened from the log.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import MissingExtra, NoLineage, NotTraceable, SparkFailed, WhenceError
from whence.relation.protocol import Traced
from whence.selection import Selection
from whence.spark.cell_questions import BOTH
from whence.spark.sources.numbering import Numbering, ids_of
from whence.spark.tables.equal_rows import has_equal_rows
from whence.spark.tables.held import HeldTable, cells, held_table

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.rows import Source
    from whence.spark.pipeline import Pipeline
    from whence.spark.sources.numbering import Ints
    from whence.store import Store

_live: weakref.WeakKeyDictionary[Store, dict[int, Pipeline]] = weakref.WeakKeyDictionary()
"""The last pipelines of this program, by run."""

MOST_LIVE = 100  # the most pipelines of a log that are kept

UNAVAILABLE = (NotTraceable, MissingExtra, SparkFailed)
"""Errors that mean that row lineage is available, but cell lineage is not."""

EQUAL_ROWS = (
    "equal rows of {!r} cannot be told apart, so they share their lineage: p.materialize() stores the lineage of each"
)


def remember(store: Store, run: int | None, pipeline: Pipeline) -> None:
    """Note that a pipeline of this program made this run."""
    if run is not None:
        known = _live.setdefault(store, {})
        known[run] = pipeline
        while len(known) > MOST_LIVE:
            del known[next(iter(known))]


def live_pipeline(store: Store, run: int) -> Pipeline | None:
    """The pipeline of this program that made a run; None if there is none or its session was stopped."""
    from whence.spark.sessions.failures import is_stopped

    found = _live.get(store, {}).get(run)
    return None if found is None or is_stopped(found.analysis.session) else found


class RunRelation:
    """The relation between the output of a run and one of its sources. It is computed on demand, not stored."""

    def __init__(self, store: Store, document: Mapping[str, Any], output: str, input: str) -> None:
        self._store, self._run, self._source = store, int(document["run"]), str(document["source"])
        self._output, self._input = output, input
        self.out_shape, self.in_shape = tuple(document["out_shape"]), tuple(document["in_shape"])

    def backward(self, cells: Any, /) -> Selection:
        """The cells of the source that the given cells of the output came from."""
        return self.traced(Selection.of(cells, self.out_shape), "backward").selection

    def forward(self, cells: Any, /) -> Selection:
        """The cells of the output that the given cells of the source went into."""
        return self.traced(Selection.of(cells, self.in_shape), "forward").selection

    def traced(self, selection: Selection, direction: str, lineage: str = BOTH) -> Traced:
        """Return the answer, why it is a superset if it is, and how it was found.

        Complete rows become row questions. Some columns of rows, value lineage alone, and "cells" become cell
        questions.
        """
        by_rows, lineage = lineage == BOTH, BOTH if lineage == "cells" else lineage
        there = self.in_shape if direction == "backward" else self.out_shape
        found, reasons, ways = Selection.empty(there), list[str](), list[str]()
        for numbers, places in by_columns(selection):
            columns = None if len(places) == selection.shape[1] and by_rows else places
            asked = self._backward if direction == "backward" else self._forward
            part = asked(numbers, columns, lineage)
            found |= part.selection
            reasons += [part.reason] if part.reason else []
            ways.append(part.how)
        reason = "; ".join(dict.fromkeys(reasons)) or None
        return Traced(found, reason, ", ".join(dict.fromkeys(ways)) or "run")

    def _backward(self, numbers: Ints, places: Sequence[int] | None, lineage: str) -> Traced:
        held = held_table(self._store, self._output)
        rows = held.arrow(numbers)
        asker, asked = self._asker(), _dicts(rows, held)
        if places is None:
            found = asker.backward(asked)
            numbering, files = self._numbering()
            sources = numbering.numbers(ids_of(found.identities(self._source), files))
            selected = cells(sources, range(self.in_shape[1]), self.in_shape)
        else:
            columns = [held.names[place] for place in places]
            try:
                found = asker.backward(asked, columns=columns, lineage=lineage)
                selected = found.cells(self._source)
            except UNAVAILABLE as error:
                rows_alone = self._backward(numbers, None, BOTH)
                return replace(rows_alone, reason=_by_rows(rows_alone.reason, error))
        alike = len(held.equal_to(rows)) > len(numbers)
        return Traced(selected, self._reason(found.reason, self._output, alike), f"run, {found.how}")

    def _forward(self, numbers: Ints, places: Sequence[int] | None, lineage: str) -> Traced:
        asker, held = self._asker(), held_table(self._store, self._output)
        rows, names, alike = self._source_rows(numbers)
        if places is None:
            found = asker.forward(self._source, rows)
            reached = held.equal_to(found.arrow())
            selected = cells(reached, range(self.out_shape[1]), self.out_shape)
            shared = has_equal_rows(held.arrow(reached))
        else:
            columns = [names[place] for place in places]
            try:
                found = asker.forward(self._source, rows, columns=columns, lineage=lineage)
                selected, shared = self._placed(found, held)
            except UNAVAILABLE as error:
                rows_alone = self._forward(numbers, None, BOTH)
                return replace(rows_alone, reason=_by_rows(rows_alone.reason, error))
        reason = self._reason(found.reason, self._input, alike > len(numbers))
        return Traced(selected, self._reason(reason, self._output, shared), "run")

    def _placed(self, found: Any, held: HeldTable) -> tuple[Selection, bool]:
        """Return the reached cells, with the numbers of their rows in the output; and whether some of these rows are
        equal, so that other rows may be meant.
        """
        rows, reached, mask, shared = found.arrow(), Selection.empty(self.out_shape), found.cells().mask(), False
        for pattern in np.unique(mask, axis=0):
            alike = np.flatnonzero((mask == pattern).all(axis=1))
            numbers = held.equal_to(rows.take(alike))
            reached |= cells(numbers, np.flatnonzero(pattern).tolist(), self.out_shape)
            shared = shared or has_equal_rows(held.arrow(numbers))
        return reached, shared

    def _reason(self, reason: str | None, table: str, alike: bool) -> str | None:
        return "; ".join(filter(None, (reason, EQUAL_ROWS.format(table) if alike else None))) or None

    def _asker(self) -> Any:
        live = live_pipeline(self._store, self._run)
        if live is not None:
            return live
        from whence.spark.stored import open_run
        from whence.store.catalog.runs import run_of

        return open_run(self._store, run_of(self._store, self._run))

    def _numbering(self) -> tuple[Numbering, Sequence[str] | None]:
        """The numbering of the source rows, and the files that it refers to."""
        from whence.store.catalog import statements

        with self._store.database.read() as connection:
            properties = statements.dataset(connection, self._input).properties
        pieces = [(int(start), int(count)) for start, count in properties["numbering"]]
        return Numbering.of(pieces), properties.get("files") or None

    def _source_rows(self, numbers: Ints) -> tuple[list[Any], list[str], int]:
        """The source rows with these numbers, the names of the columns, and the number of rows equal to one of them."""
        try:
            held = held_table(self._store, self._input)
        except NoLineage:
            live = live_pipeline(self._store, self._run)
            if live is None:
                raise
            ids = self._numbering()[0].ids(numbers)
            return _rows_by_spark(live, self._source, ids)
        rows = held.arrow(numbers)
        return _dicts(rows, held), held.names, len(held.equal_to(rows))


def _by_rows(reason: str | None, error: WhenceError) -> str:
    return "; ".join(
        filter(None, (reason, f"these are all cells of the rows, because cell lineage is not available: {error}"))
    )


def by_columns(selection: Selection) -> list[tuple[Ints, tuple[int, ...]]]:
    """Group the rows of a selection by the columns that are selected in them.

    >>> [(rows.tolist(), columns) for rows, columns in by_columns(Selection.parse("0:2,0; 1,1", (3, 2)))]
    [([0], (0,)), ([1], (0, 1))]
    """
    columns: dict[int, set[int]] = {}
    for (first, last), (left, right) in selection.boxes.tolist():
        for row in range(first, last + 1):
            columns.setdefault(row, set()).update(range(left, right + 1))
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, held in columns.items():
        rows.setdefault(tuple(sorted(held)), []).append(row)
    return [(np.array(sorted(numbers), np.int64), held) for held, numbers in rows.items()]


def _dicts(rows: pa.Table, held: HeldTable) -> list[Any]:
    if len(set(held.names)) == len(held.names):
        return list(rows.to_pylist())
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _rows_by_spark(pipeline: Pipeline, name: str, ids: Ints) -> tuple[list[Any], list[str], int]:
    from whence.rows import Join, Project, fresh, keep
    from whence.rows.eager.ids import LONG
    from whence.rows.expressions import Compare
    from whence.spark.catalyst.frames import frame
    from whence.spark.lineage import given, widest_first
    from whence.spark.tracing.questions import asked_of, matching

    analysis = pipeline.analysis
    source: Source = widest_first(each for each in analysis.sources if each.name == name)[0]
    row_id = fresh("_id", LONG, nullable=False)
    numbered = replace(source, row_id=row_id)
    wanted = given(analysis.jvm.spark.createDataFrame([(int(each),) for each in ids], "_id long"))
    found = Join(numbered, wanted, "semi", Compare("=", row_id, wanted.output[0]))
    rows = frame(Project(found, keep(*source.columns)), analysis.jvm).collect()
    dicts = [row.asDict(recursive=False) for row in rows]
    alike = matching(source, asked_of(source.columns, dicts, analysis.session), analysis.session)
    count = frame(Project(alike, keep(*source.columns)), analysis.jvm).count()
    return dicts, [attr.name for attr in source.columns], count
