"""Drop conjuncts that may fail for rows for which the pipeline does not compute them.

before: int(s) <=> :n  below a Join that removes rows in which s is not a number
after:  true        (not precise, but it cannot fail)
"""

from __future__ import annotations

from dataclasses import replace

from whence.rows.expressions import Expr, conjuncts
from whence.rows.fallible import may_fail, sure_part
from whence.rows.operators import Except, Generate, Intersect, Join, Limit, Operator, Sample
from whence.rows.pushdown.base import Pushed
from whence.rows.pushdown.pins import pins

GUARDS = (Join, Limit, Sample, Generate, Intersect, Except)
"""Operators that remove rows in a way that a predicate on their input does not express. (A filter's condition becomes
part of the predicate.)
"""

UNGUARDED = "an expression above it may fail for rows that it removes"


def guarded(op: Operator, predicate: Expr, pushed: Pushed) -> Pushed:
    """Return the predicates without the conjuncts that may fail for rows that the operator removes.

    If the rule of a join is precise, rows that satisfy the rest of the predicate do have a match, so nothing is
    dropped.
    """
    if not isinstance(op, GUARDS) or not any(may_fail(each) for each in pushed.inputs):
        return pushed
    if isinstance(op, Intersect | Except):
        known = pins(predicate)
        loses = not all(attr in known for attr in op.output) and any(map(may_fail, conjuncts(predicate)))
        return replace(without_risks(pushed), precise=False, why=pushed.why or UNGUARDED) if loses else pushed
    return pushed if pushed.precise else without_risks(pushed)


def without_risks(pushed: Pushed) -> Pushed:
    """Drop the conjuncts that may fail, which selects a superset of the rows."""
    return replace(pushed, inputs=tuple(map(sure_part, pushed.inputs)))
