"""Users' functions over whole tables: every row of the input, which says that it is too many."""

from __future__ import annotations

from whence.errors import NotTraceable
from whence.rows.eager.ids import Tagged, gathered
from whence.rows.eager.rows import Tag
from whence.rows.operators import Aggregate, Cogroup, GroupedMap, Join, Opaque, Operator, Project, keep


def opaque(plan: Opaque, tag: Tag) -> Tagged:
    """All ids of all inputs, joined to each row."""
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


def grouped(plan: GroupedMap | Cogroup, tag: Tag) -> Tagged:
    raise NotTraceable(f"{type(plan).__name__}: ids of rows do not pass through a user's function yet")
