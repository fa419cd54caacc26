"""Runs as relations: which rows of a source made rows of the output, asked of a run when somebody wants to know.

A run of a pipeline that this program still has is asked as it is. Any other is opened from the log.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import NoLineage
from whence.relation.protocol import Traced
from whence.selection import Selection
from whence.spark.tables.held import HeldTable, cells, held_table, selected
from whence.spark.tables.numbering import Numbering, ids_of

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.relation import RelationLike
    from whence.rows import Source
    from whence.spark.pipeline import Pipeline
    from whence.spark.tables.numbering import Ints
    from whence.store import Store

_live: weakref.WeakValueDictionary[tuple[str, int], Pipeline] = weakref.WeakValueDictionary()
"""Pipelines of this program, by log and run."""

EQUAL_ROWS = "equal rows of {!r} cannot be told apart, and share their lineage: p.materialize() tells them apart"


def remember(store: Store, run: int | None, pipeline: Pipeline) -> None:
    """A pipeline of this program made this run."""
    if run is not None:
        _live[store.where, run] = pipeline


class AskedTables:
    """The tables of a log: their rows, and the runs that they came from."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def selected(self, name: str, rows: object, columns: Sequence[str] | None) -> Selection:
        return selected(self._store, name, rows, columns)

    def arrow(self, name: str, numbers: Ints, columns: Sequence[int] | None) -> pa.Table:
        return held_table(self._store, name).arrow(numbers, columns)

    def relation(self, document: Mapping[str, Any], output: str, input: str) -> RelationLike:
        return RunRelation(self._store, document, output, input)


class RunRelation:
    """How the output of a run came from one of its sources: asked, not stored."""

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

    def traced(self, selection: Selection, direction: str) -> Traced:
        """The answer, why it is a superset if it is, and how it was found."""
        if not selection:
            shape = self.in_shape if direction == "backward" else self.out_shape
            return Traced(Selection.empty(shape), None, "run")
        return self._backward(selection) if direction == "backward" else self._forward(selection)

    def _backward(self, selection: Selection) -> Traced:
        held = held_table(self._store, self._output)
        numbers = _rows(selection)
        rows = held.arrow(numbers)
        found = self._asker().backward(_dicts(rows, held))
        numbering, files = self._numbering()
        sources = numbering.numbers(ids_of(found.identities(self._source), files))
        reason = found.reason
        if len(held.equal_to(rows)) > len(numbers):
            reason = "; ".join(filter(None, (reason, EQUAL_ROWS.format(self._output))))
        return Traced(cells(sources, range(self.in_shape[1]), self.in_shape), reason, f"run, {found.how}")

    def _forward(self, selection: Selection) -> Traced:
        numbers, asker = _rows(selection), self._asker()
        rows, alike = self._source_rows(numbers)
        found = asker.forward(self._source, rows)
        reason = found.reason
        if alike > len(numbers):
            reason = "; ".join(filter(None, (reason, EQUAL_ROWS.format(self._input))))
        held = held_table(self._store, self._output)
        reached = held.equal_to(found.arrow())
        return Traced(cells(reached, range(self.out_shape[1]), self.out_shape), reason, "run")

    def _asker(self) -> Any:
        live = _live.get((self._store.where, self._run))
        if live is not None:
            return live
        from whence.spark.stored import open_run
        from whence.store.catalog.runs import run_of

        return open_run(self._store, run_of(self._store, self._run))

    def _numbering(self) -> tuple[Numbering, Sequence[str] | None]:
        """How the rows of the source are numbered, and by which files."""
        from whence.store.catalog import statements

        with self._store.database.read() as connection:
            properties = statements.dataset(connection, self._input).properties
        pieces = [(int(start), int(count)) for start, count in properties["numbering"]]
        return Numbering.of(pieces), properties.get("files") or None

    def _source_rows(self, numbers: Ints) -> tuple[list[dict[str, Any]], int]:
        """The rows of the source with these numbers, and how many rows are equal to one of them."""
        try:
            held = held_table(self._store, self._input)
        except NoLineage:
            live = _live.get((self._store.where, self._run))
            if live is None:
                raise
            ids = self._numbering()[0].ids(numbers)
            return _rows_by_spark(live, self._source, ids)
        rows = held.arrow(numbers)
        return _dicts(rows, held), len(held.equal_to(rows))


def _rows(selection: Selection) -> Ints:
    spans = [np.arange(first, last + 1) for first, last in selection.boxes[:, 0].tolist()]
    return np.unique(np.concatenate(spans))


def _dicts(rows: pa.Table, held: HeldTable) -> list[Any]:
    if len(set(held.names)) == len(held.names):
        return list(rows.to_pylist())
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _rows_by_spark(pipeline: Pipeline, name: str, ids: Ints) -> tuple[list[dict[str, Any]], int]:
    from whence.rows import Join, Project, fresh, keep
    from whence.rows.eager.ids import LONG
    from whence.rows.expressions import Compare
    from whence.spark.catalyst.write import frame
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
    alike = matching(source, asked_of(source.columns, dicts, analysis.df.sparkSession), analysis.df.sparkSession)
    return dicts, frame(Project(alike, keep(*source.columns)), analysis.jvm).count()
