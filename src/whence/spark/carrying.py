"""The rows that a run gave, with the ids of the source rows that made each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.errors import BadType
from whence.rows import Attr, Named, Operator, Project, Sort, SortKey, fresh
from whence.rows.eager import Tagged
from whence.spark.lineage import given
from whence.spark.lower import frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.spark.jvm import Jvm

ROW_ID = "_row_id"


@dataclass(frozen=True, slots=True)
class Carrying:
    """The rows of a run: the columns of its tagged plan, and then the row's place. `row_id` shows places as ids."""

    tagged: Tagged
    rows: DataFrame
    row_id: Attr | None

    @property
    def operator(self) -> Operator:
        """The rows under the columns of the tagged plan, and their ids."""
        rows = given(self.rows)
        wanted = (*self.tagged.plan.output, *(() if self.row_id is None else (self.row_id,)))
        return Project(rows, tuple(Named(old, new) for old, new in zip(wanted, rows.columns, strict=False)))

    def output(self, columns: tuple[Attr, ...], names: list[str], jvm: Jvm) -> DataFrame:
        """The rows in their order: these columns under these names, and their ids where they are to be shown."""
        rows = given(self.rows)
        place = {attr: index for index, attr in reversed(list(enumerate(self.tagged.plan.output)))}
        chosen = [rows.columns[place[attr]] for attr in columns]
        if self.row_id is not None:
            chosen.append(rows.columns[-1])
            names = [*names, ROW_ID]
        shown = tuple(Named(fresh(attr.name, attr.dtype, attr.nullable), attr) for attr in chosen)
        ordered = Sort(rows, (SortKey(rows.columns[-1]),), everywhere=True)
        return frame(Project(ordered, shown), jvm).toDF(*names)


def row_id(columns: tuple[Attr, ...]) -> Attr:
    """The column of row ids beside others."""
    if any(attr.name.lower() == ROW_ID for attr in columns):
        raise BadType(f"the output has a column {ROW_ID!r} already: rename it to run with row_ids=True")
    return fresh(ROW_ID, "long", nullable=False)
