"""Order, and the rows that are first in it."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions.base import Attr, Expr
from whence.rows.expressions.sorting import SortKey
from whence.rows.operators.base import Operator, require, require_operator


@dataclass(frozen=True, slots=True)
class Sort(Operator):
    """Rows in order; everywhere=False orders within partitions only."""

    child: Operator
    keys: tuple[SortKey, ...]
    everywhere: bool = True

    def __post_init__(self) -> None:
        require_operator("Sort", self.child)
        require("Sort", self.keys, self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.child.output


@dataclass(frozen=True, slots=True)
class Limit(Operator):
    """The first rows, skipping `offset`; count=None is all of them. Top-k is a Limit over a Sort.

    Which rows it takes is not decided by the rows alone when nothing below orders them, or when ties span the end.
    """

    child: Operator
    count: Expr | None
    offset: Expr | None = None

    def __post_init__(self) -> None:
        require_operator("Limit", self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.child.output
