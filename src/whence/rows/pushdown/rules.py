"""The table of pushdown rules, by operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.errors import BadType
from whence.rows.expressions import Expr
from whence.rows.operators import (
    Aggregate,
    Arrange,
    Cogroup,
    Distinct,
    Except,
    Expand,
    Filter,
    Generate,
    GroupedMap,
    Intersect,
    Join,
    Limit,
    Opaque,
    Operator,
    Project,
    Sample,
    Sort,
    Union,
    Window,
)
from whence.rows.pushdown.base import Aim, Pushed
from whence.rows.pushdown.generators import push_generate
from whence.rows.pushdown.groups import push_aggregate, push_distinct, push_grouped
from whence.rows.pushdown.guards import guarded
from whence.rows.pushdown.joins import push_join
from whence.rows.pushdown.others import push_limit, push_opaque, push_sample
from whence.rows.pushdown.rows import push_expand, push_filter, push_project, push_same, push_union
from whence.rows.pushdown.sets import push_except, push_intersect
from whence.rows.pushdown.windows import push_window

RULES: dict[type[Operator], Callable[[Any, Expr, Aim], Pushed]] = {
    Filter: push_filter,
    Project: push_project,
    Sort: push_same,
    Arrange: push_same,
    Union: push_union,
    Expand: push_expand,
    Join: push_join,
    Aggregate: push_aggregate,
    Distinct: push_distinct,
    Intersect: push_intersect,
    Except: push_except,
    Limit: push_limit,
    Window: push_window,
    Generate: push_generate,
    Sample: push_sample,
    GroupedMap: push_grouped,
    Cogroup: push_grouped,
    Opaque: push_opaque,
}


def push(operator: Operator, predicate: Expr, aim: Aim = Aim.LINEAGE, witness: str = "rows") -> Pushed:
    """Push a predicate on the output down to each input."""
    if isinstance(operator, Aggregate):
        return push_aggregate(operator, predicate, aim, witness)
    rule = RULES.get(type(operator))
    if rule is None:
        raise BadType(f"no pushdown rule for {type(operator).__name__}")
    return guarded(operator, predicate, rule(operator, predicate, aim))
