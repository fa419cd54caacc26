"""Answer from the ids that a run saved with its rows, without Spark: DuckDB finds the rows and reads their ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from whence.rows.pushdown.pins import substituted
from whence.rows.questions.rows import Asked
from whence.spark.lineage import Found, Replayed
from whence.spark.running.artifacts import row_count
from whence.spark.sources.files import SHIFT
from whence.spark.sources.row_ids import named, united
from whence.spark.tracing.matching import Matched, Matcher, RowSet
from whence.spark.tracing.questions import RowNumbers, clause_of
from whence.spark.tracing.results import source_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.rows import Attr, Expr, Source
    from whence.rows.eager import Tagged
    from whence.spark.catalyst.jvm import Jvm
    from whence.spark.running.artifacts import Result


@dataclass(frozen=True)
class SavedIds:
    """The annotated rows of a run as files: the columns of its tagged plan, followed by an increasing row id."""

    table: Result
    tagged: Tagged
    row_id: Attr | None
    matcher: Matcher

    def rows(self, asked: tuple[Asked, ...] | RowNumbers) -> pa.Table | None:
        """Return the ids of the rows of the question, or None if DuckDB may not find the rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = self._names(each.attr for each in self.tagged.ids.values()) or [self._last]
        if isinstance(asked, RowNumbers):
            order = self._read([self._last]).column(0).combine_chunks()
            return self._read(wanted).take(pc.sort_indices(order).take(list(asked.numbers)))
        clause = clause_of(asked)
        if clause is None:
            return None
        known = RowSet(self.table.columns, self.table.files)
        numbers = self.matcher.numbers(known, (substituted(clause[0], self._held()), clause[1]))
        if numbers is None:
            return None
        first = [0, *accumulate(row_count((path,)) for path in self.table.paths)]
        places = [first[each >> SHIFT] + (each & ((1 << SHIFT) - 1)) for each in sorted(numbers.to_pylist())]
        return self._read(wanted).take(pa.array(places, pa.int64()))

    def ids(self, rows: pa.Table) -> dict[int, pa.ChunkedArray]:
        """All ids of these rows, for each use of a source."""
        import pyarrow.compute as pc

        found = {}
        for occurrence, each in self.tagged.ids.items():
            column = rows.column(self._name(each.attr))
            found[occurrence] = united(pc.list_flatten(column) if each.many else column)
        return found

    def without(self, rows: pa.Table) -> int:
        """The number of these rows without any id."""
        columns = [(rows.column(self._name(each.attr)).to_pylist(), each.many) for each in self.tagged.ids.values()]
        if not columns:
            return 0
        return sum(
            not any(bool(column[row]) if many else column[row] is not None for column, many in columns)
            for row in range(rows.num_rows)
        )

    def reached(self, uses: Sequence[Source], numbers: pa.ChunkedArray, shown: tuple[Attr, ...]) -> Matched:
        """Return the rows that have any of these ids for any of the uses, ordered by row id."""
        import numpy as np
        import pyarrow.compute as pc

        known = [self.tagged.ids[use.occurrence] for use in uses if use.occurrence in self.tagged.ids]
        rows = self._read([*self._names(each.attr for each in known), self._last])
        held = np.zeros(rows.num_rows, bool)
        for each in known:
            column = rows.column(self._name(each.attr)).combine_chunks()
            if each.many:
                inside = pc.is_in(pc.list_flatten(column), value_set=numbers)
                held[pc.filter(pc.list_parent_indices(column), inside).to_numpy()] = True
            else:
                held |= pc.is_in(column, value_set=numbers).to_numpy(zero_copy_only=False)
        places = np.flatnonzero(held)
        order = np.argsort(rows.column(self._last).to_numpy()[places], kind="stable")
        names = [self._name(attr) for attr in shown]
        found = self._read(dict.fromkeys(names)).take(places[order])
        return Matched(self.matcher, RowSet(shown, found.select(names)))

    def _read(self, names: Iterable[str]) -> pa.Table:
        """Read some columns of all files, in the order of the files."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        return pa.concat_tables([pq.read_table(path, columns=list(names)) for path in self.table.paths])

    def _held(self) -> dict[Attr, Expr]:
        """The output columns of a question, with the columns of the files that contain them."""
        shown = {attr: self.table.columns[place] for place, attr in reversed(list(enumerate(self.tagged.plan.output)))}
        made: dict[Attr, Any] = shown if self.row_id is None else {**shown, self.row_id: self.table.columns[-1]}
        return made

    @property
    def _last(self) -> str:
        """The column with the increasing row ids."""
        return f"c{len(self.table.columns) - 1}"

    def _name(self, attr: Attr) -> str:
        return self._last if attr == self.row_id else f"c{self.tagged.plan.output.index(attr)}"

    def _names(self, attrs: Iterable[Attr]) -> list[str]:
        return list(dict.fromkeys(map(self._name, attrs)))


def source_numbers(source: Source, asked: tuple[Asked, ...] | RowNumbers, matcher: Matcher) -> pa.ChunkedArray | None:
    """Return the numbers of the source rows of a question, or None if DuckDB may not find them."""
    if isinstance(asked, RowNumbers):
        return asked.array()
    clause = clause_of(asked)
    return None if clause is None else matcher.numbers(source_table(source), clause)


class Numbered:
    """Source rows given by their ids. DuckDB reads them if it can, otherwise Spark."""

    def __init__(self, jvm: Jvm, matcher: Matcher, ids: dict[int, pa.ChunkedArray]) -> None:
        self._matcher, self._ids = matcher, ids
        self._by_spark = Replayed(jvm, Found.of(jvm, {number: each.to_pylist() for number, each in ids.items()}))

    def dataframe(self, uses: list[Source], identity: bool) -> DataFrame:
        return self._by_spark.dataframe(uses, identity)

    def arrow(self, uses: list[Source]) -> pa.Table:
        found = self._matcher.numbered(source_table(uses[0]), self._numbers(uses), identity=False)
        return self._by_spark.arrow(uses) if found is None else self._matcher.arrow(found)

    def identities(self, uses: list[Source]) -> pa.Table:
        return named(self._numbers(uses), uses[0])

    def some(self, uses: list[Source]) -> bool:
        return bool(len(self._numbers(uses)))

    def _numbers(self, uses: list[Source]) -> pa.ChunkedArray:
        return united(*(self._ids[each.occurrence] for each in uses if each.occurrence in self._ids))
