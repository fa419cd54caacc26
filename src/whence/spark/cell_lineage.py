"""Answers to cell questions: the source cells, and the rows that contain them."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whence.rows import Project, Source, fresh, keep
from whence.rows.eager.ids import LONG
from whence.selection import Selection
from whence.spark.catalyst.frames import frame
from whence.spark.lineage import Lineage, rows_by_id
from whence.spark.reached import Reached
from whence.spark.sources.numbering import numbering_of
from whence.spark.sources.row_ids import named, with_files
from whence.spark.tables.held import cells
from whence.spark.tracing.matching import Matched
from whence.spark.tracing.results import source_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.spark.tracing.cells import FoundCells
    from whence.spark.tracing.matching import Matcher, RowSet


class CellAnswer:
    """Source rows with a cell of the answer, given by their ids."""

    def __init__(self, matcher: Matcher, found: FoundCells) -> None:
        self._matcher, self._found = matcher, found

    def dataframe(self, uses: list[Source], identity: bool) -> DataFrame:
        source, row_id = uses[0], fresh("_row", LONG, nullable=False)
        rows = rows_by_id(self._matcher.jvm, source, self._found.ids(uses).tolist(), row_id)
        if identity:
            return with_files(frame(rows, self._matcher.jvm), source)
        return frame(Project(rows, keep(*source.columns)), self._matcher.jvm)

    def arrow(self, uses: list[Source]) -> pa.Table:
        import pyarrow as pa

        found = self._matcher.numbered(source_table(uses[0]), pa.chunked_array([self._found.ids(uses)]), False)
        if found is not None:
            return self._matcher.arrow(found)
        names = [attr.name for attr in uses[0].columns]
        unique = [f"c{index}" for index in range(len(names))]
        return self.dataframe(uses, False).toDF(*unique).toArrow().rename_columns(names)

    def identities(self, uses: list[Source]) -> pa.Table:
        import pyarrow as pa

        return named(pa.chunked_array([self._found.ids(uses)], pa.int64()), uses[0])

    def some(self, uses: list[Source]) -> bool:
        return bool(len(self._found.ids(uses)))


class CellLineage(Lineage):
    """The source cells of some columns of output rows.

    `lin["orders"]` has the rows with a cell, `lin.cells("orders")` the cells as a selection over the rows and columns
    of the source, and `lin.columns("orders")` the names of these columns.
    """

    def __init__(self, sources: tuple[Source, ...], matcher: Matcher, found: FoundCells) -> None:
        super().__init__(sources, CellAnswer(matcher, found), found.reasons, found.how, found.rows)
        self._matcher, self._found = matcher, found

    def cells(self, name: str) -> Selection:
        """Return the cells of a source. Rows are numbered as in `identities`, one file after the other."""
        uses = self._uses(name)
        number = numbering_of(uses[0], self._matcher.jvm)
        shape = number.rows, len(uses[0].columns)
        parts = (cells(number.numbers(ids), columns, shape) for columns, ids in self._found.of(uses).items())
        return functools.reduce(operator.or_, parts, Selection.empty(shape))

    def columns(self, name: str) -> list[str]:
        """Return the names of the columns of a source that have a cell in the answer."""
        uses = self._uses(name)
        return [uses[0].columns[column].name for column in sorted(itertools.chain(*self._found.of(uses)))]

    def __repr__(self) -> str:
        how = "precise" if self.precise else f"a superset: {self.reason}"
        parts = [f"{name}: {', '.join(self.columns(name)) or 'nothing'}" for name in self]
        return f"<Lineage of cells in {'; '.join(parts)}; {how}>"


class ReachedCells(Reached):
    """The output cells that cells of a source reached, and the rows that contain them."""

    def __init__(
        self, source: str, matcher: Matcher, rows: RowSet, held: NDArray[np.bool_], reasons: tuple[str, ...]
    ) -> None:
        super().__init__(source, Matched(matcher, rows), reasons)
        self._table, self._held = rows, held

    def cells(self) -> Selection:
        """Return the cells, as a selection over the rows of `dataframe()`, in its order, and the output columns."""
        return Selection.from_mask(self._held)

    @property
    def columns(self) -> list[str]:
        """The names of the output columns that have a cell in the answer."""
        return [attr.name for at, attr in enumerate(self._table.columns) if self._held[:, at].any()]

    def __repr__(self) -> str:
        how = "precise" if self.precise else f"a superset: {self.reason}"
        return f"<Reached from {self.source}: {', '.join(self.columns) or 'nothing'}; {how}>"
