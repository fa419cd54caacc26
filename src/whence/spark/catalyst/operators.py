"""Convert Catalyst's plan nodes to whence's operators. An unknown node raises an error that names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from whence.errors import NotTraceable
from whence.rows import (
    Aggregate,
    Arrange,
    Attr,
    Call,
    Cogroup,
    Distinct,
    Except,
    Expand,
    Expr,
    Filter,
    Generate,
    GroupedMap,
    Intersect,
    Join,
    Limit,
    Named,
    Opaque,
    Operator,
    Project,
    Sample,
    Sort,
    Union,
    Values,
    Window,
    WindowCall,
    keep,
)
from whence.rows.frames import OF_LIMIT, OF_PLACE
from whence.spark.catalyst.expressions import Expressions, Node, dtype_of, tree, tree_of
from whence.spark.catalyst.functions import known_of, makes_rows_of_rows, why_varies
from whence.spark.catalyst.jvm import items
from whence.spark.catalyst.pivots import MakeLiteral, listed
from whence.spark.catalyst.shared import Compact
from whence.spark.sources.registry import LEAVES

if TYPE_CHECKING:
    from whence.spark.sources.naming import Sources

JOIN_TYPES = {
    "Inner": "inner",
    "Cross": "cross",
    "LeftOuter": "left",
    "RightOuter": "right",
    "FullOuter": "full",
    "LeftSemi": "semi",
    "LeftAnti": "anti",
    "LeftSingle": "single",
}


class PlanNode:
    """A node of the JSON with its JVM object."""

    __slots__ = ("children", "fields", "java", "kind")

    def __init__(self, fields: dict[str, Any], java: Any, children: tuple[PlanNode, ...]) -> None:
        self.kind = fields["class"].rsplit(".", 1)[-1].rstrip("$")
        self.fields, self.java, self.children = fields, java, children


def plan_tree(java: Any, compact: Compact) -> PlanNode:
    """Read a complete plan: one call for the JSON, and one for each node's children."""
    flat = json.loads(compact.plan(java).toJSON())
    node, end = _plan_tree(flat, 0, java)
    assert end == len(flat)
    return node


def _plan_tree(flat: list[dict[str, Any]], at: int, java: Any) -> tuple[PlanNode, int]:
    fields, end, children = flat[at], at + 1, []
    below: Any = java.children() if fields["num-children"] else None
    for index in range(fields["num-children"]):
        child, end = _plan_tree(flat, end, below.apply(index))
        children.append(child)
    return PlanNode(fields, java, tuple(children)), end


class Plans:
    """Reads the plans of one pipeline. Sources are numbered in order of appearance."""

    def __init__(
        self,
        sources: Sources,
        prepare: Callable[[Any], tuple[Any, int]],
        through: Callable[[Any, tuple[Attr, ...]], Operator | None],
        compact: Compact,
        literal: MakeLiteral,
    ) -> None:
        """`prepare` rewrites a plan so that it can be read, and returns the first id of columns that the user did not
        write. `through` returns the operator that made a leaf, if it is known.
        """
        self._made_from = 0
        self._compact = compact
        self._literal = literal
        self._sources = sources
        self._prepare = prepare
        self._through = through
        self._expressions = Expressions(self.read_java)

    def read_java(self, java: Any) -> Operator:
        """Read a plan of the JVM: the pipeline's own, or that of a scalar subquery."""
        before = self._made_from
        prepared, self._made_from = self._prepare(java)
        try:
            return self.read(plan_tree(prepared, self._compact))
        finally:
            self._made_from = before

    def read(self, node: PlanNode) -> Operator:
        """Read a node with everything below it."""
        if node.kind in LEAVES:
            columns = self._attrs(node, "output")
            return self._through(node.java, columns) or self._sources.read(node, columns)
        reader = READERS.get(node.kind)
        if node.kind in REFUSED:
            raise NotTraceable(REFUSED[node.kind])
        if reader is None:
            raise NotTraceable(
                f"whence does not know the operator {node.kind}: it cannot be traced. The node is "
                f"{node.java.simpleString(100)}"
            )
        return reader(self, node)

    # --- parts of a node

    def _node(self, node: PlanNode, field: str) -> Node:
        java = node.java
        return tree(node.fields[field], lambda: getattr(java, field)(), self._compact)

    def _expr(self, node: PlanNode, field: str) -> Expr:
        return self._expressions.read(self._node(node, field))

    def _optional(self, node: PlanNode, field: str) -> Expr | None:
        if node.fields.get(field) is None:
            return None
        java = node.java
        return self._expressions.read(tree(node.fields[field], lambda: getattr(java, field)().get(), self._compact))

    def _nodes(self, node: PlanNode, field: str) -> list[Node]:
        held = cache(getattr(node.java, field))  # one call to the JVM for all of them

        def root(index: int) -> Callable[[], Any]:
            return lambda: held().apply(index)

        return [tree(flat, root(index), self._compact) for index, flat in enumerate(node.fields[field])]

    def _exprs(self, node: PlanNode, field: str) -> tuple[Expr, ...]:
        return tuple(map(self._expressions.read, self._nodes(node, field)))

    def _named(self, node: PlanNode, field: str) -> tuple[Named, ...]:
        return tuple(map(self._expressions.named, self._nodes(node, field)))

    def _attrs(self, node: PlanNode, field: str) -> tuple[Attr, ...]:
        return tuple(map(self._expressions.attr, self._nodes(node, field)))

    # --- one method for each node

    def values(self, node: PlanNode) -> Operator:
        return Values((), node.java)

    def same(self, node: PlanNode) -> Operator:
        """A node that does not change the rows, such as one that collects metrics."""
        return self.read(node.children[0])

    def arrange(self, node: PlanNode) -> Operator:
        return Arrange(self.read(node.children[0]), node.kind, node.java)

    def sequence(self, node: PlanNode) -> Operator:
        """The default index of pandas API on Spark: a number for each row, in the order of the rows."""
        child = self.read(node.children[0])
        attr = self._expressions.attr(self._node(node, "sequenceAttr"))
        return Project(
            child, (Named(attr, Call("DistributedSequenceID", (), attr.dtype, pure=False)), *keep(*child.output))
        )

    def filter(self, node: PlanNode) -> Operator:
        return Filter(self.read(node.children[0]), self._expr(node, "condition"))

    def project(self, node: PlanNode) -> Operator:
        return Project(self.read(node.children[0]), self._named(node, "projectList"))

    def join(self, node: PlanNode) -> Operator:
        left, right = map(self.read, node.children)
        condition = self._optional(node, "condition")
        kind = node.fields["joinType"]
        name = (kind.get("object") or kind.get("product-class", "")).rsplit(".", 1)[-1].rstrip("$")
        if name == "ExistenceJoin":
            flag = node.java.joinType().exists()
            return Join(left, right, "existence", condition, Attr(flag.exprId().id(), flag.name(), "boolean", False))
        if name not in JOIN_TYPES:
            raise NotTraceable(f"whence does not know the join {name}: it cannot be traced")
        return Join(left, right, JOIN_TYPES[name], condition)

    def union(self, node: PlanNode) -> Operator:
        if node.fields.get("byName"):
            raise NotTraceable("Catalyst has not resolved a union by name")
        return Union(tuple(map(self.read, node.children)), output_of(node.java))

    def intersect(self, node: PlanNode) -> Operator:
        left, right = map(self.read, node.children)
        return Intersect(left, right, bool(node.fields["isAll"]))

    def subtract(self, node: PlanNode) -> Operator:
        left, right = map(self.read, node.children)
        return Except(left, right, bool(node.fields["isAll"]))

    def distinct(self, node: PlanNode) -> Operator:
        child = self.read(node.children[0])
        return Distinct(child, tuple(dict.fromkeys(child.output)))

    def deduplicate(self, node: PlanNode) -> Operator:
        child = self.read(node.children[0])
        return Distinct(child, tuple(dict.fromkeys(self._attrs(node, "keys"))))

    def aggregate(self, node: PlanNode) -> Operator:
        keys, outputs = self._exprs(node, "groupingExpressions"), self._named(node, "aggregateExpressions")
        return Aggregate(
            self.read(node.children[0]),
            tuple(dict.fromkeys(keys)),
            outputs,
            listed(outputs, self._literal, self._compact),
        )

    def window(self, node: PlanNode) -> Operator:
        order = tuple(map(self._expressions.sort_key, self._nodes(node, "orderSpec")))
        partition = self._exprs(node, "partitionSpec")
        child = self.read(node.children[0])
        numbers = not partition and len(order) == 1 and _is_place(order[0].expr, child)
        calls = (self._alone(each, numbers) for each in self._named(node, "windowExpressions"))
        return Window(child, tuple(calls), partition, order)

    def _alone(self, named: Named, numbers: bool) -> Named:
        """Mark a row number that does not depend on other rows.

        Catalyst turns a limit in a correlated subquery into `row_number() <= limit` for each outer row. pandas API on
        Spark numbers the rows in their current order, as an index.
        """
        call = named.expr
        limits = named.attr.id >= self._made_from and named.attr.name == "rn"
        if not (limits or numbers) or not isinstance(call, WindowCall) or call.name != "RowNumber":
            return named
        return Named(named.attr, replace(call, detail=OF_LIMIT if limits else OF_PLACE))

    def sort(self, node: PlanNode) -> Operator:
        keys = tuple(map(self._expressions.sort_key, self._nodes(node, "order")))
        return Sort(self.read(node.children[0]), keys, bool(node.fields["global"]))

    def limit(self, node: PlanNode) -> Operator:
        below = node.children[0]
        if below.kind == "LocalLimit":
            below = below.children[0]
        count = self._expr(node, "limitExpr")
        if below.kind == "Offset":
            return Limit(self.read(below.children[0]), count, self._expr(below, "offsetExpr"))
        return Limit(self.read(below), count)

    def offset(self, node: PlanNode) -> Operator:
        return Limit(self.read(node.children[0]), None, self._expr(node, "offsetExpr"))

    def generate(self, node: PlanNode) -> Operator:
        child = self.read(node.children[0])
        dropped = set(node.fields["unrequiredChildIndex"])
        kept = tuple(attr for index, attr in enumerate(child.output) if index not in dropped)
        columns = self._attrs(node, "generatorOutput")
        outer = bool(node.fields["outer"])
        return Generate(child, self._expr(node, "generator"), columns, kept, outer, node.java)

    def expand(self, node: PlanNode) -> Operator:
        rows = []
        for projection in items(node.java.projections()):
            nodes = (tree_of(each, self._compact) for each in items(projection))
            rows.append(tuple(map(self._expressions.read, nodes)))
        return Expand(self.read(node.children[0]), tuple(rows), self._attrs(node, "output"))

    def sample(self, node: PlanNode) -> Operator:
        fields = node.fields
        child = self.read(node.children[0])
        lower, upper = float(fields["lowerBound"]), float(fields["upperBound"])
        return Sample(child, lower, upper, bool(fields["withReplacement"]), int(fields["seed"]), node.java)

    def opaque(self, node: PlanNode) -> Operator:
        function = node.fields.get("functionExpr") or [{}]
        why = f"{node.kind}({function[0].get('name', '')})"
        inputs = tuple(map(self.read, node.children))
        varies = why_varies(node.java.functionExpr()) if function[0] else ""
        alone = len(inputs) == 1 and len(set(inputs[0].output)) == len(inputs[0].output) and node.kind == "MapInPandas"
        rows = alone and makes_rows_of_rows(node.java.functionExpr())
        code, holds = known_of(node.java.functionExpr()) if function[0] else ("", ())
        columns = self._attrs(node, "output")
        return Opaque(inputs, columns, why, node.java, varies, by_row=rows, code=code, holds=holds)

    def grouped(self, node: PlanNode) -> Operator:
        keys, function = self._exprs(node, "groupingAttributes"), self._expr(node, "functionExpr")
        return GroupedMap(self.read(node.children[0]), keys, self._attrs(node, "output"), function, origin=node.java)

    def cogrouped(self, node: PlanNode) -> Operator:
        left, right = map(self.read, node.children)
        count_left, count_right = int(node.fields["leftGroupingLen"]), int(node.fields["rightGroupingLen"])
        function, columns = self._expr(node, "functionExpr"), self._attrs(node, "output")
        keys = left.output[:count_left], right.output[:count_right]
        return Cogroup(left, right, *keys, columns, function, origin=node.java)


def _is_place(expr: Expr, rows: Operator) -> bool:
    """Whether a column numbers the rows in their order, as `monotonically_increasing_id` does."""
    if not isinstance(rows, Project):
        return False
    made = (column.expr for column in rows.columns if column.attr == expr)
    return any(isinstance(each, Call) and each.name == "MonotonicallyIncreasingID" for each in made)


def output_of(java: Any) -> tuple[Attr, ...]:
    """A node's columns, read from the JVM."""
    schema = json.loads(java.schema().json())["fields"]
    attrs = items(java.output())
    return tuple(
        Attr(attr.exprId().id(), field["name"], _dtype_of_attribute(attr, field), bool(field["nullable"]))
        for attr, field in zip(attrs, schema, strict=True)
    )


def _dtype_of_attribute(attr: Any, field: dict[str, Any]) -> str:
    """The type of a column. A schema has collations in the metadata, not in the types."""
    if COLLATIONS not in json.dumps(field):
        return dtype_of(field["type"])
    if field["type"] != "string":
        raise NotTraceable(f"whence does not support collations inside a nested type: column {field['name']!r}")
    return str(json.loads(attr.dataType().json()))


COLLATIONS = "__COLLATIONS"
RECURSIVE = (
    "whence does not trace WITH RECURSIVE (Catalyst's UnionLoop): a row may come from any number of rounds. Write"
    " the recursive result to a table and build the pipeline on that table, or write each round as a join"
)
REFUSED = {"UnionLoop": RECURSIVE, "UnionLoopRef": RECURSIVE}
READERS: dict[str, Callable[[Plans, PlanNode], Operator]] = {
    "OneRowRelation": Plans.values,
    "CollectMetrics": Plans.same,
    "PipeOperator": Plans.same,
    "AttachDistributedSequence": Plans.sequence,
    "Filter": Plans.filter,
    "Project": Plans.project,
    "Join": Plans.join,
    "Union": Plans.union,
    "Intersect": Plans.intersect,
    "Except": Plans.subtract,
    "Distinct": Plans.distinct,
    "Deduplicate": Plans.deduplicate,
    "Aggregate": Plans.aggregate,
    "Window": Plans.window,
    "Sort": Plans.sort,
    "GlobalLimit": Plans.limit,
    "Offset": Plans.offset,
    "Generate": Plans.generate,
    "Expand": Plans.expand,
    "Sample": Plans.sample,
    "MapInPandas": Plans.opaque,
    "MapInArrow": Plans.opaque,
    "PythonMapInArrow": Plans.opaque,
    "FlatMapGroupsInPandas": Plans.grouped,
    "FlatMapGroupsInArrow": Plans.grouped,
    "FlatMapCoGroupsInPandas": Plans.cogrouped,
    "FlatMapCoGroupsInArrow": Plans.cogrouped,
    "Repartition": Plans.arrange,
    "RepartitionByExpression": Plans.arrange,
    "RebalancePartitions": Plans.arrange,
    "ResolvedHint": Plans.arrange,
}
