"""Write whence's operators as a Catalyst plan, which becomes a DataFrame."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any

from whence.errors import NotTraceable
from whence.rows import (
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
    Literal,
    Named,
    Opaque,
    Operator,
    Project,
    Sample,
    Sort,
    SortKey,
    Source,
    Union,
    Values,
    Window,
    WindowCall,
    keep,
)
from whence.rows.documents import NotHeld
from whence.spark.catalyst import stored_calls
from whence.spark.catalyst.jvm import Jvm
from whence.spark.catalyst.operators import output_of
from whence.spark.catalyst.write_expressions import Lowering, require_held
from whence.spark.sources.registry import kind_of
from whence.spark.sources.row_ids import row_id
from whence.spark.tracing import grouped_maps as around

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOGICAL = "plans.logical"
JOIN_TYPES = {
    "inner": "Inner",
    "cross": "Inner",  # an inner join without a condition is a cross join
    "left": "LeftOuter",
    "right": "RightOuter",
    "full": "FullOuter",
    "semi": "LeftSemi",
    "anti": "LeftAnti",
}


class Plans:
    """Makes Catalyst nodes. Spark analyzes and optimizes them when the plan becomes a frame."""

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self._exprs = Lowering(jvm)
        self._seen: set[int | None] = set()

    def lower(self, plan: Operator) -> Any:
        return self._lower(plan)

    @singledispatchmethod
    def _lower(self, plan: Operator) -> Any:
        raise NotTraceable(f"whence cannot run {type(plan).__name__}")

    @_lower.register
    def _(self, plan: Source) -> Any:
        origin: Any = plan.origin
        if origin is None:
            raise NotTraceable(f"the log does not say how source {plan.name!r} was read, each time that it was")
        relation = kind_of(origin).relation(plan, self.jvm)
        columns, first = keep(*plan.columns), plan.columns[0].id if plan.columns else None
        again = relation is not origin or (first is not None and first in self._seen)
        if again:  # the plan already has this relation, or a new one was made: use an instance with new columns
            if relation is origin:
                relation = relation.newInstance()
            pairs = zip(plan.columns, output_of(relation), strict=True)
            columns = tuple(Named(old, new) for old, new in pairs)
        self._seen.add(first)
        if plan.row_id is None:
            return self.jvm.new(f"{LOGICAL}.Project", self._exprs.named(columns), relation) if again else relation
        attr, no = plan.row_id, self.jvm.seq([])
        alias = self.jvm.new(
            "expressions.Alias", row_id(self.jvm, plan), attr.name, self.jvm.expr_id(attr.id), no, self.jvm.none, no
        )
        # The relation already has its columns in Catalyst's form.
        kept = self._exprs.named(columns) if again else relation.output()
        return self.jvm.new(f"{LOGICAL}.Project", kept.appended(alias), relation)

    @_lower.register
    def _(self, plan: Values) -> Any:
        if isinstance(plan.origin, NotHeld) and not plan.columns:  # the single row of a query without FROM
            return self.jvm.new(f"{LOGICAL}.OneRowRelation")
        require_held(plan)
        return plan.origin

    @_lower.register
    def _(self, plan: Filter) -> Any:
        return self.jvm.new(f"{LOGICAL}.Filter", self._exprs.expr(plan.condition), self._lower(plan.child))

    @_lower.register
    def _(self, plan: Project) -> Any:
        return self.jvm.new(f"{LOGICAL}.Project", self._exprs.named(plan.columns), self._lower(plan.child))

    @_lower.register
    def _(self, plan: Join) -> Any:
        jvm = self.jvm
        if plan.flag is not None:
            kind = jvm.new("plans.ExistenceJoin", self._exprs.expr(plan.flag))
        elif plan.how == "single":
            # A left row never matches two right rows; otherwise the pipeline itself would have failed.
            kind = jvm.singleton("org.apache.spark.sql.catalyst.plans.LeftOuter")
        else:
            kind = jvm.singleton(f"org.apache.spark.sql.catalyst.plans.{JOIN_TYPES[plan.how]}")
        condition = jvm.none if plan.condition is None else jvm.some(self._exprs.expr(plan.condition))
        hint = jvm.singleton("org.apache.spark.sql.catalyst.plans.logical.JoinHint").NONE()
        left, right = self._lower(plan.left), self._lower(plan.right)
        return jvm.new(f"{LOGICAL}.Join", left, right, kind, condition, hint)

    @_lower.register
    def _(self, plan: Union) -> Any:
        inputs: list[Any] = []
        for each in plan.inputs:
            # A union has the columns of its first input, so that gets the union's ids.
            if not inputs and each.output != plan.columns:
                pairs = zip(plan.columns, each.output, strict=True)
                each = Project(each, tuple(Named(new, old) for new, old in pairs))
            inputs.append(self._lower(each))
        return self.jvm.new(f"{LOGICAL}.Union", self.jvm.seq(inputs), False, False)

    @_lower.register(Intersect)
    @_lower.register(Except)
    def _(self, plan: Intersect | Except) -> Any:
        left, right = self._lower(plan.left), self._lower(plan.right)
        return self.jvm.new(f"{LOGICAL}.{type(plan).__name__}", left, right, plan.all)

    @_lower.register
    def _(self, plan: Distinct) -> Any:
        child = self._lower(plan.child)
        if plan.picks:
            return self.jvm.made(f"{LOGICAL}.Deduplicate", self._exprs.seq(plan.keys), child)
        return self.jvm.new(f"{LOGICAL}.Distinct", child)

    @_lower.register
    def _(self, plan: Aggregate) -> Any:
        keys, outputs = self._exprs.seq(plan.keys), self._exprs.named(stored_calls.without_pivots(plan))
        return self.jvm.made(f"{LOGICAL}.Aggregate", keys, outputs, self._lower(plan.child))

    @_lower.register
    def _(self, plan: Window) -> Any:
        calls = []
        # Catalyst makes row numbers without an order from limits, but Spark rejects them in a new plan.
        unordered = not plan.order and any(call.name == "RowNumber" for call in plan.functions)
        keys = (SortKey(Literal(1, "integer")),) if unordered else plan.order
        for each in plan.calls:
            if isinstance(each.expr, WindowCall):
                java = self._exprs.window(each.expr, plan.partition, keys)
                no = self.jvm.seq([])
                ids = self.jvm.expr_id(each.attr.id)
                calls.append(self.jvm.new("expressions.Alias", java, each.attr.name, ids, no, self.jvm.none, no))
            else:
                calls.append(self._exprs.named([each]).apply(0))
        partition, order = self._exprs.seq(plan.partition), self._exprs.seq(keys)
        return self.jvm.made(f"{LOGICAL}.Window", self.jvm.seq(calls), partition, order, self._lower(plan.child))

    @_lower.register
    def _(self, plan: Sort) -> Any:
        keys = self._exprs.seq(plan.keys)
        return self.jvm.made(f"{LOGICAL}.Sort", keys, plan.everywhere, self._lower(plan.child))

    @_lower.register
    def _(self, plan: Limit) -> Any:
        java = self._lower(plan.child)
        if plan.offset is not None:
            java = self.jvm.new(f"{LOGICAL}.Offset", self._exprs.expr(plan.offset), java)
        if plan.count is not None:
            count = self._exprs.expr(plan.count)
            java = self.jvm.new(f"{LOGICAL}.GlobalLimit", count, self.jvm.new(f"{LOGICAL}.LocalLimit", count, java))
        return java

    @_lower.register
    def _(self, plan: Generate) -> Any:
        jvm, dropped = self.jvm, [i for i, attr in enumerate(plan.child.output) if attr not in plan.kept]
        generator, child = self._exprs.expr(plan.generator), self._lower(plan.child)
        columns = self._exprs.seq(plan.columns)
        if plan.origin is None or isinstance(plan.origin, NotHeld):
            return jvm.new(f"{LOGICAL}.Generate", generator, jvm.seq(dropped), plan.outer, jvm.none, columns, child)
        fields = {"unrequiredChildIndex": jvm.seq(dropped), "generatorOutput": columns}
        return jvm.rebuild(plan.origin, generator=generator, child=child, **fields)

    @_lower.register
    def _(self, plan: Expand) -> Any:
        rows = self.jvm.seq([self._exprs.seq(each) for each in plan.projections])
        return self.jvm.new(f"{LOGICAL}.Expand", rows, self._exprs.seq(plan.columns), self._lower(plan.child))

    @_lower.register(Sample)
    @_lower.register(Arrange)
    def _(self, plan: Sample | Arrange) -> Any:
        if isinstance(plan, Arrange) and isinstance(plan.origin, NotHeld):
            return self._lower(plan.child)  # the same rows
        require_held(plan)
        return self._nondeterminism(plan.origin, plan.child)

    @_lower.register
    def _(self, plan: Opaque) -> Any:
        require_held(plan)
        if not plan.origin.children().size():  # type: ignore[attr-defined]  # a leaf: its inputs are in no plan
            return plan.origin
        if plan.annotated:
            return self._lower(around.by_row(plan, self._frame))
        return self._nondeterminism(plan.origin, *plan.inputs)

    @_lower.register
    def _(self, plan: GroupedMap) -> Any:
        require_held(plan)
        if plan.annotated:
            return self._lower(around.grouped(plan, self._frame))
        return self._nondeterminism(plan.origin, plan.child)

    @_lower.register
    def _(self, plan: Cogroup) -> Any:
        require_held(plan)
        if plan.annotated:
            return self._lower(around.cogrouped(plan, self._frame))
        return self._nondeterminism(plan.origin, plan.left, plan.right)

    def _frame(self, plan: Operator) -> DataFrame:
        return self.jvm.frame(self._lower(plan))

    def _nondeterminism(self, java: Any, *children: Operator) -> Any:
        return java.withNewChildren(self.jvm.seq([self._lower(child) for child in children]))
