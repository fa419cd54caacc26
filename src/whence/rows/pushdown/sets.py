"""Intersection and difference: equal rows, identified by all their columns.

before: a <=> :a and b <=> :b  on  Intersect(t, u)
after:  a <=> :a and b <=> :b  on  t;  c <=> :a and d <=> :b  on  u
"""

from __future__ import annotations

from whence.rows.expressions import FALSE, Expr
from whence.rows.operators import Except, Intersect
from whence.rows.pushdown.base import Aim, Pushed
from whence.rows.pushdown.pins import pins, substituted


def push_intersect(op: Intersect, predicate: Expr, aim: Aim) -> Pushed:
    """Select the equal rows of both sides, however many of them the output has."""
    decided = all_pinned(op, predicate)
    why = "" if decided else "rows that only one side has may match too"
    return Pushed((predicate, _by_place(op, predicate)), decided, why, assumes_row_exists=True)


def push_except(op: Except, predicate: Expr, aim: Aim) -> Pushed:
    """Select the equal rows of the left, and no rows of the right."""
    decided = all_pinned(op, predicate)
    right = FALSE if aim is Aim.LINEAGE else _by_place(op, predicate)
    why = "" if decided else "rows that the right side removes may match too"
    return Pushed((predicate, right), decided, why, assumes_row_exists=True, optional_inputs=frozenset({1}))


def all_pinned(op: Intersect | Except, predicate: Expr) -> bool:
    """Whether every column has one known value."""
    known = pins(predicate)
    return all(attr in known for attr in op.output)


def _by_place(op: Intersect | Except, predicate: Expr) -> Expr:
    return substituted(predicate, dict(zip(op.output, op.right.output, strict=True)))
