"""Intersection and difference: equal rows share their lineage, so they are grouped.

before: Intersect(t, u)
after:  Join of (t grouped by all columns, with lists of ids) and (u grouped by all columns, with lists of ids)
"""

from __future__ import annotations

from whence.rows.eager.ids import LONG, Ids, Tagged, array_of, gathered
from whence.rows.eager.rows import Tag
from whence.rows.expressions import AggCall, Attr, Call, Compare, Expr, Literal, conjunction, fresh
from whence.rows.operators import Aggregate, Except, Filter, Generate, Intersect, Join, Named, Operator, Project, keep


def intersect(plan: Intersect, tag: Tag) -> Tagged:
    """Collect the ids of all equal rows on both sides."""
    left, right = _each_row_once(tag(plan.left), plan.left), _each_row_once(tag(plan.right), plan.right)
    joined = Join(left.plan, right.plan, "inner", _rows_equal(left.columns, right.columns))
    ids = {**left.ids, **right.ids}
    least = Call("least", (left.count, right.count), LONG)
    return _tagged_set(
        joined, plan.output, left.columns, ids, least if plan.all else None, left.reasons + right.reasons
    )


def subtract(plan: Except, tag: Tag) -> Tagged:
    """Collect the ids of all equal rows on the left. The right contributes nothing."""
    left = _each_row_once(tag(plan.left), plan.left)
    right = _each_row_once(Tagged(plan.right, {}), plan.right)
    same = _rows_equal(left.columns, right.columns)
    if not plan.all:
        joined: Operator = Join(left.plan, right.plan, "anti", same)
        return _tagged_set(joined, plan.output, left.columns, left.ids, None, left.reasons)
    none = Call("coalesce", (right.count, Literal(0, LONG)), LONG)
    rest = fresh("_rest", LONG)
    joined = Join(left.plan, right.plan, "left", same)
    columns = (*left.columns, *(each.attr for each in left.ids.values()))
    counted = Project(joined, (*keep(*columns), Named(rest, Call("-", (left.count, none), LONG))))
    more = Filter(counted, Compare(">", rest, Literal(0, LONG)))
    return _tagged_set(more, plan.output, left.columns, left.ids, rest, left.reasons)


class _Grouped:
    def __init__(
        self, plan: Operator, columns: tuple[Attr, ...], count: Attr, ids: dict[int, Ids], reasons: tuple[str, ...]
    ) -> None:
        self.plan, self.columns, self.count, self.ids, self.reasons = plan, columns, count, ids, reasons


def _each_row_once(below: Tagged, original: Operator) -> _Grouped:
    """Group equal rows, with their count and the ids of all of them."""
    attrs = tuple(dict.fromkeys(original.output))
    renamed = {attr: fresh(attr.name, attr.dtype) for attr in attrs}
    count = fresh("_count", LONG)
    ids, collect = gathered(below.ids)
    outputs = (
        *(Named(renamed[attr], attr) for attr in attrs),
        Named(count, AggCall("count", (Literal(1, "integer"),), LONG)),
        *collect,
    )
    columns = tuple(renamed[attr] for attr in original.output)
    return _Grouped(Aggregate(below.plan, attrs, outputs), columns, count, ids, below.reasons)


def _rows_equal(left: tuple[Attr, ...], right: tuple[Attr, ...]) -> Expr:
    return conjunction(*(Compare("<=>", a, b) for a, b in zip(left, right, strict=True)))


def _tagged_set(
    plan: Operator,
    output: tuple[Attr, ...],
    columns: tuple[Attr, ...],
    ids: dict[int, Ids],
    times: Expr | None,
    reasons: tuple[str, ...],
) -> Tagged:
    kept = tuple(each.attr for each in ids.values())
    if times is not None:
        copies = Call("array_repeat", (Literal(1, "integer"), Call("int", (times,), "integer")), array_of("integer"))
        repeated, copy = Call("explode", (copies,), "integer"), fresh("_copy", "integer")
        plan = Generate(plan, repeated, (copy,), plan.output)
    pairs = zip(output, columns, strict=True)
    return Tagged(Project(plan, (*(Named(new, old) for new, old in pairs), *keep(*kept))), ids, reasons)
