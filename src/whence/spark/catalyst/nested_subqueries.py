"""Turn subqueries inside EXISTS and IN into joins, before the outer subquery becomes one.

    before: where exists (select * from u where c = a and d in (select e from v))
    after:  where exists (select * from u semi join v on d = e where c = a)

Catalyst's rule for EXISTS and IN would continue inside the plan that it has just joined, and treat its contents as
pulled up. Spark's optimizer avoids this by optimizing subqueries first, with rules that whence leaves out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.spark.catalyst.jvm import Jvm, items

Change = Callable[[Any], Any]
PREDICATES = frozenset({"Exists", "ListQuery"})


def inner_first(jvm: Jvm, plan: Any, joined: Change) -> Any:
    """Apply `joined` to the plans of EXISTS and IN that contain correlated EXISTS or IN themselves."""
    children = items(plan.children())
    changed = [inner_first(jvm, child, joined) for child in children]
    if any(new is not old for new, old in zip(changed, children, strict=True)):
        plan = plan.withNewChildren(jvm.seq(changed))
    if plan.nodeName() != "Filter" or not plan.subqueries().size():
        return plan
    condition = plan.condition()
    new = _changed(jvm, condition, joined)
    return plan if new is condition else jvm.rebuild(plan, condition=new)


def _changed(jvm: Jvm, expr: Any, joined: Change) -> Any:
    kind = expr.getClass().getSimpleName()
    if kind in PREDICATES:
        return expr.withNewPlan(joined(expr.plan())) if _holds_correlated(expr.plan()) else expr
    children = items(expr.children())
    new = [_changed(jvm, child, joined) for child in children]
    if all(a is b for a, b in zip(new, children, strict=True)):
        return expr
    if kind == "InSubquery":  # its query is a field, which `withNewChildren` does not replace
        return jvm.rebuild(expr, query=new[-1])
    return expr.withNewChildren(jvm.seq(new))


def _holds_correlated(plan: Any) -> bool:
    """Whether a Filter anywhere in the plan has EXISTS or IN with columns from an outer plan."""
    if plan.nodeName() == "Filter" and plan.subqueries().size() and _correlated(plan.condition()):
        return True
    return any(map(_holds_correlated, items(plan.children())))


def _correlated(expr: Any) -> bool:
    if expr.getClass().getSimpleName() in PREDICATES:
        return bool(expr.isCorrelated()) or _holds_correlated(expr.plan())
    return any(map(_correlated, items(expr.children())))
