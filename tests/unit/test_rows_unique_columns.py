"""Columns that are made in more than one place of a plan."""

from __future__ import annotations

import pytest

from whence.rows import AggCall, Aggregate, Attr, Join, Named, Source, fresh, walk
from whence.rows.unique_columns import unique_column_ids


def counted(table: Source) -> Aggregate:
    """How often each key is in a table."""
    key = table.output[0]
    return Aggregate(table, (key,), (Named(key, key), Named(fresh("n", "long"), AggCall("Count", (key,), "long"))))


@pytest.mark.parametrize("key", [fresh("k", "long"), Attr(1, "k", "long")], ids=["stored", "live"])
def test_a_table_that_is_read_twice(key: Attr) -> None:
    table = Source("t", 0, (key,))
    plan = unique_column_ids(Join(table, counted(table), "cross"))
    (grouped,) = (each for each in walk(plan) if isinstance(each, Aggregate))
    assert set(grouped.keys) <= set(grouped.child.output), "it groups by a column that it has"
    assert (grouped.keys == (key,)) == (key.id > 0), "Spark itself renames those of a live plan"
