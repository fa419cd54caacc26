"""The tables of a log: their rows, and the relations between them. Stored lineage is read without DuckDB and Spark.

A question about a materialized run needs little of this package, so the rest is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import WhenceError
from whence.relation.parts import asked_how
from whence.relation.protocol import Traced
from whence.relation.table_cells import TableRelation
from whence.selection import Selection, distinct
from whence.store.derivations.adjacency import table_called
from whence.store.recording.naming import family_of

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.relation import Relation, RelationLike
    from whence.spark.sources.numbering import Ints
    from whence.spark.tables.asking import RunRelation
    from whence.spark.tables.seen import Seen
    from whence.store import Store
    from whence.store.derivations.adjacency import Direction

BOTH = "value+selection"


class AskedTables:
    """The tables of a log: their rows, and the runs that they came from."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def selected(self, name: str, rows: object, columns: Sequence[str] | None) -> Selection:
        from whence.spark.tables.held import selected

        return selected(self._store, name, rows, columns)

    def arrow(self, name: str, numbers: Ints, columns: Sequence[int] | None) -> pa.Table:
        from whence.spark.tables.held import held_table

        return held_table(self._store, name).arrow(numbers, columns)

    def relation(self, document: Mapping[str, Any], output: str, input: str) -> RelationLike:
        from whence.spark.tables.asking import RunRelation

        return RunRelation(self._store, document, output, input)

    def by_rows(self, relation: Relation, output: str, input: str) -> RelationLike:
        def asked() -> RunRelation:
            from whence.spark.tables.asking import RunRelation
            from whence.store.catalog import statements

            with self._store.database.read() as connection:
                run = statements.dataset(connection, output).properties.get("run")
            source = family_of(input)[0].removesuffix(table_called(""))
            shapes = {"out_shape": relation.out_shape, "in_shape": relation.in_shape}
            return RunRelation(self._store, {"run": run, "source": source, **shapes}, output, input)

        return StoredRows(relation, asked)

    def watched(self) -> Seen:
        from whence.spark.tables.seen import Seen

        return Seen(self._store)


class StoredRows:
    """The stored relation of rows between the output of a run and one of its sources. Cells that are not stored come
    from the run.
    """

    def __init__(self, relation: Relation, asked: Callable[[], RunRelation]) -> None:
        """`asked` opens the run, for lineage that is not stored."""
        self._relation, self._asked = relation, asked
        self.out_shape, self.in_shape = relation.out_shape, relation.in_shape

    def backward(self, cells: Any, /) -> Selection:
        """The cells of the source that the given cells of the output came from."""
        return self.traced(Selection.of(cells, self.out_shape), "backward").selection

    def forward(self, cells: Any, /) -> Selection:
        """The cells of the output that the given cells of the source went into."""
        return self.traced(Selection.of(cells, self.in_shape), "forward").selection

    def traced(self, selection: Selection, direction: Direction, lineage: str = BOTH) -> Traced:
        """Answer row questions from the stored relation, and cell questions too if it has cells.

        Otherwise the run answers cell questions. If it cannot, the answer is the complete rows, a superset.
        """
        stored = self._relation.backward if direction == "backward" else self._relation.forward
        whole = whole_rows(selection) if lineage == BOTH else Selection.empty(selection.shape)
        kind = BOTH if lineage == "cells" else lineage
        rest = selection - whole if whole else selection
        if not rest:
            how = asked_how("rows", self._relation, selection, direction == "backward")
            return Traced(stored(selection), None, how)
        if isinstance(self._relation, TableRelation) and kind in self._relation.lineages:
            found = self._relation.traced_cells(rest, direction, kind)
            return replace(found, selection=found.selection | stored(whole)) if whole else found
        try:
            return self._asked().traced(selection, direction, lineage)
        except WhenceError as error:
            why = f"only row lineage is stored, and cell lineage is not available: {error}"
            return Traced(stored(selection), why, "rows")


def whole_rows(selection: Selection) -> Selection:
    """The part of a selection that has all cells of its rows.

    >>> whole_rows(Selection.parse("0:2,0; 1:3,1", (4, 2)))
    Selection(shape=(4, 2), 2 cells: [1, 0:2])
    """
    boxes, width = selection.boxes, selection.shape[1]
    if not len(boxes) or selection.count == 0:
        return selection
    first, after = boxes[:, 0, 0], boxes[:, 0, 1] + 1
    cuts = distinct(np.concatenate([first, after]))
    change = np.zeros(len(cuts), np.int64)  # how the number of selected columns changes at each cut; boxes are disjoint
    columns = boxes[:, 1, 1] - boxes[:, 1, 0] + 1
    np.add.at(change, np.searchsorted(cuts, first), columns)
    np.add.at(change, np.searchsorted(cuts, after), -columns)
    at = np.flatnonzero(np.cumsum(change)[:-1] == width)
    spans = np.stack([cuts[at], cuts[at + 1] - 1], axis=1)
    if not len(spans):
        return Selection.empty(selection.shape)
    every = np.broadcast_to(np.array([0, width - 1], np.int64), spans.shape)
    return Selection.from_boxes(np.stack([spans, every], axis=1), selection.shape)
