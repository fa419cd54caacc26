"""Window functions."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions.base import Attr, Expr
from whence.rows.expressions.sorting import SortKey
from whence.rows.expressions.windows import WindowCall
from whence.rows.operators.base import Named, Operator, require, require_operator
from whence.rows.tree import walk


@dataclass(frozen=True, slots=True)
class Window(Operator):
    """The input's columns, and one more for each function. All functions have the same partitioning and order."""

    child: Operator
    calls: tuple[Named, ...]
    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...]

    def __post_init__(self) -> None:
        require_operator("Window", self.child)
        require("Window", (*self.partition, *self.order, *self.calls), self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return (*self.child.output, *(named.attr for named in self.calls))

    @property
    def functions(self) -> tuple[WindowCall, ...]:
        """Every window function in the calls, each once."""
        found = (part for named in self.calls for part in walk(named.expr) if isinstance(part, WindowCall))
        return tuple(dict.fromkeys(found))
