"""Sort and limit."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions.base import Attr, Expr
from whence.rows.expressions.sorting import SortKey
from whence.rows.operators.base import Operator, require, require_operator


@dataclass(frozen=True, slots=True)
class Sort(Operator):
    """Sort the rows; `everywhere=False` sorts within partitions only."""

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
    """The first `count` rows after `offset` rows; `count=None` means all of them. Top-k is a Limit over a Sort.

    Without a sort below, or with ties at the end, the rows alone do not determine which of them a limit takes.
    """

    child: Operator
    count: Expr | None
    offset: Expr | None = None

    def __post_init__(self) -> None:
        require_operator("Limit", self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.child.output
