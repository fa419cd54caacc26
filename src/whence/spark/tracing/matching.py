"""Match the tables of a question with each other: saved results, sources, and the rows of the question.

DuckDB does this if they are local Parquet files and the predicate means the same there; otherwise Spark does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from whence.errors import BadType, NotTraceable
from whence.rows import (
    Attr,
    Expr,
    Filter,
    Join,
    Literal,
    Named,
    Operator,
    Param,
    Project,
    conjunction,
    disjunction,
    fresh,
    keep,
    like,
)
from whence.rows.duck import DuckQuery, Files, numbered, select
from whence.rows.fallible import may_fail, may_fail_by, sure_part
from whence.rows.filtering import filtered, settled, steps, with_barrier
from whence.rows.pushdown.pins import substituted
from whence.rows.tree import Tree, transform
from whence.spark.catalyst.frames import frame
from whence.spark.lineage import given
from whence.spark.sources.row_ids import ROW

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm

ENGINES = ("auto", "duckdb", "spark")
LITERAL_ROWS = 10  # up to this many rows become literals in Spark's predicate, so that Spark reads less


@dataclass(frozen=True)
class RowSet:
    """Rows with known columns: local Parquet files, a DuckDB query over them, an Arrow table, or an operator that Spark
    runs.
    """

    columns: tuple[Attr, ...]
    data: Any  # Files | DuckQuery | pyarrow.Table | Operator
    read: Operator | None = None  # what Spark runs for rows in files, such as a source with partition columns

    @property
    def here(self) -> bool:
        """Whether the rows can be read without Spark."""
        return not isinstance(self.data, Operator)

    @property
    def in_memory(self) -> bool:
        """Whether the rows are an Arrow table."""
        return not isinstance(self.data, Operator | Files | DuckQuery)

    def renamed(self) -> tuple[RowSet, dict[Attr, Expr]]:
        """Return the table with new attributes, so that it can be matched with the table it came from."""
        columns = tuple(map(like, self.columns))
        pairs = _pairs(columns, self.columns)
        new: dict[Attr, Expr] = {old: attr for attr, old in pairs}
        if isinstance(self.data, Operator):
            return RowSet(columns, Project(self.data, tuple(Named(attr, old) for attr, old in pairs))), new
        if isinstance(self.data, Files):
            return RowSet(columns, self.data.called(columns), self.read), new
        if isinstance(self.data, DuckQuery):
            return RowSet(columns, self.data.called(columns)), new
        return RowSet(columns, self.data), new


Clause: TypeAlias = tuple[Expr, RowSet | None]
"""A predicate, and the table that must have a row for which it is true."""


class Matcher:
    """Matches tables. `engine` is duckdb, spark, or auto, which takes DuckDB if it can answer."""

    def __init__(self, jvm: Jvm, engine: str = "auto") -> None:
        if engine not in ENGINES:
            raise BadType(f"engine is one of {', '.join(ENGINES)}, not {engine!r}")
        self.jvm, self.engine = jvm, engine
        self.used: set[str] = set()
        self._known: dict[str, Any] = {}  # answers of DuckDB: if a source is used twice, the same query is asked twice

    def matching(
        self, rows: RowSet, *clauses: Clause, identity: bool = False, columns: tuple[Attr, ...] | None = None
    ) -> RowSet:
        """Return the rows for which any of the clauses is true, each once, with all their columns or those in
        `columns`.

        A predicate refers to columns of the rows and of its table; no column may be in both. With `identity` there is
        one more column, `_row`; an operator must already have it.
        """
        shown = rows.columns if columns is None else columns
        here = isinstance(rows.data, Files | DuckQuery) and all(by is None or by.here for _, by in clauses)
        if self.engine != "spark" and here:
            found = self._by_duckdb(rows, shown, clauses, identity)
            if found is not None:
                self.used.add("duckdb")
                return found
        if self.engine == "duckdb":
            raise NotTraceable("DuckDB cannot read the data, or may give another answer than Spark: use engine='auto'")
        self.used.add("spark")
        return RowSet(shown, self._by_spark(self.operator(rows), clauses))

    def numbers(self, rows: RowSet, clause: Clause) -> pa.ChunkedArray | None:
        """Return the numbers of the rows for which a clause is true, or None if DuckDB may not answer."""
        where, by = clause
        if self.engine == "spark" or not isinstance(rows.data, Files) or not (by is None or by.here):
            return None
        data, columns = (None, ()) if by is None else (by.data, by.columns)
        found = select(rows.data, where, data, columns, identity=True, columns=(), known=self._known)
        if found is None:
            return None
        self.used.add("duckdb")
        return found.column(0)

    def numbered(self, rows: RowSet, numbers: pa.ChunkedArray, identity: bool) -> RowSet | None:
        """Return the rows with these numbers, or None if DuckDB may not answer."""
        if self.engine == "spark" or not isinstance(rows.data, Files):
            return None
        found = numbered(rows.data, numbers, identity=identity)
        if found is None:
            return None
        self.used.add("duckdb")
        return RowSet((*rows.columns, fresh(ROW, "long", nullable=False)) if identity else rows.columns, found)

    def _by_duckdb(
        self, rows: RowSet, shown: tuple[Attr, ...], clauses: Sequence[Clause], identity: bool
    ) -> RowSet | None:
        import pyarrow as pa

        numbered = identity or len(clauses) > 1
        parts = []
        for where, by in clauses:
            data, columns = (None, ()) if by is None else (by.data, by.columns)
            part = select(rows.data, where, data, columns, identity=numbered, columns=shown, known=self._known)
            if part is None:
                return None
            parts.append(part)
        found = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        if len(parts) > 1:
            numbers = pa.table(
                {"row": found.column(found.num_columns - 1), "place": pa.array(range(len(found)), pa.int64())}
            )
            first = numbers.group_by("row").aggregate([("place", "min")]).column("place_min")
            found = found.take(first.combine_chunks().sort())
        if not numbered:
            return RowSet(shown, found)
        if not identity:
            return RowSet(shown, found.select(range(found.num_columns - 1)))
        return RowSet((*shown, fresh(ROW, "long", nullable=False)), found)

    def _by_spark(self, rows: Operator, clauses: Sequence[Clause]) -> Operator:
        if len(clauses) == 1:
            ((where, by),) = clauses
            literal = where if by is None else _spelled(where, by)
            if literal is not None:
                return filtered(rows, literal)
            assert by is not None
            return self._semi(settled(rows, where), where, by)
        asked = disjunction(*(where for where, _ in clauses))
        rows = settled(rows, asked)
        if may_fail(asked):  # compute what may fail only for rows that satisfy the other conditions
            rows = with_barrier(self._matched(rows, [(sure_part(where), by) for where, by in clauses]))
        return self._matched(rows, clauses)

    def _semi(self, rows: Operator, where: Expr, by: RowSet) -> Operator:
        """The rows that match some row of the table. Conditions that may fail are computed only for rows that match in
        the others.
        """
        table = self.operator(by)
        careful = may_fail_by(where, by.columns)
        asked: Expr | None = None
        for step in steps(where, of_pairs=True):
            if asked is not None:
                if careful:
                    found = self.arrow(RowSet(by.columns, Join(table, rows, "semi", asked)))
                    table = self.operator(RowSet(by.columns, found))
                rows = with_barrier(rows)
            asked = conjunction(asked, step)
            rows = Join(rows, table, "semi", asked)
        return rows

    def _matched(self, rows: Operator, clauses: Sequence[Clause]) -> Operator:
        facts: list[Expr] = []
        for where, by in clauses:
            literal = where if by is None else _spelled(where, by)
            if literal is None:
                assert by is not None
                literal = fresh("_matched", "boolean", nullable=False)
                rows = Join(rows, self.operator(by), "existence", where, literal)
            facts.append(literal)
        return Filter(rows, disjunction(*facts))

    def operator(self, table: RowSet) -> Operator:
        """The table as an operator whose columns are the table's attributes."""
        if isinstance(table.data, Operator):
            return table.data
        if isinstance(table.data, DuckQuery):
            rows, held = table.data.operator, table.data.shown
        elif table.read is not None:
            rows, held = table.read, table.read.output
        else:
            rows = given(self._frame(table))
            held = rows.columns
        return Project(rows, tuple(Named(new, old) for new, old in _pairs(table.columns, held)))

    def dataframe(self, table: RowSet) -> DataFrame:
        """The table as a DataFrame."""
        if isinstance(table.data, Operator):
            return frame(Project(table.data, keep(*table.columns)), self.jvm)
        if isinstance(table.data, Files | DuckQuery):
            return frame(self.operator(table), self.jvm)
        return self._frame(table).toDF(*(attr.name for attr in table.columns))

    def arrow(self, table: RowSet) -> pa.Table:
        """The table as an Arrow table, with its own column names."""
        names = [attr.name for attr in table.columns]
        if isinstance(table.data, Files) and table.read is None:
            import pyarrow.parquet as pq

            held = pq.read_table(list(table.data.paths), columns=[attr.name for attr in table.data.columns])
            return held.rename_columns(names)
        if isinstance(table.data, Operator | DuckQuery | Files):
            unique = [f"c{index}" for index in range(len(names))]
            return self.dataframe(table).toDF(*unique).toArrow().rename_columns(names)
        return table.data.rename_columns(names)

    def _frame(self, table: RowSet) -> DataFrame:
        spark = self.jvm.spark
        if isinstance(table.data, Files):
            # The files were written from Arrow, which does not have all of Spark's types.
            schema = schema_of(table.data.columns, [attr.name for attr in table.data.columns])
            return spark.read.schema(schema).parquet(*table.data.paths)
        unique = [f"c{index}" for index in range(len(table.columns))]
        if not table.data.num_rows:  # pyspark rejects an Arrow table with nested columns and no rows
            return spark.createDataFrame([], schema_of(table.columns, unique))
        return spark.createDataFrame(table.data.rename_columns(unique), schema=schema_of(table.columns, unique))


class Matched:
    """Matched rows of an answer: in memory, or as a DataFrame."""

    def __init__(self, matcher: Matcher, rows: RowSet) -> None:
        self._matcher, self._rows = matcher, rows

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [attr.name for attr in self._rows.columns]

    def dataframe(self) -> DataFrame:
        """The rows as a DataFrame."""
        return self._matcher.dataframe(self._rows)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._matcher.arrow(self._rows)

    def count(self) -> int:
        """The number of rows."""
        return int(self._rows.data.num_rows) if self._rows.in_memory else self.dataframe().count()


def schema_of(columns: Sequence[Attr], names: Sequence[str]) -> Any:
    """Spark's schema for columns, with other names."""
    from pyspark.sql.types import StructType

    fields: list[dict[str, Any]] = [
        {
            "name": name,
            "type": json.loads(attr.dtype) if attr.dtype.startswith("{") else attr.dtype,
            "nullable": True,
            "metadata": {},
        }
        for attr, name in zip(columns, names, strict=True)
    ]
    return StructType.fromJson({"fields": fields})


def bound(predicate: Expr, params: Mapping[str, Expr], attrs: Mapping[Attr, Expr] | None = None) -> Expr:
    """Replace the parameters of a predicate, and some of its columns."""

    def change(part: Tree) -> Tree:
        return params.get(part.name, part) if isinstance(part, Param) else part

    out = transform(substituted(predicate, attrs) if attrs else predicate, change)
    assert isinstance(out, Expr)
    return out


def _spelled(where: Expr, by: RowSet) -> Expr | None:
    """The predicate with the rows of the table as literals; None if they are too many or have no literals."""
    if may_fail_by(where, by.columns):  # with literals, Spark would evaluate it too early
        return None
    read = where.attrs
    used = [index for index, attr in enumerate(by.columns) if attr in read]
    if isinstance(by.data, Operator | Files | DuckQuery) or by.data.num_rows > LITERAL_ROWS:
        return None
    if any(by.columns[index].dtype.startswith(("{", "timestamp")) for index in used):
        return None
    if not used:
        return where if by.data.num_rows else disjunction()
    rows = zip(*(by.data.column(index).to_pylist() for index in used), strict=True)
    choices = (
        substituted(
            where, {by.columns[i]: Literal(value, by.columns[i].dtype) for i, value in zip(used, row, strict=True)}
        )
        for row in dict.fromkeys(rows)
    )
    return disjunction(*choices)


def _pairs(new: Sequence[Attr], old: Sequence[Attr]) -> list[tuple[Attr, Attr]]:
    return list(zip(new, old, strict=True))
