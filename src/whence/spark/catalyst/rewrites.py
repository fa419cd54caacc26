"""Catalyst's own rules that preserve lineage, applied to an analyzed plan.

    before: select * from t where exists (select * from u where c = a)
    after:  t semi join u on c = a

    before: with big as (select * from t where b > 5) select * from big
    after:  Filter b > 5 over t

    before: Filter b > 5 over (t join u)
    after:  (Filter b > 5 over t) join u

Each rule is safe: subqueries become the joins that define their lineage; a CTE, a view or an alias is replaced by its
plan; filters only move to where they see the same rows earlier; joins are only reordered.

Other rules of Spark's optimizer are left out, because they change which rows contributed: ColumnPruning and
RemoveRedundantAggregates (an unused aggregate has witnesses), EliminateOuterJoin, ReplaceDeduplicateWithAggregate,
RewriteExceptAll, RewriteIntersectAll, RewriteDistinctAggregates, MergeSubplans, RewriteNonCorrelatedExists,
ConvertToLocalRelation, PropagateEmptyRelation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whence.errors import NotTraceable
from whence.spark.catalyst.jvm import CATALYST
from whence.spark.catalyst.nested_subqueries import inner_first

if TYPE_CHECKING:
    from whence.spark.catalyst.jvm import Jvm

OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"
ANALYSIS = "org.apache.spark.sql.catalyst.analysis"

# The subqueries inside a subquery that became a join are pulled up before they become joins themselves.
PULLED_UP = f"{OPTIMIZER}.PullupCorrelatedPredicates"
SCALARS = (PULLED_UP, f"{OPTIMIZER}.RewriteCorrelatedScalarSubquery", PULLED_UP)
PREDICATES = (f"{OPTIMIZER}.RewritePredicateSubquery", PULLED_UP, f"{OPTIMIZER}.RewriteLateralSubquery")
NAMES = (f"{ANALYSIS}.EliminateSubqueryAliases", f"{ANALYSIS}.EliminateView")
TIDY = (
    f"{OPTIMIZER}.BooleanSimplification",
    f"{OPTIMIZER}.PushDownPredicates",
    f"{OPTIMIZER}.ReorderJoin",
    f"{OPTIMIZER}.CollapseProject",
)
ROUNDS = 20  # each level of nested subqueries takes one round


def without_subqueries(jvm: Jvm, plan: Any) -> tuple[Any, int]:
    """Return the plan with CTEs inlined and correlated subqueries as joins. Names of views are kept.

    The number is the first id of columns that were made for that, and that the user did not write.
    """
    inlined = jvm.made("optimizer.InlineCTE").apply(plan)
    first = jvm.class_(f"{CATALYST}.expressions.NamedExpression").newExprId().id()
    return _with_joins(jvm, inlined), int(first)


def _with_joins(jvm: Jvm, plan: Any) -> Any:
    def round_(plan: Any) -> Any:
        plan = _with_rules(jvm, plan, SCALARS)
        return _with_rules(jvm, inner_first(jvm, plan, lambda inner: _with_joins(jvm, inner)), PREDICATES)

    return _repeat(plan, round_)


def tidied(jvm: Jvm, plan: Any) -> Any:
    """Remove aliases and views from the plan, and push filters down.

    If the rules do not reach a fixed point, the plan can still be read: in a long chain of columns, a filter or a
    projection moves down by one step in a round, and may need more rounds than there are.
    """
    for _ in range(ROUNDS):
        before, plan = plan, _with_rules(jvm, plan, NAMES + TIDY)
        if plan.fastEquals(before):
            break
    return plan


def _with_rules(jvm: Jvm, plan: Any, rules: tuple[str, ...]) -> Any:
    for name in rules:
        plan = jvm.singleton(name).apply(plan)
    return plan


def _repeat(plan: Any, change: Callable[[Any], Any]) -> Any:
    for _ in range(ROUNDS):
        before, plan = plan, change(plan)
        if plan.fastEquals(before):
            return plan
    raise NotTraceable(
        f"Catalyst's rules still change the plan after {ROUNDS} rounds, at {plan.nodeName()}: whence cannot read it"
    )
