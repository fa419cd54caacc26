"""Python functions: rows of a function of tables come from all input rows (a superset); those of groups from the group.

before: GroupedMap f by city      after: GroupedMap (f, with the list of ids for its rows) by city
          Source sales: city, n            Source sales: city, n, id
"""

from __future__ import annotations

from dataclasses import replace

from whence.rows.eager.ids import Ids, Tagged, as_list, gathered, new_ids
from whence.rows.eager.rows import Tag
from whence.rows.expressions import Attr
from whence.rows.operators import Aggregate, Cogroup, GroupedMap, Join, Named, Opaque, Operator, Project, keep


def opaque(plan: Opaque, tag: Tag, tried: bool = False) -> Tagged:
    """Join all ids of all inputs to each row. If each row is made from one row, it gets only the ids of that row.

    If `tried`, the function is called with fewer rows, to see whether these produce the row again.
    """
    if plan.by_row or (tried and plan.triable):
        (below,) = map(tag, plan.inputs)
        child, around, one = _with_lists(below, plan.inputs[0].output)  # the function must not see the columns of ids
        made = replace(plan, inputs=(child,), annotated=around, tried=not plan.by_row)
        why = f"{plan.why} is opaque: only single rows and batches were tried"
        return Tagged(made, one, below.reasons if plan.by_row else (*below.reasons, why))
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


def grouped(plan: GroupedMap, tag: Tag, tried: bool = False) -> Tagged:
    """Pass the ids of the group around the user's function.

    If `tried`, pass only those of rows that produce the row alone.
    """
    below = tag(plan.child)
    child, around, ids = _with_lists(below)
    return Tagged(replace(plan, child=child, annotated=around, tried=tried), ids, below.reasons)


def cogrouped(plan: Cogroup, tag: Tag, tried: bool = False) -> Tagged:
    """Pass the ids of the group on both sides around the user's function."""
    left, right = tag(plan.left), tag(plan.right)
    one, around, ids = _with_lists(left)
    two, more, others = _with_lists(right)
    changed = replace(plan, left=one, right=two, annotated=(*around, *more), tried=tried)
    return Tagged(changed, {**ids, **others}, left.reasons + right.reasons)


def _with_lists(
    below: Tagged, kept: tuple[Attr, ...] | None = None
) -> tuple[Operator, tuple[tuple[Attr, Attr], ...], dict[int, Ids]]:
    """Return the input with ids as lists, the pairs for `annotated`, and the columns of ids in the output.

    With `kept`, the input has only these columns.
    """
    lists = {number: new_ids(number) for number in below.ids}
    columns = tuple(Named(lists[number].attr, as_list(each)) for number, each in below.ids.items())
    ids = {number: new_ids(number) for number in below.ids}
    around = tuple((lists[number].attr, ids[number].attr) for number in below.ids)
    return Project(below.plan, (*keep(*_unique(below.plan.output if kept is None else kept)), *columns)), around, ids


def _unique(attrs: tuple[Attr, ...]) -> tuple[Attr, ...]:
    return tuple(dict.fromkeys(attrs))
