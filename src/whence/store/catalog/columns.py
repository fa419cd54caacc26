"""Reading whole columns of the catalog: the database returns each as one JSON array, which is parsed when needed.

Reading a million rows one by one would take many times as long.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from whence.store.catalog.kinds import Document, refuse

Ints = NDArray[np.int64]
_BATCH = 1 << 17  # rows of one array: SQLite's strings are limited to one gigabyte


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, by ascending id; the columns are strings that are parsed later."""

    ids: Ints
    columns: tuple[str, ...]
    order: Ints | None  # the order of ids in the columns, if it is not ascending

    def values(self, place: int) -> list[Any]:
        """Return the values of one column."""
        text = self.columns[place]
        try:
            found: list[Any] = json.loads(text if text.startswith("[") else f"[{text}]")
        except (ValueError, RecursionError) as error:
            refuse("a document in it is not JSON", error)
        return found if self.order is None else [found[each] for each in self.order.tolist()]


def batches(connection: sa.Connection, table: sa.Table, names: Sequence[str]) -> Iterator[Batch]:
    """Iterate over columns of a table with ids, in batches of rows by ascending id."""
    key = table.c.id
    wanted = [_gathered(connection, each) for each in (key, *(table.c[name] for name in names))]
    first, last = connection.execute(sa.select(sa.func.min(key), sa.func.max(key))).one()
    for start in range(first, last + 1, _BATCH) if first is not None else ():
        some = sa.select(*wanted).where(key >= start, key < start + _BATCH)
        ids, *texts = connection.execute(some).one()
        numbers = _integers_of_text(ids)
        if len(numbers):
            order = None if (numbers[1:] > numbers[:-1]).all() else np.argsort(numbers)
            yield Batch(numbers if order is None else numbers[order], tuple(texts), order)


def pairs(connection: sa.Connection, one: sa.Column[Any], other: sa.Column[Any]) -> tuple[Ints, Ints]:
    """Return two integer columns of one table, in the same order."""
    first, second = connection.execute(sa.select(*(_gathered(connection, each) for each in (one, other)))).one()
    return _integers_of_text(first), _integers_of_text(second)


def _gathered(connection: sa.Connection, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Return an expression for a column as one JSON array, or for JSON objects separated by commas."""
    if connection.dialect.name == "sqlite":
        if isinstance(column.type, Document):  # concatenated as text: parsing would cost time
            return sa.func.group_concat(column, sa.literal_column("','"), type_=sa.Text)
        return sa.func.json_group_array(column, type_=sa.Text)
    return sa.cast(sa.func.json_agg(column, type_=sa.Text), sa.Text)


def _integers_of_text(text: str | None) -> Ints:
    try:
        return np.zeros(0, np.int64) if text is None else np.fromstring(text.strip("[]"), np.int64, sep=",")
    except ValueError as error:
        refuse("a row refers to another by what is no number", error)
