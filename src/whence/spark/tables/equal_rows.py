"""Equal rows of tables, and the rows of one table in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whence.selection import distinct

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.spark.sources.numbering import Ints


def has_equal_rows(rows: pa.Table) -> bool:
    """Whether two rows are equal. If the values of one column are all distinct, no query is needed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if rows.num_rows < 2:
        return False
    if not rows.num_columns:
        return True
    for column in rows.columns:
        if pa.types.is_integer(column.type) and not column.null_count:
            if len(distinct(column.to_numpy())) == rows.num_rows:  # sorts, which takes a tenth of the time of hashing
                return False
        elif pa.types.is_string(column.type) and int(pc.count_distinct(column, mode="all").as_py()) == rows.num_rows:
            return False
    from whence.rows.duck.engine import connected

    with connected() as connection:
        connection.register("handed", numbered_names(rows))
        found = connection.execute("SELECT count(*) FROM (SELECT DISTINCT * FROM handed)").fetchall()
        connection.unregister("handed")
    return bool(int(found[0][0]) < rows.num_rows)


def matched(rows: pa.Table, others: pa.Table) -> Ints | None:
    """For each row of `others`, return its index in `rows`, whose rows are distinct. None if a row is missing."""
    import pyarrow as pa

    from whence.rows.duck.engine import connected

    if rows.num_rows != others.num_rows:
        return None
    rows, others = numbered_names(rows), numbered_names(others)
    # Sums of floats may differ in their last digits between runs, so float columns are left out if the others are
    # enough.
    fixed = [place for place, column in enumerate(rows.columns) if not pa.types.is_floating(column.type)]
    if len(fixed) < rows.num_columns and fixed and not has_equal_rows(rows.select(fixed)):
        rows, others = rows.select(fixed), others.select(fixed)
    names = [f"c{place}" for place in range(rows.num_columns)]
    same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in names) or "true"
    with connected() as connection:
        connection.register("rows_a", _with_place(rows))
        connection.register("rows_b", _with_place(others))
        found = connection.execute(f"SELECT b.place, a.place FROM rows_b b JOIN rows_a a ON {same}").fetchnumpy()
        for name in ("rows_a", "rows_b"):
            connection.unregister(name)
    theirs, ours = (np.asarray(each, np.int64) for each in found.values())
    if len(theirs) != others.num_rows or len(distinct(theirs)) != len(theirs):
        return None
    places = np.empty(len(theirs), np.int64)
    places[theirs] = ours
    return places


def numbered_names(rows: pa.Table) -> pa.Table:
    """The table with columns named c0, c1 ..., because names may repeat."""
    return rows.rename_columns([f"c{place}" for place in range(rows.num_columns)])


def _with_place(rows: pa.Table) -> pa.Table:
    import pyarrow as pa

    return numbered_names(rows).append_column("place", pa.array(np.arange(rows.num_rows)))
