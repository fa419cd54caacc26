"""The rows that a run gave, with the ids of the source rows that made each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.errors import BadType
from whence.rows import Arrange, Attr, Filter, Limit, Named, Operator, Project, Sort, SortKey, fresh, like
from whence.rows.eager import Tagged
from whence.spark.catalyst.write import frame
from whence.spark.lineage import given

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm

ROW_ID = "_row_id"


@dataclass(frozen=True, slots=True)
class AnnotatedOutput:
    """The rows of a run: the columns of its tagged plan, and then the row's place. `row_id` shows places as ids."""

    tagged: Tagged
    rows: DataFrame
    row_id: Attr | None
    mixed: bool  # read from files, in any order

    @property
    def operator(self) -> Operator:
        """The rows under the columns of the tagged plan, and their ids."""
        rows = given(self.rows)
        wanted = (*self.tagged.plan.output, *(() if self.row_id is None else (self.row_id,)))
        return Project(rows, tuple(Named(old, new) for old, new in zip(wanted, rows.columns, strict=False)))

    def output(self, plan: Operator, names: list[str], jvm: Jvm) -> DataFrame:
        """The plan's own columns under these names, in its order, and the ids of rows where they are to be shown."""
        rows = given(self.rows)
        place = {attr: index for index, attr in reversed(list(enumerate(self.tagged.plan.output)))}
        chosen = [rows.columns[place[attr]] for attr in plan.output]
        if self.row_id is not None:
            chosen.append(rows.columns[-1])
            names = [*names, ROW_ID]
        shown = tuple(Named(like(attr), attr) for attr in chosen)
        in_order = Sort(rows, (SortKey(rows.columns[-1]),), everywhere=True) if self.mixed and _ordered(plan) else rows
        return frame(Project(in_order, shown), jvm).toDF(*names)


def _ordered(plan: Operator) -> bool:
    """Whether its rows come in an order."""
    while isinstance(plan, Project | Filter | Limit | Arrange):
        plan = plan.child
    return isinstance(plan, Sort)


def row_id(columns: tuple[Attr, ...]) -> Attr:
    """The column of row ids beside others."""
    if any(attr.name.lower() == ROW_ID for attr in columns):
        raise BadType(f"the output has a column {ROW_ID!r} already: rename it to run with row_ids=True")
    return fresh(ROW_ID, "long", nullable=False)
