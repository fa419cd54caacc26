"""Joins: the ids of both sides, in separate columns.

    before: Join inner on a = c       after: Join inner on a = c
              Source t: a, b                   Source t: a, b, id1
              Source u: c, d                   Source u: c, d, id2

A semi-join collects the ids of its right side by key, and joins them to the left rows.
"""

from __future__ import annotations

from dataclasses import replace

from whence.rows.eager.ids import LONG, IdColumns, Ids, Tagged, gathered
from whence.rows.eager.rows import Tag
from whence.rows.expressions import (
    AggCall,
    Attr,
    Call,
    Compare,
    Expr,
    IsNull,
    Literal,
    Not,
    conjunction,
    conjuncts,
    fresh,
)
from whence.rows.operators import Aggregate, Join, Named, Operator, Project, keep


def join(plan: Join, tag: Tag) -> Tagged:
    """Keep the ids of both sides. The missing side of an outer join has NULL for ids, which means none."""
    left = tag(plan.left)
    if plan.how == "anti":
        return replace(left, plan=replace(plan, left=left.plan))  # no ids from the right side
    right = tag(plan.right)
    reasons = left.reasons + right.reasons
    if plan.how in ("semi", "existence"):
        return _matched(plan, left, right, reasons)
    joined: Operator = replace(plan, left=left.plan, right=right.plan)
    return Tagged(joined, {**left.ids, **right.ids}, reasons)


def _matched(plan: Join, left: Tagged, right: Tagged, reasons: tuple[str, ...]) -> Tagged:
    """Add the ids of all right rows that match the left row."""
    pairs = _equalities(plan)
    if pairs is not None:
        return _by_keys(plan, left, right, pairs, reasons)
    return _by_pairs(plan, left, right, reasons)


def _equalities(plan: Join) -> list[tuple[str, Expr, Expr]] | None:
    """Return the condition as equalities of a left and a right expression; None if it has other conjuncts."""
    of_left, of_right = frozenset(plan.left.output), frozenset(plan.right.output)
    found = []
    for each in conjuncts(plan.condition):
        if not isinstance(each, Compare) or each.op not in ("=", "<=>"):
            return None
        a, b = each.left, each.right
        if a.attrs <= of_right and b.attrs <= of_left:
            a, b = b, a
        if not (a.attrs <= of_left and b.attrs <= of_right and a.attrs and b.attrs):
            return None
        found.append((each.op, a, b))
    return found


def _by_keys(
    plan: Join, left: Tagged, right: Tagged, pairs: list[tuple[str, Expr, Expr]], reasons: tuple[str, ...]
) -> Tagged:
    """Group the right side by the keys, then join: each left row matches at most one group."""
    keys = tuple(dict.fromkeys(b for _, _, b in pairs))
    columns = {key: fresh(f"_key_{index}", key.dtype) for index, key in enumerate(keys)}
    ids, collect = gathered(right.ids)
    marker = fresh("_matched", LONG)
    one = Named(marker, AggCall("count", (Literal(1, "integer"),), LONG))
    groups = Aggregate(right.plan, keys, (*(Named(attr, key) for key, attr in columns.items()), *collect, one))
    some = Compare(">", marker, Literal(0, LONG))  # without keys there is one group, even of no rows
    condition = conjunction(*(Compare(op, a, columns[b]) for op, a, b in pairs), some)
    how = "inner" if plan.how == "semi" else "left"
    joined = Join(left.plan, groups, how, condition)
    return _tagged_left(plan, joined, left, ids, Not(IsNull(marker)), reasons)


def _by_pairs(plan: Join, left: Tagged, right: Tagged, reasons: tuple[str, ...]) -> Tagged:
    """For any condition, make all pairs, and group them by a number that each left row gets."""
    number = fresh("_row", LONG, nullable=False)
    mark = Call("monotonically_increasing_id", (), LONG, pure=False)
    numbered = Project(left.plan, (*keep(*_unique(left.plan.output)), Named(number, mark)))
    marker = fresh("_right", LONG)
    marked = Project(right.plan, (*keep(*_unique(right.plan.output)), Named(marker, Literal(1, LONG))))
    pairs = Join(numbered, marked, "inner" if plan.how == "semi" else "left", plan.condition)
    ids, collect = gathered(right.ids)
    # Where the left join has no match, the ids are NULL, and collecting skips NULL.
    found = fresh("_matched", LONG)
    outputs = [Named(attr, AggCall("first", (attr,), attr.dtype)) for attr in _unique(left.plan.output)]
    renamed = {named.attr: fresh(named.attr.name, named.attr.dtype) for named in outputs}
    groups = Aggregate(
        pairs,
        (number,),
        (
            *(Named(renamed[named.attr], named.expr) for named in outputs),
            *collect,
            Named(found, AggCall("count", (marker,), LONG)),
        ),
    )
    back = Project(
        groups,
        (
            *(Named(attr, renamed[attr]) for attr in renamed),
            *keep(*(each.attr for each in ids.values()), found),
        ),
    )
    return _tagged_left(plan, back, left, ids, Compare(">", found, Literal(0, LONG)), reasons)


def _tagged_left(
    plan: Join, joined: Operator, left: Tagged, ids: dict[int, Ids], flag: Expr, reasons: tuple[str, ...]
) -> Tagged:
    columns = list(keep(*plan.left.output))
    if plan.flag is not None:
        columns.append(Named(plan.flag, flag))
    both: IdColumns = {**left.ids, **ids}
    columns += keep(*(each.attr for each in both.values()))
    return Tagged(Project(joined, tuple(columns)), both, reasons)


def _unique(attrs: tuple[Attr, ...]) -> tuple[Attr, ...]:
    return tuple(dict.fromkeys(attrs))
