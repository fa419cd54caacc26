"""Operators whose output row comes from one input row, and unions: ids are passed on.

before: Filter n > 5              after: Filter n > 5
          Source sales: city, n            Source sales: city, n, id
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from whence.rows.eager.ids import LONG, Ids, Tagged, as_list, new_ids, nothing
from whence.rows.expressions import Expr, fresh
from whence.rows.operators import (
    Arrange,
    Expand,
    Filter,
    Generate,
    Limit,
    Named,
    Project,
    Sample,
    Sort,
    Source,
    Union,
    Values,
    keep,
)

Tag = Callable[..., Tagged]


def source(plan: Source, tag: Tag) -> Tagged:
    """Give every row its own id."""
    if plan.is_domain_copy:
        return Tagged(plan, {})
    row_id = plan.row_id or fresh(f"_id_{plan.occurrence}", LONG, nullable=False)
    return Tagged(replace(plan, row_id=row_id), {plan.occurrence: Ids(row_id)})


def values(plan: Values, tag: Tag) -> Tagged:
    return Tagged(plan, {})


def one_input(plan: Filter | Sort | Limit | Sample | Arrange, tag: Tag) -> Tagged:
    """Filter, sort, limit, sample, arrange: pass the ids on."""
    below = tag(plan.child)
    return replace(below, plan=replace(plan, child=below.plan))


def project(plan: Project, tag: Tag) -> Tagged:
    below = tag(plan.child)
    kept = keep(*(each.attr for each in below.ids.values()))
    return replace(below, plan=replace(plan, child=below.plan, columns=(*plan.columns, *kept)))


def generate(plan: Generate, tag: Tag) -> Tagged:
    """Pass on the ids of the row that was expanded."""
    below = tag(plan.child)
    kept = (*plan.kept, *(each.attr for each in below.ids.values()))
    return replace(below, plan=replace(plan, child=below.plan, kept=kept))


def expand(plan: Expand, tag: Tag) -> Tagged:
    below = tag(plan.child)
    more = tuple(each.attr for each in below.ids.values())
    # The ids get new attributes, because an attribute must not be both input and output of an Expand.
    ids = {number: replace(each, attr=new_ids(number, each.many).attr) for number, each in below.ids.items()}
    columns = (*plan.columns, *(each.attr for each in ids.values()))
    rows = tuple((*projection, *more) for projection in plan.projections)
    return Tagged(replace(plan, child=below.plan, projections=rows, columns=columns), ids, below.reasons)


def union(plan: Union, tag: Tag) -> Tagged:
    """Pass on the ids of the row's branch. The ids for sources of other branches are NULL."""
    branches = [tag(each) for each in plan.inputs]
    many = {number: each.many for branch in branches for number, each in branch.ids.items()}
    ids = {number: new_ids(number, is_many) for number, is_many in many.items()}
    inputs = []
    for branch, original in zip(branches, plan.inputs, strict=True):
        columns = list(keep(*original.output))
        for number, new in ids.items():
            columns.append(Named(new_ids(number, new.many).attr, _widened(branch.ids.get(number), new.many)))
        inputs.append(Project(branch.plan, tuple(columns)))
    reasons = tuple(reason for branch in branches for reason in branch.reasons)
    return Tagged(Union(tuple(inputs), (*plan.columns, *(each.attr for each in ids.values()))), ids, reasons)


def _widened(ids: Ids | None, many: bool) -> Expr:
    if ids is None:
        return nothing(many)
    return as_list(ids) if many and not ids.many else ids.attr
