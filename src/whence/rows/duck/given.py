"""The second table of a question: few or many rows, in memory or in files, without duplicates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from whence.errors import BadType
from whence.rows.duck.files import Files
from whence.rows.duck.query import DuckQuery
from whence.rows.duck.translate import translated
from whence.rows.duck.types import arrow_type, duckdb_type
from whence.rows.expressions import And, Attr, Compare, Expr, Literal, Or

NAME = "given"  # the temporary table of a connection


@dataclass(frozen=True, slots=True)
class Given:
    """Distinct rows in a temporary table: their count, and the columns without NULL."""

    columns: tuple[Attr, ...]
    rows: int
    complete: frozenset[Attr]

    def names(self, alias: str) -> dict[Attr, str]:
        return {attr: f"{alias}.k{place}" for place, attr in enumerate(self.columns)}

    def equalities(self, predicate: Expr) -> Expr:
        """Replace `<=>` by `=` if that selects the same rows: DuckDB skips row groups of a join only for `=`.

        Not below NOT: for NULL, `<=>` is FALSE there, but `=` is NULL.
        """
        if isinstance(predicate, And | Or):
            return type(predicate)(tuple(map(self.equalities, predicate.args)))
        if isinstance(predicate, Compare) and predicate.op == "<=>":
            left, right = predicate.left, predicate.right
            if left in self.complete or right in self.complete:
                return Compare("=", left, right)
        return predicate

    def values(self, connection: Any) -> dict[Attr, Literal] | None:
        """The values of the only row; None if there are more rows, or if Python cannot represent a value."""
        if self.rows != 1:
            return None
        columns = [f"k{place}" for place in range(len(self.columns))]
        return values_of(connection.sql(f"SELECT * FROM {NAME}").to_arrow_table().select(columns), self.columns)


def values_of(table: Any, columns: tuple[Attr, ...]) -> dict[Attr, Literal] | None:
    """Return the first row of an Arrow table as literals; None if Python cannot represent a value."""
    try:
        row = [column[0].as_py() for column in table.columns]
    except (ValueError, OverflowError):  # a day outside of Python's calendar
        return None
    return {attr: Literal(value, attr.dtype) for attr, value in zip(columns, row, strict=True)}


def put(connection: Any, table: Any, columns: tuple[Attr, ...], only: Expr, needed: Iterable[Attr]) -> Given | None:
    """Write the distinct rows of the needed columns that satisfy `only` to a temporary table.

    Return None if `only` cannot be translated, or DuckDB does not read the columns as Spark does.
    """
    kept = tuple(needed)
    if isinstance(table, Files | DuckQuery):
        table.require(columns)
        if not table.readable({*kept, *only.attrs}):
            return None
        source, names = f"{table.sql()} AS t", table.names("t")
    else:
        fitting = _used_columns(table, columns, {*kept, *only.attrs})
        if fitting is None:
            return None
        connection.register("handed", fitting)
        # Copy first: Arrow itself would evaluate a filter on its table, and it treats NaN differently.
        connection.execute("CREATE TEMP TABLE copied AS SELECT * FROM handed")
        connection.unregister("handed")
        source, names = "copied AS t", {attr: f"t.a{place}" for place, attr in enumerate(columns)}
    where = translated(only, names)
    if where is None:
        return None
    shown = ", ".join(f"{names[attr]} AS k{place}" for place, attr in enumerate(kept)) or "TRUE AS k"
    connection.execute(f"CREATE TEMP TABLE {NAME} AS SELECT DISTINCT {shown} FROM {source} WHERE {where}")
    counts = ", ".join(["count(*)", *(f"count(k{place})" for place in range(len(kept)))])
    ((total, *filled),) = connection.execute(f"SELECT {counts} FROM {NAME}").fetchall()
    complete = frozenset(attr for attr, each in zip(kept, filled, strict=True) if each == total)
    return Given(kept, total, complete)


def one_row(table: Any, columns: tuple[Attr, ...], used: set[Attr]) -> dict[Attr, Literal] | None:
    """The used values of an Arrow table with one row; None if it has more rows, or types other than its columns'."""
    if isinstance(table, Files | DuckQuery) or table.num_rows != 1:
        return None
    kept = tuple(attr for attr in columns if attr in used)
    fitting = _used_columns(table, columns, used)
    return None if fitting is None else values_of(fitting.select(range(len(kept))), kept)


def _used_columns(table: Any, columns: tuple[Attr, ...], used: set[Attr]) -> Any:
    """The used columns of an Arrow table, named by position; None if one does not have its attribute's type."""
    import pyarrow as pa

    if table.num_columns != len(columns):
        raise BadType(f"the table has {table.num_columns} columns, and {len(columns)} are named")
    made = {}
    for place, attr in enumerate(columns):
        if attr not in used:
            continue
        column = table.column(place)
        if duckdb_type(attr.dtype) is None:
            return None
        wanted = arrow_type(attr.dtype)
        if column.type != wanted:
            if not _same_values(column.type, wanted):
                return None
            column = column.cast(wanted)
        made[f"a{place}"] = column
    return pa.table(made if made else {"a": pa.array([True] * table.num_rows, pa.bool_())})


def _same_values(old: Any, new: Any) -> bool:
    """Whether two types differ only in Arrow's memory layout."""
    import pyarrow as pa

    if pa.types.is_dictionary(old):
        return bool(old.value_type == new) or _same_values(old.value_type, new)
    if pa.types.is_timestamp(old) and pa.types.is_timestamp(new):
        return old.unit == new.unit and (old.tz is None) == (new.tz is None)
    texts = (pa.large_string(), pa.string_view())
    blobs = (pa.large_binary(), pa.binary_view())
    return (old in texts and new == pa.string()) or (old in blobs and new == pa.binary())
