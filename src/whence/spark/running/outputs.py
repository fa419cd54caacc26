"""Small outputs of runs as local data. A pipeline that reads one continues to the plan that made it."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.rows import Literal, walk
from whence.rows import operators as o
from whence.rows.duck.types import leaves
from whence.rows.questions.restrict import sources as sources_of
from whence.spark.catalyst.jvm import items
from whence.spark.sources.kind import Version
from whence.spark.sources.versions import require_unchanged

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm

MOST_ROWS, MOST_BYTES = 50_000, 32 << 20  # the largest output that becomes local data
REMEMBERED = 1000  # outputs of one session whose plans are remembered; an older one is a source
MARK = "whence"
# Operators that may be in a plan twice: a pipeline may join an output with itself or with its own input.
REPEATABLE = (
    o.Aggregate, o.Arrange, o.Distinct, o.Except, o.Expand, o.Filter, o.Intersect, o.Join, o.Limit, o.Project, o.Sort,
    o.Source, o.Union, o.Values, o.Window,
)  # fmt: skip

_numbers = itertools.count(1)
_made: weakref.WeakKeyDictionary[SparkContext, dict[str, Made]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Made:
    """How an output was made: Catalyst's plan, and the versions of its sources."""

    plan: Any
    sources: tuple[tuple[o.Source, Version], ...]


def holdable(plan: o.Operator) -> bool:
    """Whether rows of this plan can be local data."""
    operators = (part for part in walk(plan) if isinstance(part, o.Operator))
    return (
        bool(plan.output)
        and all(isinstance(each, REPEATABLE) for each in operators)
        and all(leaves(attr.dtype) is not None for attr in plan.output)
    )


def surely_small(plan: o.Operator) -> bool:
    """Whether the plan itself says that its output is small.

    >>> from whence.rows import Attr, Limit, Literal, Source
    >>> surely_small(Limit(Source("t", 0, (Attr(1, "a", "long"),)), Literal(3, "integer")))
    True
    """
    while isinstance(plan, o.Project | o.Filter | o.Sort | o.Arrange):
        plan = plan.child
    if isinstance(plan, o.Limit) and isinstance(plan.count, Literal) and isinstance(plan.count.value, int):
        return plan.count.value <= MOST_ROWS
    return isinstance(plan, o.Aggregate) and not plan.keys


def local(
    table: pa.Table, df: DataFrame, plan: o.Operator, versions: Mapping[str, Version], jvm: Jvm
) -> DataFrame | None:
    """Return the rows as a DataFrame of local data, which runs no job, or None if it would not be equivalent.

    `table` has the columns of `df`, by index. The first column's qualifier is a mark that leads back to the plan:
    Catalyst keeps it when it makes a new instance of a relation.
    """
    if not holdable(plan):
        return None
    names = [f"c{index}" for index in range(len(plan.output))]
    analyzed = df._jdf.queryExecution().analyzed()
    relation = _local_relation(table.rename_columns(names), df, names)
    if relation.nodeName() != "LocalRelation":  # too large for Spark to keep in a plan
        return None
    token = f"output{next(_numbers)}"
    first, *rest = columns = [attr.newInstance() for attr in items(analyzed.output())]
    marked = first.withQualifier(jvm.seq([MARK, token]))
    leaf = jvm.made("plans.logical.LocalRelation", jvm.seq([marked, *rest]), relation.data())
    known = _made.setdefault(jvm.spark.sparkContext, {})
    known[token] = Made(analyzed, tuple((each, versions[each.name]) for each in sources_of(plan)))
    while len(known) > REMEMBERED:
        del known[next(iter(known))]
    return jvm.frame(jvm.new("plans.logical.Project", jvm.seq(columns), leaf))


def plan_of(java: Any, jvm: Jvm) -> Any:
    """The plan that made a leaf; None if the leaf is not the output of a run."""
    if java.nodeName() != "LocalRelation":
        return None
    first = next(iter(items(java.output())), None)
    mark = [] if first is None else [str(part) for part in items(first.qualifier())]
    made = _made.get(jvm.spark.sparkContext, {}).get(mark[1]) if len(mark) == 2 and mark[0] == MARK else None
    if made is None:
        return None
    for source, version in made.sources:
        require_unchanged(source, version, jvm)
    return made.plan


def _local_relation(table: pa.Table, df: DataFrame, names: list[str]) -> Any:
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(name, field.dataType) for name, field in zip(names, df.schema.fields, strict=True)]
    made = df.sparkSession.createDataFrame(table, schema=StructType(fields))
    return made._jdf.queryExecution().analyzed()
