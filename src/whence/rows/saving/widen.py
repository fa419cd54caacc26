"""Widen an operator by columns that it drops from its inputs, because exact lineage may need them."""

from __future__ import annotations

from dataclasses import replace

from whence.rows.expressions import fresh, like
from whence.rows.operators import Aggregate, Arrange, Filter, Join, Named, Operator, Project, Sort
from whence.rows.operators.join import LEFT_ONLY

BLOCK = (Filter, Project, Join, Sort, Arrange)
"""Operators that can be widened: they make an output row from one row or pair, and can pass on columns of the input."""


def widened(op: Operator) -> Operator:
    """Return the same rows with more columns: those that projections drop, and group keys that are not in the output.

    >>> from whence.rows import Attr, Project, Source, keep
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> [attr.name for attr in widened(Project(Source("t", 0, (a, b)), keep(a))).output]
    ['a', 'b']
    """
    if isinstance(op, Project):
        child = widened(op.child)
        passed = {column.expr for column in op.columns}
        more = tuple(Named(like(attr), attr) for attr in dict.fromkeys(child.output) if attr not in passed)
        return replace(op, child=child, columns=(*op.columns, *more))
    if isinstance(op, Filter | Sort | Arrange):
        return replace(op, child=widened(op.child))
    if isinstance(op, Join):
        right = op.right if op.how in LEFT_ONLY else widened(op.right)
        left = widened(op.left)
        if frozenset(left.output) & frozenset(right.output):  # a self-join: only projections distinguish its columns
            left, right = op.left, op.right
        return replace(op, left=left, right=right)
    if isinstance(op, Aggregate):
        shown = {column.expr for column in op.outputs}
        keys = (Named(fresh("_key", key.dtype), key) for key in dict.fromkeys(op.keys) if key not in shown)
        calls = (Named(fresh("_value", call.dtype), call) for call in op.calls if op.witnessed and call not in shown)
        listed = op.any_listed if not op.witnessed else None
        flag = () if listed is None or listed in shown else (Named(fresh("_listed", "boolean"), listed),)
        return replace(op, outputs=(*op.outputs, *keys, *calls, *flag))
    return op
