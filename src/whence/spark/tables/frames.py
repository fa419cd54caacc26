"""Read the rows and cells of a question from a Spark frame: by number or, for tables, by value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whence.errors import BadCells, BadType, NoSuchRow, TooLarge
from whence.spark.progress import watched
from whence.spark.scale.asking import MOST_ASKED, selected_of
from whence.spark.scale.failures import explained
from whence.spark.scale.frames import classic, without_pandas
from whence.spark.tables.held import HeldTable, cells, column_places, held_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from whence.selection import Selection
    from whence.store import Store


def asked_cells(store: Store, name: str, df: Any, columns: Sequence[str] | None = None) -> Selection:
    """Return the cells of a dataset that a frame selects.

    If the dataset is a table and all columns of the frame have names of its columns, the frame has rows by value: it
    selects all rows that are equal to one of them in these columns, and in these rows the cells of `columns`. Any other
    frame has indices.
    """
    df = without_pandas(df)
    shape = store.reader.shapes((name,))[name]
    is_table = store.reader.is_table(name)
    if is_table and classic(df):
        named = store.reader.tables((name,))[name][1]
        if df.columns and set(df.columns) <= set(named):
            return _agreeing(held_table(store, name), df, columns)
    found = selected_of(df, shape, table=is_table)
    if columns is None:
        return found
    if not is_table:
        raise BadCells(f"only tables have columns, and {name!r} is not a table: give its cells by index")
    return cells(found.along(0), column_places(store.reader.tables((name,))[name][1], columns), shape)


def _agreeing(held: HeldTable, df: DataFrame, columns: Sequence[str] | None) -> Selection:
    for each in df.columns:
        if held.names.count(each) > 1:
            raise BadType(f"{held.names.count(each)} columns of {held.name!r} are called {each!r}: give row numbers")
    with explained("asking"), watched(df.sparkSession, "reading the question"):
        rows = _cast(held, df).distinct().limit(MOST_ASKED + 1).toArrow()
    if rows.num_rows > MOST_ASKED:
        raise TooLarge(f"more than {MOST_ASKED:,} rows are too many for one question: ask in parts")
    numbers = held.agreeing(rows)
    if not len(numbers) and not df.isEmpty():
        raise NoSuchRow(f"no row of {held.name!r} agrees with a row of the frame in {', '.join(df.columns)}")
    return cells(numbers, column_places(held.names, columns), held.shape)


def _cast(held: HeldTable, df: DataFrame) -> DataFrame:
    """Cast the rows of the frame to the table's types, without rows that cannot equal any. Raise if the types do not
    match.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import NumericType

    own = dict(zip(held.names, held.columns, strict=True))
    chosen, same = [], F.lit(True)
    for field in df.schema.fields:
        kind = _type(own[field.name].dtype)
        both_numbers = isinstance(kind, NumericType) and isinstance(field.dataType, NumericType)
        if kind != field.dataType and not both_numbers:
            raise BadCells(
                f"column {field.name!r} of {held.name!r} holds {kind.simpleString()}, and that of the frame "
                f"{field.dataType.simpleString()}: convert it with .cast({kind.simpleString()!r})"
            )
        value = F.col(f"`{field.name}`")
        cast = value.try_cast(kind)
        same = same & cast.try_cast(field.dataType).eqNullSafe(value)  # 2.0 is an integer, 2.5 is not
        chosen.append(cast.alias(field.name))
    return df.where(same).select(*chosen)


def _type(dtype: str) -> DataType:
    """The Spark type with this name in the log."""
    from pyspark.sql.types import StructType

    written = json.loads(dtype) if dtype.startswith("{") else dtype
    field: dict[str, Any] = {"name": "x", "type": written, "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [field]}).fields[0].dataType
