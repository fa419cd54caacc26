"""Convert Catalyst's expressions from JSON to whence's."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from whence.errors import NotTraceable
from whence.rows import (
    AggCall,
    Attr,
    Call,
    Compare,
    Exists,
    Expr,
    Frame,
    In,
    IsNull,
    Literal,
    Named,
    Not,
    Operator,
    ScalarQuery,
    SortKey,
    Udf,
    WindowCall,
    conjunction,
    disjunction,
)
from whence.rows.fallible import ARITHMETIC, TOTAL
from whence.spark.catalyst.functions import known_of, looked_into, of_spark_ml, why_varies
from whence.spark.catalyst.jvm import Origin, items
from whence.spark.catalyst.shared import CUT, Compact

COMPARE = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
UDFS = frozenset(
    {"PythonUDF", "PythonUDTF", "ScalaUDF", "ScalaUDAF", "HiveSimpleUDF", "HiveGenericUDF", "ScalaAggregator"}
)
PYTHON = frozenset({"PythonUDF", "PythonUDAF", "PythonUDTF"})
# Catalyst calls these deterministic, because they have one value in a query; the next query has another.
CLOCK = frozenset({"CurrentTimestamp", "CurrentDate", "Now", "LocalTimestamp", "CurrentTime", "CurrentBatchTimestamp"})
PLAIN = TOTAL | ARITHMETIC | {"Cast", "Divide", "Remainder"}
NUMBERS = frozenset({"byte", "short", "integer", "long", "float", "double"})
STEPS = frozenset({"WithField", "DropField"})  # operations on a struct: not values, so they have no type
REFUSED = frozenset({"OuterReference", "ListQuery", "InSubquery", "LateralSubquery"})
PASSING = frozenset(
    {"KnownFloatingPointNormalized", "NormalizeNaNAndZero", "KnownNotNull", "KnownNullable", "PipeExpression"}
)


class Node:
    """One expression of the JSON. Its children are created when they are first used."""

    __slots__ = ("_children", "fields", "kind", "origin")

    def __init__(
        self,
        kind: str,
        fields: dict[str, Any],
        children: tuple[Node, ...] | Callable[[], tuple[Node, ...]],
        origin: Origin,
    ) -> None:
        self.kind, self.fields, self._children, self.origin = kind, fields, children, origin

    @property
    def children(self) -> tuple[Node, ...]:
        if callable(self._children):
            self._children = self._children()
        return self._children


def tree(flat: list[dict[str, Any]], root: Any, compact: Compact) -> Node:
    """Build a tree from a pre-order list. `root` is the JVM object of the first entry, or a function that returns it.

    Expressions that `compact` cut out of the list are read from the JVM objects.
    """
    node, end = _tree(flat, 0, Origin(root), compact)
    assert end == len(flat)
    return node


def tree_of(java: Any, compact: Compact) -> Node:
    """Build the tree of an expression of the JVM."""
    return tree(json.loads(compact.expr(java).toJSON()), java, compact)


def _tree(flat: list[dict[str, Any]], at: int, origin: Origin, compact: Compact) -> tuple[Node, int]:
    fields = flat[at]
    if fields.get("name") == CUT:
        return _whole_node(origin, compact), at + 1
    children = []
    end = at + 1
    for index in range(fields["num-children"]):
        field = next((name for name in ("left", "right", "child") if fields.get(name) == index), "")
        child, end = _tree(flat, end, origin.child(index, field), compact)
        children.append(child)
    return Node(fields["class"].rsplit(".", 1)[-1].rstrip("$"), fields, tuple(children), origin), end


def _whole_node(origin: Origin, compact: Compact) -> Node:
    """The node of an expression that was cut out of the JSON. Its children are read from JSON of their own."""
    java = origin.java
    kind = java.getClass().getSimpleName().rstrip("$")

    def below() -> tuple[Node, ...]:
        return tuple(tree_of(child, compact) for child in items(java.children()))

    return Node(kind, compact.settings(java), below, origin)


def dtype_of(value: object) -> str:
    """A type from the JSON as a string."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


class Expressions:
    """Reads expressions. The plan of a scalar subquery is read with `read_plan`."""

    def __init__(self, read_plan: Callable[[Any], Operator]) -> None:
        self._read_plan = read_plan

    def named(self, node: Node) -> Named:
        """Read an entry of a select list: an alias, or a plain column."""
        if node.kind == "Alias":
            expr = self.read(node.children[0])
            return Named(Attr(node.fields["exprId"]["id"], node.fields["name"], expr.dtype), expr)
        attr = self.attr(node)
        return Named(attr, attr)

    def attr(self, node: Node) -> Attr:
        if node.kind != "AttributeReference":
            raise NotTraceable(f"expected a column, but Catalyst has {node.kind}")
        fields = node.fields
        return Attr(fields["exprId"]["id"], fields["name"], dtype_of(fields["dataType"]), bool(fields["nullable"]))

    def read(self, node: Node) -> Expr:
        """Read an expression with everything below it."""
        kind, below = node.kind, node.children
        if kind == "AttributeReference":
            return self.attr(node)
        if kind == "Literal":
            return literal(node)
        if kind in COMPARE:
            return Compare(COMPARE[kind], self.read(below[0]), self.read(below[1]))
        if kind == "And":
            return conjunction(*map(self.read, below))
        if kind == "Or":
            return disjunction(*map(self.read, below))
        if kind == "Not":
            return _negated(self.read(below[0]))
        if kind == "IsNull":
            return IsNull(self.read(below[0]))
        if kind == "IsNotNull":
            return Not(IsNull(self.read(below[0])))
        if kind == "In":
            return In(self.read(below[0]), tuple(map(self.read, below[1:])))
        if kind == "SortOrder":
            return self.sort_key(node)
        if kind == "AggregateExpression":
            return self._aggregate(node)
        if kind == "WindowExpression":
            return self._window(node)
        if kind in ("ScalarSubquery", "Exists"):
            return self._subquery(node)
        if kind == "Alias" or kind in PASSING:
            return self.read(below[0])
        if kind in REFUSED or kind.startswith("Unresolved"):
            raise NotTraceable(f"whence does not know the lineage of {kind} here: {node.origin.java.toString()[:200]}")
        return self._call(node)

    def sort_key(self, node: Node) -> SortKey:
        ascending = node.fields["direction"]["object"].endswith("Ascending$")
        first = node.fields["nullOrdering"]["object"].endswith("NullsFirst$")
        return SortKey(self.read(node.children[0]), ascending, first)

    def _call(self, node: Node) -> Call:
        args = tuple(map(self.read, node.children))
        if node.kind in PLAIN:  # deterministic if the arguments are: this saves a call to the JVM
            pure = all(arg.deterministic for arg in args)
        else:
            pure = bool(node.origin.java.deterministic()) and node.kind not in CLOCK
        dtype = "void" if node.kind in STEPS else _known_type(node, args) or _type(node.origin.java)
        if node.kind not in UDFS:
            return Call(node.kind, args, dtype, _detail(node), pure, node.origin)
        java = node.origin.java
        learned = of_spark_ml(java) if node.kind == "ScalaUDF" else None
        if learned is not None:  # Spark marks it as nondeterministic only to avoid computing it twice
            pure = all(arg.deterministic for arg in args)
            return Udf(node.kind, args, dtype, _detail(node), pure, node.origin, holds=learned)
        why = _why_function_varies(node)
        udf = Udf(node.kind, args, dtype, _detail(node), pure and not why, node.origin, why)
        return looked_into(udf, java) if node.kind == "PythonUDF" else udf

    def _aggregate(self, node: Node) -> AggCall:
        function, *rest = node.children
        return AggCall(
            function.kind,
            tuple(map(self.read, function.children)),
            _type(node.origin.java),
            bool(node.fields["isDistinct"]),
            self.read(rest[0]) if rest else None,
            _detail(function),
            function.kind in UDFS or function.kind.startswith("Python"),
            node.origin,
            _why_function_varies(function),
            known_of(function.origin.java)[0] if function.kind in PYTHON else "",
        )

    def _window(self, node: Node) -> WindowCall:
        function, spec = node.children
        detail, aggregate, where = _detail(function), function, None
        if function.kind == "AggregateExpression":
            aggregate, *rest = function.children
            where = self.read(rest[0]) if rest else None
            detail = f"{detail} {_detail(aggregate)}"
        return WindowCall(
            aggregate.kind,
            tuple(map(self.read, aggregate.children)),
            _window_frame(spec.children[-1]),
            _type(node.origin.java),
            detail,
            aggregate.kind in UDFS or aggregate.kind.startswith("Python"),
            node.origin,
            _why_function_varies(aggregate),
            where,
        )

    def _subquery(self, node: Node) -> ScalarQuery | Exists:
        java = node.origin.java
        if java.isCorrelated():
            raise NotTraceable(
                f"a correlated subquery that Catalyst does not turn into a join: {java.toString()[:200]}"
            )
        plan = self._read_plan(java.plan())
        return Exists(plan, node.origin) if node.kind == "Exists" else ScalarQuery(plan, _type(java), node.origin)


def literal(node: Node) -> Literal:
    """Read a literal, as a Python value if there is one."""
    dtype, text = dtype_of(node.fields["dataType"]), node.fields["value"]
    raw = dtype in ("timestamp", "timestamp_ntz", "binary") and text is not None
    value = _raw(node.origin.java.value(), text, dtype) if raw else _literal_value(text, dtype)
    return Literal(value, dtype, node.origin)


def _raw(value: Any, text: str, dtype: str) -> object:
    """Values that the JSON shows in a form of its own: bytes, local times, and instants in the session's time zone."""
    if dtype == "binary":
        return bytes(value)
    try:
        return datetime(1970, 1, 1, tzinfo=UTC if dtype == "timestamp" else None) + timedelta(microseconds=value)
    except OverflowError:  # a year that Python lacks; the origin has the literal
        return text


def _literal_value(text: str | None, dtype: str) -> object:
    if text is None:
        return None
    try:
        if dtype in ("byte", "short", "integer", "long"):
            return int(text)
        if dtype in ("float", "double"):
            return float(text)
        if dtype.startswith("decimal"):
            return Decimal(text)
        if dtype == "boolean":
            return str(text).lower() == "true"
        if dtype == "date":
            return date.fromisoformat(text)
    except (
        ValueError,
        InvalidOperation,
    ):  # a year that Python lacks; the origin has the literal
        return text
    return text


def _why_function_varies(node: Node) -> str:
    """Why a Python function may return another value for the same arguments."""
    return why_varies(node.origin.java) if node.kind in PYTHON else ""


def _negated(expr: Expr) -> Expr:
    if isinstance(expr, Compare) and expr.op == "=":
        return Compare("!=", expr.left, expr.right)
    return Not(expr)


def _known_type(node: Node, args: tuple[Expr, ...]) -> str | None:
    """The type of a call, if it follows from the JSON. For wide plans, calls to the JVM would take most of the time."""
    if node.kind == "Cast" and isinstance(node.fields.get("dataType"), str):
        return str(node.fields["dataType"])
    kinds = {arg.dtype for arg in args}
    return kinds.pop() if node.kind in ARITHMETIC and len(kinds) == 1 and kinds <= NUMBERS else None


def _type(java: Any) -> str:
    return dtype_of(json.loads(java.dataType().json()))


def _detail(node: Node) -> str:
    """Everything except the arguments that determines the value. The JVM is called for fields that the JSON leaves
    out.
    """
    said = []
    for name, value in sorted(node.fields.items()):
        if name in ("class", "num-children", "resultId", "exprId", "dataType") and node.kind != "NamedLambdaVariable":
            continue
        if isinstance(value, int) and not isinstance(value, bool) and name != "exprId":
            if not 0 <= value < len(node.children):  # otherwise it is the index of a child
                said.append(f"{name}={value}")
        elif isinstance(value, list | dict) and _of_children(value):
            continue
        elif value is None and hasattr(node.origin.java, name):
            said.append(f"{name}={_getter_text(getattr(node.origin.java, name))}")
        else:
            said.append(f"{name}={json.dumps(value, sort_keys=True)}")
    return " ".join(said)


def _of_children(value: Any) -> bool:
    """Whether a field repeats the children, as indices or as complete expressions."""
    if isinstance(value, dict):
        return "class" in value or any(_of_children(each) for each in value.values())
    if isinstance(value, list):
        return all(type(each) is int for each in value) or any(_of_children(each) for each in value)
    return False


def _getter_text(getter: Any) -> str:
    value = getter()
    return "null" if value is None else value if isinstance(value, str) else str(value.toString())


def _window_frame(node: Node) -> Frame:
    if node.kind != "SpecifiedWindowFrame":
        raise NotTraceable(f"a window frame of a kind whence does not know: {node.kind}")
    unit = "rows" if node.fields["frameType"]["object"].endswith("RowFrame$") else "range"
    return Frame(unit, _bound(node.children[0]), _bound(node.children[1]), node.origin)


def _bound(node: Node) -> int | str | None:
    if node.kind.startswith("Unbounded"):
        return None
    if node.kind == "CurrentRow":
        return 0
    if node.kind == "UnaryMinus":
        below = _bound(node.children[0])
        return -below if isinstance(below, int) else f"-{below}"
    value = literal(node).value if node.kind == "Literal" else None
    return value if type(value) is int else str(node.origin.java.toString())
