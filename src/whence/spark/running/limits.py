"""Check a limit of a run: whether the sort order separates the last row within the limit from the next row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whence.rows import Attr, Limit, Literal, Named, Operator, Project, Sort, fresh, keep
from whence.rows.saving import PlanPath, operator_at, replaced_at
from whence.spark.catalyst.frames import frame
from whence.spark.lineage import given
from whence.spark.running.artifacts import described_jobs
from whence.spark.running.outputs import surely_small

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm


def checked_limit(
    plan: Operator, place: PlanPath, few: bool, cached: list[DataFrame], jvm: Jvm
) -> tuple[Operator, pa.Table | None, bool]:
    """Run the plan with a limit that is one row larger, and return whether the sort order puts that row after the
    others.

    Also returned are the plan that continues from these rows, and the output rows if the limit is the last operator.
    """
    limit = operator_at(plan, place)
    assert isinstance(limit, Limit)
    assert isinstance(limit.child, Sort)
    if not isinstance(limit.count, Literal) or not isinstance(limit.count.value, int):
        return plan, None, False
    order, columns = limit.child, tuple(dict.fromkeys(limit.output))
    keys = tuple(Named(fresh(f"_key{index}", key.expr.dtype), key.expr) for index, key in enumerate(order.keys))
    more = replace(limit, count=Literal(limit.count.value + 1, limit.count.dtype))
    rows = frame(Project(more, (*keep(*columns), *keys)), jvm)
    with described_jobs(jvm, "the pipeline, up to its limit"):
        if few and place == () and columns == limit.output and surely_small(plan):
            return plan, *_first_rows(rows, limit.count.value, len(columns))
        cached.append(rows.persist())
        unique = rows.toDF(*(f"c{index}" for index in range(len(rows.columns))))
        last = unique.select(*(f"c{len(columns) + index}" for index in range(len(keys)))).tail(2)
        clear = rows.count() <= limit.count.value or not _are_tied(*last)
    below = replace(order, child=rows_under(rows, columns, columns))
    return replaced_at(plan, place, replace(limit, child=below)), None, clear


def _first_rows(rows: DataFrame, count: int, columns: int) -> tuple[pa.Table, bool]:
    """The first rows, without their keys, and whether the next row has other keys than the last of them."""
    table = rows.toDF(*(f"c{index}" for index in range(len(rows.columns)))).toArrow()
    keys = [_as_bytes(key).slice(max(0, count - 1), 2).to_pylist() for key in table.columns[columns:]]
    clear = table.num_rows <= count or count == 0 or not _are_tied(*zip(*keys, strict=True))
    return table.select(range(columns)).slice(0, count), clear


def _are_tied(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether two keys are equal in the sort order, in which NaN equals NaN."""
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def _as_bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A string column as bytes: strings in Spark need not be UTF-8."""
    import pyarrow as pa

    return column.cast(pa.binary()) if pa.types.is_string(column.type) else column


def rows_under(rows: DataFrame, attrs: Sequence[Attr], wanted: Sequence[Attr]) -> Operator:
    """Rows as an operator with the given attributes, because Spark may have given its columns new ids. `attrs` are the
    first columns of the rows; `wanted` are those to keep.
    """
    values = given(rows)
    place = dict(zip(attrs, values.columns, strict=False))
    return Project(values, tuple(Named(attr, place[attr]) for attr in wanted))
