"""A limit at the end of a pipeline: exact if no removed row is equal to a kept one."""

from __future__ import annotations

from whence.rows.operators import Arrange, Limit, Operator, Project, Sort
from whence.rows.saving.paths import PlanPath, operator_at, replaced_at


def last_limit(plan: Operator) -> PlanPath | None:
    """Return the path of a limit over a sort, if the output has all columns of its rows; otherwise None.

    >>> from whence.rows import Attr, Limit, Literal, Sort, SortKey, Source
    >>> a = Attr(1, "a", "long")
    >>> last_limit(Limit(Sort(Source("t", 0, (a,)), (SortKey(a),)), Literal(3, "integer")))
    ()
    """
    place: PlanPath = ()
    while isinstance(plan, Sort | Arrange | Project):
        if isinstance(plan, Project) and not set(plan.child.output) <= {column.expr for column in plan.columns}:
            return None
        plan, place = plan.child, (*place, 0)
    if isinstance(plan, Limit) and plan.offset is None and isinstance(plan.child, Sort) and plan.child.everywhere:
        return place
    return None


def without_limit(plan: Operator, place: PlanPath) -> Operator:
    """Return the plan without the limit. Rows that the limit keeps have the same lineage in it."""
    limit = operator_at(plan, place)
    assert isinstance(limit, Limit)
    return replaced_at(plan, place, Arrange(limit.child, "all rows"))
