"""Rows that satisfy a condition."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions.base import Attr, Expr
from whence.rows.operators.base import Operator, require, require_operator


@dataclass(frozen=True, slots=True)
class Filter(Operator):
    """The rows for which the condition is true: neither false nor NULL."""

    child: Operator
    condition: Expr

    def __post_init__(self) -> None:
        require_operator("Filter", self.child)
        require("Filter", (self.condition,), self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.child.output
