"""Which columns identify a row of an operator's output."""

from __future__ import annotations

from whence.rows.expressions import Attr, Call
from whence.rows.operators import Aggregate, Arrange, Distinct, Filter, Join, Limit, Operator, Project, Sort, Window
from whence.rows.pushdown.groups import key_attrs

NUMBERS = frozenset({"DistributedSequenceID", "MonotonicallyIncreasingID"})  # another number for each row


def unique(op: Operator, columns: frozenset[Attr]) -> bool:
    """Whether no two rows can be equal in all given columns; False if unknown."""
    if isinstance(op, Filter | Sort | Arrange | Limit | Window):
        return unique(op.child, columns)
    if isinstance(op, Distinct):
        return frozenset(op.keys) <= columns or unique(op.child, columns)
    if isinstance(op, Aggregate):
        keys = key_attrs(op)
        return not op.keys or (keys is not None and keys <= columns)
    if isinstance(op, Project):
        passed = [column.expr for column in op.columns if column.attr in columns]
        if any(isinstance(expr, Call) and expr.name in NUMBERS for expr in passed):
            return True
        return unique(op.child, frozenset(expr for expr in passed if isinstance(expr, Attr)))
    if isinstance(op, Join):
        if op.how in ("semi", "anti", "existence", "single"):
            return unique(op.left, columns & frozenset(op.left.output))
        sides = (op.left, op.right)
        return all(unique(side, columns & frozenset(side.output)) for side in sides) and op.how in ("inner", "cross")
    return False
