"""SELECT: columns chosen, renamed or computed."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions.base import Attr
from whence.rows.operators.base import Named, Operator, require, require_operator


@dataclass(frozen=True, slots=True)
class Project(Operator):
    """A select list. A column computed by a UDF is a Udf in it."""

    child: Operator
    columns: tuple[Named, ...]

    def __post_init__(self) -> None:
        require_operator("Project", self.child)
        require("Project", self.columns, self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return tuple(column.attr for column in self.columns)
