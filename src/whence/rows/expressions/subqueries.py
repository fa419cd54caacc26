"""Subqueries in expressions. `whence.spark` turns them into joins before any other code reads the plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whence.rows.expressions.base import Expr
from whence.rows.expressions.logic import Logic

if TYPE_CHECKING:
    from whence.rows.operators.base import Operator


@dataclass(frozen=True, slots=True)
class ScalarQuery(Expr):
    """The one value of a query: NULL for no row; more than one row is an error."""

    plan: Operator
    dtype: str
    origin: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exists(Logic):
    """Whether the query returns a row."""

    plan: Operator
    origin: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InQuery(Logic):
    """`(args) IN (query)`."""

    args: tuple[Expr, ...]
    plan: Operator
    origin: object = field(default=None, compare=False, repr=False)
