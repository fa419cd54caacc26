"""Whether an output row needs a source row. If it does, an answer without source rows cannot be the lineage."""

from __future__ import annotations

from whence.rows import operators as o
from whence.rows.expressions import AggCall, Udf, WindowCall
from whence.rows.tree import walk

EITHER = ("inner", "cross")


def needs_source(plan: o.Operator) -> bool:
    """Whether every output row of the plan comes from at least one source row.

    It need not for a global aggregate of no rows, VALUES, and functions of a whole table, which may invent rows.

    >>> from whence.rows import AggCall, Aggregate, Attr, Named, Source
    >>> rows, n = Source("t", 0, (Attr(1, "a", "long"),)), Named(Attr(2, "n", "long"), AggCall("Count", (), "long"))
    >>> needs_source(Aggregate(rows, rows.columns, (n,))), needs_source(Aggregate(rows, (), (n,)))
    (True, False)
    """
    if isinstance(plan, o.Source):
        return not plan.is_domain_copy
    if isinstance(plan, o.Values) or (isinstance(plan, o.Opaque) and not plan.by_row):
        return False
    below = [needs_source(child) for child in plan.children]
    if isinstance(plan, o.Aggregate) and not plan.keys:
        return False
    if isinstance(plan, o.Join):
        if plan.how in EITHER:
            return any(below)
        return below[1] if plan.how == "right" else all(below) if plan.how == "full" else below[0]
    if isinstance(plan, o.Intersect):
        return any(below)
    return below[0] if isinstance(plan, o.Except) else all(below)


def has_user_code(plan: o.Operator) -> bool:
    """Whether the plan calls a user's function, whose effect is unknown."""
    code = (Udf, o.GroupedMap, o.Cogroup, o.Opaque)
    return any(
        isinstance(part, code) or (isinstance(part, AggCall | WindowCall) and part.python) for part in walk(plan)
    )
