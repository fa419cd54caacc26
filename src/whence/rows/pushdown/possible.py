"""Which inputs can have produced the row of a question, by the constants in the plan.

before: channel <=> 'store'  on  Union(Project('web' as channel), Project('store' as channel))
after:  only the second input is possible
"""

from __future__ import annotations

from whence.rows.expressions import FALSE, Expr
from whence.rows.operators import (
    Aggregate,
    Arrange,
    Distinct,
    Except,
    Expand,
    Filter,
    Generate,
    Intersect,
    Join,
    Limit,
    Operator,
    Project,
    Sample,
    Sort,
    Union,
    Window,
)
from whence.rows.pushdown.base import Aim
from whence.rows.pushdown.fold import folded
from whence.rows.pushdown.rules import push

# Operators that return no rows for no rows. An aggregate without keys returns one.
EMPTY_OF_EMPTY = (Arrange, Distinct, Expand, Filter, Generate, Limit, Project, Sample, Sort, Window)


def possible(op: Operator, predicate: Expr) -> bool:
    """Return False only if no output row can satisfy the predicate, whatever rows the sources have.

    For example, a question about rows with `channel = 'web'` selects nothing in a branch with `'store' AS channel`.
    """
    predicate = folded(predicate)
    if predicate == FALSE:
        return False
    if isinstance(op, Union):
        inputs = push(op, predicate, Aim.RESTRICT).inputs
        return any(possible(child, each) for child, each in zip(op.inputs, inputs, strict=True))
    if isinstance(op, EMPTY_OF_EMPTY) or (isinstance(op, Aggregate) and op.keys):
        (child,), (below,) = op.children, push(op, predicate, Aim.RESTRICT).inputs
        return possible(child, below)
    if isinstance(op, Join | Intersect | Except):
        left, right = push(op, predicate, Aim.RESTRICT).inputs
        how = op.how if isinstance(op, Join) else "inner" if isinstance(op, Intersect) else "anti"
        needs_left = how not in ("right", "full")
        needs_right = how in ("inner", "cross", "right", "semi")
        return not (needs_left and not possible(op.left, left)) and not (needs_right and not possible(op.right, right))
    return True
