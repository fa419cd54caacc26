"""Aggregate functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.rows.expressions.base import Expr

# Some rows of the group attain the value; these rows are its lineage.
WITNESSED = frozenset({"Min", "Max", "First", "Last", "AnyValue", "BoolOr"})


@dataclass(frozen=True, slots=True)
class AggCall(Expr):
    """An aggregate function over the rows of a group that pass `where` (SQL's FILTER clause)."""

    name: str
    args: tuple[Expr, ...]
    dtype: str
    distinct: bool = False
    where: Expr | None = None
    detail: str = ""
    python: bool = False  # a user's Python function: Spark does not allow it together with built-in aggregates
    origin: object = field(default=None, compare=False, repr=False)
    varies: str = field(default="", compare=False)  # why it may return another value for the same rows
    code: str = field(default="", compare=False, repr=False)  # a hash of a function in Python

    @property
    def witnessed(self) -> bool:
        """Whether rows of the group attain the value."""
        return self.name in WITNESSED
