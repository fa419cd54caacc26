"""Aggregate functions: values of a group of rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.rows.expressions.base import Expr

# "min, max, first, last or any": some rows of the group attain the value, and these are its lineage.
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
    python: bool = False  # a user's function in Python: Spark lets it stand beside no built-in aggregate
    origin: object = field(default=None, compare=False, repr=False)
    varies: str = field(default="", compare=False)  # why it may give something else for the same rows
    code: str = field(default="", compare=False, repr=False)  # a hash of a function in Python

    @property
    def witnessed(self) -> bool:
        """Whether rows of the group attain the value."""
        return self.name in WITNESSED
