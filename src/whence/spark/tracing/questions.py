"""The rows of a question, and the operator that selects them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from whence.errors import BadType, OutOfRange
from whence.rows import Attr, Call, Compare, Expr, Join, Literal, Operator, conjunction, like
from whence.rows.determinism.clock import zone_of
from whence.rows.duck.types import arrow_type, duckdb_type
from whence.rows.filtering import filtered, settled
from whence.rows.questions.from_pandas import MISSING, is_frame, is_series, plain, rows_of
from whence.rows.questions.rows import Asked, asked_rows, comparable, is_simple, predicate
from whence.spark.lineage import given
from whence.spark.tracing.matching import Clause, RowSet, schema_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """Rows of a question, given by row number. The first row is 0."""

    numbers: tuple[int, ...]

    @classmethod
    def of(cls, numbers: object, rows: int | None) -> RowNumbers:
        """Make row numbers from a sequence of integers. `rows` is the number of rows of the table, if known."""
        values = numbers.to_pylist() if hasattr(numbers, "to_pylist") else plain(numbers)  # Arrow or NumPy
        if isinstance(values, bool) or not isinstance(values, Iterable | int):
            raise BadType(f"row numbers must be integers, not {type(numbers).__name__}")
        found = (values,) if isinstance(values, int) else tuple(plain(each) for each in values)
        if not all(type(each) is int for each in found):
            raise BadType("row numbers must be integers")
        if not found:
            raise BadType("no rows were given to ask about")
        for each in found:
            if each < 0 or (rows is not None and each >= rows):
                raise OutOfRange(f"there is no row {each}: there are {rows} rows, numbered from 0")
        return cls(tuple(dict.fromkeys(found)))

    def array(self) -> pa.ChunkedArray:
        """The sorted numbers as an Arrow array."""
        import pyarrow as pa

        return pa.chunked_array([pa.array(sorted(self.numbers), pa.int64())])


LITERALS = 100  # up to this many rows become literals in the predicate; more become a table


def asked_of(columns: tuple[Attr, ...], rows: object, spark: SparkSession) -> tuple[Asked, ...]:
    """Convert the rows that a user gives, in any form, also as a DataFrame of Spark or pandas."""
    if hasattr(rows, "collect") and hasattr(rows, "sparkSession"):
        rows = rows.collect()
    if is_frame(rows) or is_series(rows):
        rows = rows_of(rows, zone_of(str(spark.conf.get("spark.sql.session.timeZone"))))
    return asked_rows(columns, rows, spark.conf.get("spark.sql.caseSensitive") == "true")


def written_out(asked: tuple[Asked, ...]) -> bool:
    """Whether the rows of a question become literals in a predicate."""
    return len(asked) <= LITERALS and is_simple(asked)


def clause_of(asked: tuple[Asked, ...]) -> Clause | None:
    """The rows of a question as a clause for DuckDB: literals, or a table if they are many. None if only Spark can."""
    if written_out(asked):
        return predicate(asked), None
    attrs = tuple(attr for attr, _ in asked[0])
    if not is_simple(asked) or any(tuple(attr for attr, _ in row) != attrs for row in asked):
        return None
    table = _in_memory(attrs, asked)
    if table is None:
        return None
    own = tuple(map(like, attrs))
    pairs = zip(attrs, own, strict=True)
    return conjunction(*(Compare("<=>", attr, new) for attr, new in pairs)), RowSet(own, table)


def _in_memory(attrs: tuple[Attr, ...], asked: tuple[Asked, ...]) -> pa.Table | None:
    """Values as an Arrow table with the types of their columns; None if a value does not fit."""
    import pyarrow as pa

    arrays = []
    for place, attr in enumerate(attrs):
        values = [row[place][1] for row in asked]
        if duckdb_type(attr.dtype) is None or any(value is MISSING or _is_local(value, attr) for value in values):
            return None
        try:
            arrays.append(pa.array(values, arrow_type(attr.dtype)))
        except (
            pa.ArrowException,
            OverflowError,
        ):  # too many digits for the column, or a year that Arrow lacks
            return None
    return pa.Table.from_arrays(arrays, [f"c{place}" for place in range(len(arrays))])


def _is_local(value: object, attr: Attr) -> bool:
    """Whether the value is a time without a zone, in a column of instants."""
    return attr.dtype == "timestamp" and isinstance(value, datetime) and value.tzinfo is None


def matching(rows: Operator, asked: tuple[Asked, ...], spark: SparkSession) -> Operator:
    """Select the rows of the question."""
    if written_out(asked):
        return filtered(rows, predicate(asked))
    shapes: dict[tuple[Attr, ...], list[Asked]] = {}
    for row in asked:
        shapes.setdefault(tuple(attr for attr, _ in row), []).append(row)
    if len(shapes) > 1:
        raise BadType(f"more than {LITERALS} rows, or rows with nested values, must all name the same columns")
    (attrs, group), *_ = shapes.items()
    table = given(_table(attrs, group, spark))
    pairs = zip(attrs, table.columns, strict=True)
    either = {attr for row in group for attr, value in row if value is MISSING}
    same = conjunction(
        *(Compare("<=>", *(_number(c) if a in either else comparable(c) for c in (a, b))) for a, b in pairs)
    )
    return Join(settled(rows, same), table, "semi", same)


def _number(attr: Attr) -> Expr:
    """The column with NULL instead of NaN: pandas does not distinguish them."""
    return Call("nanvl", (attr, Literal(None, attr.dtype)), attr.dtype)


def _table(attrs: tuple[Attr, ...], rows: list[Asked], spark: SparkSession) -> DataFrame:
    from pyspark.errors import PySparkException

    schema = schema_of(attrs, [f"c{index}" for index in range(len(attrs))])
    try:
        made = spark.createDataFrame(
            [tuple(None if value is MISSING else value for _, value in row) for row in rows], schema
        )
    except (PySparkException, TypeError, ValueError) as error:
        raise BadType(f"a value does not fit its column: {error}") from error
    return made
