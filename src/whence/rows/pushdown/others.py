"""Limits, samples, and opaque operators.

before: a <=> :a and b <=> :b  on  Limit(3, Sort(by a, b))
after:  a <=> :a and b <=> :b        (precise if no two rows can be equal)

before: a <=> :a  on  Opaque(mapInPandas)
after:  true        (not precise)
"""

from __future__ import annotations

from whence.rows.expressions import Expr
from whence.rows.operators import Limit, Opaque, Sample
from whence.rows.pushdown.base import Aim, Pushed, give_up
from whence.rows.pushdown.pins import pins
from whence.rows.pushdown.unique import unique


def push_limit(op: Limit, predicate: Expr, aim: Aim) -> Pushed:
    """Select the row, if no row that the limit removes can be equal to it.

    An input restricted to the row gives the row only if the limit skips no rows and did not remove the row: the result
    `assumes_row_exists`.
    """
    known = pins(predicate)
    if not all(attr in known for attr in op.output):
        return give_up(op, "a limit counts rows, so all columns must be asked for")
    if not unique(op.child, frozenset(op.output)):
        why = "equal rows may lie on both sides of the limit"
        return Pushed((predicate,), False, why) if aim is Aim.LINEAGE else give_up(op, why)
    if aim is Aim.RESTRICT and op.offset is not None:
        return give_up(op, "an offset counts rows")
    return Pushed((predicate,), assumes_row_exists=True)


def push_sample(op: Sample, predicate: Expr, aim: Aim) -> Pushed:
    """Give up: a sample depends on the position of every row."""
    return give_up(op, "a sample depends on the positions of rows")


def push_opaque(op: Opaque, predicate: Expr, aim: Aim) -> Pushed:
    """Give up: any row may have contributed."""
    return give_up(op, op.why)
