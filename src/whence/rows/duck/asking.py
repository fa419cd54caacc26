"""Ask DuckDB for the rows of files that satisfy a predicate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.errors import BadType
from whence.rows.duck.engine import connected
from whence.rows.duck.files import Files, row_sql
from whence.rows.duck.given import NAME, one_row, put
from whence.rows.duck.query import DuckQuery
from whence.rows.duck.translate import translated
from whence.rows.duck.types import arrow_type, same_type
from whence.rows.expressions import FALSE, TRUE, Attr, Expr, Literal, conjunction, conjuncts
from whence.rows.tree import transform

if TYPE_CHECKING:
    import pyarrow as pa

MATCHED = f" SEMI JOIN {NAME} AS g ON "
ROW = Attr(0, "_row", "long", nullable=False)


@dataclass(frozen=True, slots=True)
class Question:
    """Rows of files, or computed from files; the predicate; and an optional second table that the predicate reads."""

    rows: Files | DuckQuery
    where: Expr
    table: Any
    columns: tuple[Attr, ...]  # of the table

    def __post_init__(self) -> None:
        if self.table is None and self.columns:
            raise BadType("columns of a table were given without the table")
        both = set(self.rows.columns) & set(self.columns)
        if both:
            raise BadType(f"the files and the table share columns: {', '.join(map(str, both))}")
        lost = self.where.attrs - set(self.rows.columns) - set(self.columns)
        if lost:
            raise BadType(f"the predicate reads unknown columns: {', '.join(map(str, lost))}")


def select(
    rows: Files | DuckQuery,
    where: Expr,
    table: pa.Table | Files | DuckQuery | None = None,
    table_columns: tuple[Attr, ...] = (),
    *,
    identity: bool = False,
    columns: tuple[Attr, ...] | None = None,
    known: dict[str, Any] | None = None,
) -> pa.Table | None:
    """Return the rows of files that satisfy `where`; with `table`, those that satisfy it together with some row of it.

    The answer has all columns, or `columns`; with `identity` also `_row`, made of the index of the file in `rows.paths`
    and the index of the row in the file. Without a table, rows are in the order of the files. Return None if DuckDB is
    not known to answer as Spark would. `known` caches answers by query.
    """
    wanted = rows.columns if columns is None else columns
    rows.require(wanted)
    if not wanted and not identity:
        raise BadType("no columns were requested: name some, or use identity=True")
    asked = Question(rows, where, table, table_columns)
    found = _answer(asked, _select_list(rows, wanted, identity), wanted, identity, known)
    return None if found is None else _as_spark(found, (*wanted, ROW) if identity else wanted)


def numbered(rows: Files, numbers: pa.ChunkedArray, *, identity: bool = False) -> pa.Table | None:
    """Return the rows of files with these row numbers; None if DuckDB is not known to read them as Spark does."""
    import pyarrow as pa

    if not rows.readable(rows.columns, True):
        return None
    # A filter on the row number of one file lets DuckDB skip parts of it.
    number = "r.file_row_number" if len(rows.paths) == 1 else row_sql("r")
    with connected() as connection:
        connection.register("handed", pa.table({"n": numbers}))
        shown = _select_list(rows, rows.columns, identity)
        query = f"SELECT {shown} FROM {rows.sql()} AS r SEMI JOIN handed AS g ON {number} = g.n"
        with _refusals():
            found = connection.sql(query).to_arrow_table()
            return _as_spark(found, (*rows.columns, ROW) if identity else rows.columns)
    return None


def equal_rows(rows: Files, table: pa.Table) -> pa.ChunkedArray | None:
    """Return the numbers of the rows of files that equal a row of a table with the same columns, in the same order.

    NULL equals NULL. Return None if DuckDB is not known to read the files as Spark does.
    """
    if not rows.readable(rows.columns, True):
        return None
    held, own = rows.names("r"), [f"c{place}" for place in range(table.num_columns)]
    pairs = zip((held[attr] for attr in rows.columns), own, strict=True)
    same = " AND ".join(f"{one} IS NOT DISTINCT FROM g.{other}" for one, other in pairs) or "true"
    with connected() as connection:
        connection.register("handed", table.rename_columns(own))
        with _refusals():
            query = f"SELECT {row_sql('r')} AS n FROM {rows.sql()} AS r SEMI JOIN handed AS g ON {same}"
            return connection.sql(query).to_arrow_table().column(0)
    return None


def _select_list(rows: Files | DuckQuery, wanted: tuple[Attr, ...], identity: bool) -> str:
    """The requested columns, named by position, and then the row number."""
    names = rows.names("r")
    shown = [f"{names[attr]} AS c{place}" for place, attr in enumerate(wanted)]
    if identity:
        shown.append(f"{row_sql('r')} AS c{len(wanted)}")
    return ", ".join(shown)


def count(
    rows: Files | DuckQuery,
    where: Expr,
    table: pa.Table | Files | DuckQuery | None = None,
    table_columns: tuple[Attr, ...] = (),
) -> int | None:
    """Return the number of rows that `select` would return; None if DuckDB is not known to answer as Spark would."""
    found = _answer(Question(rows, where, table, table_columns), "count(*) AS c0", (), False)
    return None if found is None else int(found.column(0)[0].as_py())


def _answer(
    asked: Question, shown: str, wanted: tuple[Attr, ...], identity: bool, known: dict[str, Any] | None = None
) -> Any:
    read = asked.where.attrs | frozenset(wanted)
    used = {attr for attr in asked.rows.columns if attr in read}
    if not asked.rows.readable(used, identity):
        return None
    with connected() as connection, _refusals():
        rest = _query(connection, asked)
        if rest is None:
            return None
        query = f"SELECT {shown} {rest}"
        if known is None or MATCHED in rest:  # this answer depends on a table of this connection
            return connection.sql(query).to_arrow_table()
        if query not in known:
            known[query] = connection.sql(query).to_arrow_table()
        return known[query]
    return None


@contextmanager
def _refusals() -> Iterator[None]:
    """Suppress errors of DuckDB about data that it cannot read or compute.

    Examples are invalid UTF-8, an unknown encoding, and too little memory. Spark then reads the data, or raises the
    error. Any other error would be a bug in whence.
    """
    import duckdb

    refused = (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.DataError, duckdb.NotSupportedError)
    with suppress(*refused, duckdb.InvalidInputException):
        yield


def _query(connection: Any, asked: Question) -> str | None:
    """The SQL query from FROM on."""
    rows = asked.rows
    if asked.table is None:
        return _filtered(rows, asked.where)
    own = set(asked.columns)
    values = one_row(asked.table, asked.columns, own & asked.where.attrs)
    if values is not None:
        return _filtered(rows, _valued(asked.where, values))
    parts = conjuncts(asked.where)
    only = conjunction(*(each for each in parts if each.attrs and each.attrs <= own))
    rest = conjunction(*(each for each in parts if not (each.attrs and each.attrs <= own)))
    read = rest.attrs
    given = put(connection, asked.table, asked.columns, only, (each for each in asked.columns if each in read))
    if given is None:
        return None
    values = given.values(connection)
    if values is not None:
        return _filtered(rows, _valued(rest, values))
    # A join skips row groups by the values in the table, as literals do, and is faster than a list of literals.
    joined = translated(given.equalities(rest) if given.rows else FALSE, {**rows.names("r"), **given.names("g")})
    return None if joined is None else f"{_from_sql(rows, TRUE)}{MATCHED}{joined}"


def _filtered(rows: Files | DuckQuery, where: Expr) -> str | None:
    holds = translated(where, rows.names("r"))
    return None if holds is None else f"{_from_sql(rows, where)} WHERE {holds}"


def _from_sql(rows: Files | DuckQuery, where: Expr) -> str:
    """The FROM clause, already without most rows that do not satisfy the predicate."""
    return f"FROM {(rows.narrowed(where) if isinstance(rows, DuckQuery) else rows).sql()} AS r"


def _valued(predicate: Expr, values: dict[Attr, Literal]) -> Expr:
    made: Expr = transform(predicate, lambda part: values.get(part, part) if isinstance(part, Attr) else part)
    return made


def _as_spark(found: pa.Table, columns: tuple[Attr, ...]) -> pa.Table | None:
    """Return the answer with its column names and Spark's types; None if DuckDB's types differ."""
    import pyarrow as pa

    wanted = [arrow_type(attr.dtype) for attr in columns]
    if not all(same_type(one.type, other) for one, other in zip(found.columns, wanted, strict=True)):
        return None
    made = [one if one.type == other else one.cast(other) for one, other in zip(found.columns, wanted, strict=True)]
    return pa.Table.from_arrays(made, names=[attr.name for attr in columns])
