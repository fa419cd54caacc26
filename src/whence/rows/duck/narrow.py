"""Push conditions on a column, from a question or one side of a join, down to its source.

DuckDB does the same within limits: it sends no value through a group or to the other side of a semi-join.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from whence.rows.expressions import Attr, Compare, Expr, Literal, conjuncts, fresh
from whence.rows.operators import (
    Aggregate,
    Arrange,
    Distinct,
    Filter,
    Join,
    Named,
    Operator,
    Project,
    Sort,
    Source,
    Union,
)
from whence.rows.pushdown.pins import substituted
from whence.rows.tree import walk

Cut: TypeAlias = Callable[[Operator, Attr], Operator]
"""Selects rows of a source by one of its columns."""
Values: TypeAlias = tuple[Operator | None, Attr]
"""Rows and one of their columns, which contains all values of another column; None if no such rows are known."""

# The output of these joins has no right (or left) row without a match. So a condition on a left (right) column can be
# pushed into its side: rows of the other side that then have no match are not in the output anyway.
BY_LEFT = frozenset({"inner", "cross", "left", "single", "semi", "anti", "existence"})
BY_RIGHT = frozenset({"inner", "cross", "right"})


def narrowed(op: Operator, where: Expr) -> Operator:
    """Return the operator over fewer source rows. It gives the same rows among those that satisfy `where`.

    >>> from whence.rows.expressions import AggCall, Literal
    >>> a, b, n = Attr(1, "a", "long"), Attr(2, "b", "long"), Attr(3, "n", "long")
    >>> groups = Aggregate(Source("t", 0, (a, b)), (a,), (Named(a, a), Named(n, AggCall("Count", (b,), "long"))))
    >>> one = narrowed(groups, Compare("=", a, Literal(7, "long")))
    >>> type(one.child).__name__, type(one.child.child).__name__
    ('Filter', 'Source')
    """
    if not _makes_groups(op):  # DuckDB pushes the conditions down itself
        return op
    for fact in conjuncts(where):
        for attr in fact.attrs if len(fact.attrs) == 1 else ():
            op = _narrowed(op, attr, _values_in(fact, attr))
    return _reduced(op)


def loosened(op: Operator) -> Operator | None:
    """Return the operator without semi and anti joins over groups: it gives the same rows, and more.

    None if it has no such join.
    """
    if isinstance(op, Project | Filter | Arrange):
        child = loosened(op.child)
        return None if child is None else replace(op, child=child)
    if not isinstance(op, Join) or op.how not in ("inner", "cross", "semi", "anti"):
        return None
    left = loosened(op.left)
    if op.how in ("semi", "anti"):
        if _makes_groups(op.right):
            return left or op.left
        return None if left is None else replace(op, left=left)
    right = loosened(op.right)
    return None if left is None and right is None else replace(op, left=left or op.left, right=right or op.right)


def _values_in(fact: Expr, attr: Attr) -> Cut:
    return lambda rows, at: Filter(rows, substituted(fact, {attr: at}))


def _narrowed(op: Operator, attr: Attr, cut: Cut) -> Operator:
    """Restrict the source that a column comes from to certain values of the column, if it comes from a source."""
    if isinstance(op, Source):
        return cut(op, attr) if attr in op.columns else op
    if isinstance(op, Filter | Sort | Arrange):
        return replace(op, child=_narrowed(op.child, attr, cut))
    if isinstance(op, Distinct) and attr in op.keys:
        return replace(op, child=_narrowed(op.child, attr, cut))
    if isinstance(op, Project | Aggregate):
        before = _before(op, attr)
        return op if before is None else replace(op, child=_narrowed(op.child, before, cut))
    if isinstance(op, Union):
        place = op.output.index(attr)
        return replace(op, inputs=tuple(_narrowed(each, each.output[place], cut) for each in op.inputs))
    if isinstance(op, Join):
        if attr in op.left.output:
            return replace(op, left=_narrowed(op.left, attr, cut)) if op.how in BY_LEFT else op
        if attr in op.right.output and op.how in BY_RIGHT:
            return replace(op, right=_narrowed(op.right, attr, cut))
    return op


def _before(op: Project | Aggregate, attr: Attr) -> Attr | None:
    """The child's column that a column is a copy of. In a group, only keys are copies."""
    columns = op.columns if isinstance(op, Project) else op.outputs
    found = next((column.expr for column in columns if column.attr == attr), None)
    if not isinstance(found, Attr) or (isinstance(op, Aggregate) and found not in op.keys):
        return None
    return found


def _reduced(op: Operator) -> Operator:
    """For each join with groups on one side, restrict this side to rows that may match the other side."""
    if isinstance(op, Join) and op.how in BY_LEFT:
        pairs = list(filter(None, (_equal_columns(op, fact) for fact in conjuncts(op.condition))))
        right = _less(op.right, [(_origin_of_values(op.left, one), other) for one, other in pairs])
        left = (
            _less(op.left, [(_origin_of_values(op.right, other), one) for one, other in pairs])
            if op.how == "inner"
            else op.left
        )
        op = replace(op, left=left, right=right)
    return op.map_parts(lambda part: _reduced(part) if isinstance(part, Operator) else part)


def _equal_columns(op: Join, fact: Expr) -> tuple[Attr, Attr] | None:
    """The columns of both sides that a conjunct sets equal."""
    if not isinstance(fact, Compare) or fact.op != "=":
        return None
    for one, other in ((fact.left, fact.right), (fact.right, fact.left)):
        if isinstance(one, Attr) and isinstance(other, Attr) and one in op.left.output and other in op.right.output:
            return one, other
    return None


def _less(op: Operator, facts: list[tuple[Values, Attr]]) -> Operator:
    """Restrict a side of a join to rows with values of the other side; a constant is best."""
    if not _makes_groups(op):
        return op
    alone = [(value, attr) for values, attr in facts if (value := _only_value(*values)) is not None]
    if alone:
        for value, attr in alone:
            op = _narrowed(op, attr, _values_in(Compare("=", attr, value), attr))
        return op
    for (rows, column), attr in facts:
        if rows is not None and not isinstance(rows, Source):
            return _narrowed(op, attr, _among(rows, column))
    return op


def _only_value(rows: Operator | None, column: Attr) -> Literal | None:
    """The only value of a column in the rows, if a filter fixes it."""
    while isinstance(rows, Filter):
        for fact in conjuncts(rows.condition):
            if isinstance(fact, Compare) and fact.op in ("=", "<=>"):
                for one, other in ((fact.left, fact.right), (fact.right, fact.left)):
                    if one == column and isinstance(other, Literal) and other.dtype == column.dtype:
                        return other
        rows = rows.child
    return None


def _makes_groups(op: Operator) -> bool:
    return any(isinstance(part, Aggregate) for part in walk(op))


def _among(rows: Operator, column: Attr) -> Cut:
    """Select rows that have one of the values of a column."""
    key = fresh(column.name, column.dtype, column.nullable)
    values = Project(rows, (Named(key, column),))
    return lambda cut, at: Join(cut, values, "semi", Compare("=", at, key))


def _origin_of_values(op: Operator, attr: Attr) -> Values:
    """Find the source rows that the values of a column come from, with their filters. They may have more values."""
    if isinstance(op, Source):
        return (op if attr in op.columns else None), attr
    if isinstance(op, Filter):
        rows, column = _origin_of_values(op.child, attr)
        return (op if rows is op.child else rows), column
    if isinstance(op, Sort | Arrange | Distinct):
        return _origin_of_values(op.child, attr)
    if isinstance(op, Project | Aggregate):
        before = _before(op, attr)
        return (None, attr) if before is None else _origin_of_values(op.child, before)
    if isinstance(op, Join):
        if attr not in op.left.output:
            return _origin_of_values(op.right, attr) if attr in op.right.output else (None, attr)
        rows, column = _origin_of_values(op.left, attr)
        return (op if op.how == "semi" and rows is op.left else rows), column
    return None, attr
