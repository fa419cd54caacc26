"""Users' functions over tables: all rows of the input, a superset that says so; over groups: the group's rows."""

from __future__ import annotations

from dataclasses import replace

from whence.rows.eager.ids import Ids, Tagged, as_list, gathered, new_ids
from whence.rows.eager.rows import Tag
from whence.rows.expressions import Attr
from whence.rows.operators import Aggregate, Cogroup, GroupedMap, Join, Named, Opaque, Operator, Project, keep


def opaque(plan: Opaque, tag: Tag) -> Tagged:
    """All ids of all inputs, joined to each row; those of one row, where each row is made of one."""
    if plan.by_row:
        (below,) = map(tag, plan.inputs)
        child, around, one = _with_lists(below)
        return Tagged(replace(plan, inputs=(child,), annotated=around), one, below.reasons)
    joined: Operator = plan
    ids = {}
    reasons: tuple[str, ...] = (f"{plan.why} is opaque: any row of its input may have contributed",)
    for each in plan.inputs:
        below = tag(each)
        all_ids, collect = gathered(below.ids)
        joined = Join(joined, Aggregate(below.plan, (), collect), "cross")
        ids.update(all_ids)
        reasons = below.reasons + reasons
    return Tagged(Project(joined, (*keep(*plan.output), *keep(*(each.attr for each in ids.values())))), ids, reasons)


def grouped(plan: GroupedMap, tag: Tag) -> Tagged:
    """The group's rows; their ids go around the user's function."""
    below = tag(plan.child)
    child, around, ids = _with_lists(below)
    return Tagged(replace(plan, child=child, annotated=around), ids, below.reasons)


def cogrouped(plan: Cogroup, tag: Tag) -> Tagged:
    """The rows of the group on both sides."""
    left, right = tag(plan.left), tag(plan.right)
    one, around, ids = _with_lists(left)
    two, more, others = _with_lists(right)
    changed = replace(plan, left=one, right=two, annotated=(*around, *more))
    return Tagged(changed, {**ids, **others}, left.reasons + right.reasons)


def _with_lists(below: Tagged) -> tuple[Operator, tuple[tuple[Attr, Attr], ...], dict[int, Ids]]:
    """The input with its ids as lists, what goes around the function, and where it comes out."""
    lists = {number: new_ids(number) for number in below.ids}
    columns = tuple(Named(lists[number].attr, as_list(each)) for number, each in below.ids.items())
    ids = {number: new_ids(number) for number in below.ids}
    around = tuple((lists[number].attr, ids[number].attr) for number in below.ids)
    return Project(below.plan, (*keep(*_unique(below.plan.output)), *columns)), around, ids


def _unique(attrs: tuple[Attr, ...]) -> tuple[Attr, ...]:
    return tuple(dict.fromkeys(attrs))
