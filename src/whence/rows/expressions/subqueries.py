"""Queries inside expressions. `whence.spark` turns them into joins before anything else sees the plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whence.rows.expressions.base import Expr
from whence.rows.expressions.logic import Logic

if TYPE_CHECKING:
    from whence.rows.operators.base import Operator


@dataclass(frozen=True, slots=True)
class ScalarQuery(Expr):
    """The one value of a query: NULL for no row, an error for more than one."""

    plan: Operator
    dtype: str
    origin: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exists(Logic):
    """Whether the query has a row."""

    plan: Operator
    origin: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InQuery(Logic):
    """`(args) IN (query)`."""

    args: tuple[Expr, ...]
    plan: Operator
    origin: object = field(default=None, compare=False, repr=False)
