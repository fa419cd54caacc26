"""Sort keys."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions.base import Expr


@dataclass(frozen=True, slots=True)
class SortKey(Expr):
    """One sort key, and whether NULLs come first."""

    expr: Expr
    ascending: bool = True
    nulls_first: bool = True

    @property
    def dtype(self) -> str:  # type: ignore[override]  # read-only here
        return self.expr.dtype
