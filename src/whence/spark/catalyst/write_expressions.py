"""Write whence's expressions as Catalyst's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from functools import singledispatchmethod
from typing import Any

from whence.errors import NotTraceable
from whence.rows import (
    AggCall,
    And,
    Attr,
    Call,
    Compare,
    Expr,
    Frame,
    In,
    IsNull,
    Literal,
    Named,
    Not,
    Or,
    SortKey,
    WindowCall,
)
from whence.rows.documents import NotHeld
from whence.rows.tree import Tree, upwards
from whence.spark.catalyst import stored_calls, write_calls
from whence.spark.catalyst.jvm import Jvm, Origin

COMPARISONS = {
    "=": "EqualTo",
    "<=>": "EqualNullSafe",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
}
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


class Lowering:
    """Makes Catalyst expressions. Those that were read from Catalyst are copied with new arguments, so that they keep
    their meaning.
    """

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self._attrs: dict[int, Any] = {}
        self._made: dict[int, tuple[Tree, Any]] = {}  # by id, so that a shared expression is made once

    def expr(self, expr: Tree) -> Any:
        """The Catalyst form of an expression."""
        if id(expr) not in self._made:
            for each in upwards(expr):  # bottom up, because an expression may nest deeper than Python's recursion limit
                if id(each) not in self._made:
                    self._made[id(each)] = each, self._lower(each)
        return self._made[id(expr)][1]

    def seq(self, exprs: Iterable[Expr]) -> Any:
        return self.jvm.seq([self.expr(each) for each in exprs])

    def named(self, columns: Iterable[Named]) -> Any:
        """A select list."""
        return self.jvm.seq([self._named(each) for each in columns])

    def _named(self, named: Named) -> Any:
        if named.expr == named.attr:
            return self.expr(named.attr)
        java, attr = self.expr(named.expr), named.attr
        no = self.jvm.seq([])
        return self.jvm.new("expressions.Alias", java, attr.name, self.jvm.expr_id(attr.id), no, self.jvm.none, no)

    @singledispatchmethod
    def _lower(self, expr: Tree) -> Any:
        raise NotTraceable(f"{type(expr).__name__} cannot be evaluated by itself: {expr}")

    @_lower.register
    def _(self, expr: Attr) -> Any:
        if expr.id not in self._attrs:
            jvm = self.jvm
            self._attrs[expr.id] = jvm.new(
                "expressions.AttributeReference",
                expr.name,
                jvm.dtype(expr.dtype),
                expr.nullable,
                jvm.no_metadata,
                jvm.expr_id(expr.id),
                jvm.seq([]),
            )
        return self._attrs[expr.id]

    @_lower.register
    def _(self, expr: Literal) -> Any:
        if isinstance(expr.origin, Origin):
            return expr.origin.java
        if isinstance(expr.origin, NotHeld) and not has_python_form(expr):
            raise NotTraceable(f"a log stores a constant of type {expr.dtype} only as text: {expr.value}")
        if expr.value is None:
            return self.jvm.new("expressions.Literal", None, self.jvm.dtype(expr.dtype))
        java = self.jvm.literal(expr.value, local=expr.dtype == "timestamp_ntz")
        wanted = self.jvm.dtype(expr.dtype)
        if java.dataType().equals(wanted):
            return java
        if expr.dtype.startswith("string"):  # a collation: the optimizer does not support casts between collations
            return self.jvm.new("expressions.Literal", java.value(), wanted)
        return self.jvm.new("expressions.Cast", java, wanted, self.jvm.some("UTC"), self._ansi())

    def _ansi(self) -> Any:
        return self.jvm.singleton(f"{EXPRESSIONS}.EvalMode").ANSI()

    @_lower.register
    def _(self, expr: Compare) -> Any:
        left, right = self.expr(expr.left), self.expr(expr.right)
        if _misread(expr.left):
            right = self.jvm.new("optimizer.NormalizeNaNAndZero", right)
        if _misread(expr.right):
            left = self.jvm.new("optimizer.NormalizeNaNAndZero", left)
        if expr.op == "!=":
            return self.jvm.new("expressions.Not", self.jvm.new("expressions.EqualTo", left, right))
        return self.jvm.new(f"expressions.{COMPARISONS[expr.op]}", left, right)

    @_lower.register(And)
    @_lower.register(Or)
    def _(self, expr: And | Or) -> Any:
        name = f"expressions.{type(expr).__name__}"
        java = self.expr(expr.args[0])
        for each in expr.args[1:]:
            java = self.jvm.new(name, java, self.expr(each))
        return java

    @_lower.register(Not)
    @_lower.register(IsNull)
    def _(self, expr: Not | IsNull) -> Any:
        return self.jvm.new(f"expressions.{type(expr).__name__}", self.expr(expr.arg))

    @_lower.register
    def _(self, expr: In) -> Any:
        return self.jvm.new("expressions.In", self.expr(expr.arg), self.seq(expr.values))

    @_lower.register
    def _(self, expr: SortKey) -> Any:
        direction = "Ascending" if expr.ascending else "Descending"
        nulls = "NullsFirst" if expr.nulls_first else "NullsLast"
        return self.jvm.new(
            "expressions.SortOrder",
            self.expr(expr.expr),
            self.jvm.singleton(f"{EXPRESSIONS}.{direction}"),
            self.jvm.singleton(f"{EXPRESSIONS}.{nulls}"),
            self.jvm.seq([]),
        )

    @_lower.register
    def _(self, expr: Call) -> Any:
        if isinstance(expr.origin, Origin):
            return self._nondeterminism(self._steady(expr, expr.origin.java), expr.args)
        if isinstance(expr.origin, NotHeld):
            return self._anew(expr)
        made = write_calls.made(expr, [self.expr(arg) for arg in expr.args], self.jvm)
        return self._function(expr.name, expr.args, expr.detail) if made is None else made

    @_lower.register
    def _(self, expr: AggCall) -> Any:
        if isinstance(expr.origin, NotHeld):
            return self._anew(expr)
        if not isinstance(expr.origin, Origin):
            if expr.distinct or expr.where is not None:
                raise NotTraceable(f"an aggregate of whence has no condition: {expr}")
            return self._function(expr.name, expr.args)
        java = expr.origin.java
        function = self._nondeterminism(java.aggregateFunction(), expr.args)
        parts = [function] if expr.where is None else [function, self.expr(expr.where)]
        return java.withNewChildren(self.jvm.seq(parts))

    def _steady(self, expr: Call, java: Any) -> Any:
        """Mark a function of `pyspark.ml` as deterministic, so that it may be in a join. Spark's mark only prevents
        computing it twice.
        """
        if expr.name == "ScalaUDF" and expr.pure and not java.udfDeterministic():
            return self.jvm.rebuild(java, udfDeterministic=True)
        return java

    def _anew(self, call: Call | AggCall) -> Any:
        """Create the call of a function in a stored plan."""
        java = stored_calls.made(call, self.jvm, self.expr)
        if java is None:
            require_held(call)
        return java

    def window(self, call: WindowCall, partition: Iterable[Expr], order: Iterable[SortKey]) -> Any:
        """Create a window function with the given partitioning and order."""
        spec = self.jvm.new(
            "expressions.WindowSpecDefinition", self.seq(partition), self.seq(order), self._frame(call.frame)
        )
        if isinstance(call.origin, NotHeld):
            made = stored_calls.made_window(call, self.jvm, self.expr)
            if made is None:
                require_held(call)
            return self.jvm.new("expressions.WindowExpression", made, spec)
        if not isinstance(call.origin, Origin):
            return self.jvm.new("expressions.WindowExpression", self._function(call.name, call.args), spec)
        java = call.origin.java
        function = java.windowFunction()
        if function.getClass().getSimpleName() == "AggregateExpression":
            inner = self._nondeterminism(function.aggregateFunction(), call.args)
            rest = [] if call.where is None else [self.expr(call.where)]
            function = function.withNewChildren(self.jvm.seq([inner, *rest]))
        else:
            function = self._nondeterminism(function, call.args)
        return java.withNewChildren(self.jvm.seq([function, spec]))

    def _frame(self, frame: Frame) -> Any:
        if isinstance(frame.origin, Origin):
            return frame.origin.java
        require_held(frame)
        unit = self.jvm.singleton(f"{EXPRESSIONS}.{'RowFrame' if frame.unit == 'rows' else 'RangeFrame'}")
        lower, upper = self._bound(frame.lower, "UnboundedPreceding"), self._bound(frame.upper, "UnboundedFollowing")
        return self.jvm.new("expressions.SpecifiedWindowFrame", unit, lower, upper)

    def _bound(self, bound: int | str | None, unbounded: str) -> Any:
        if bound is None:
            return self.jvm.singleton(f"{EXPRESSIONS}.{unbounded}")
        if bound == 0:
            return self.jvm.singleton(f"{EXPRESSIONS}.CurrentRow")
        return self.jvm.literal(bound)

    def _nondeterminism(self, java: Any, args: tuple[Expr, ...]) -> Any:
        return java.withNewChildren(self.seq(args)) if args else java

    def _function(self, name: str, args: tuple[Expr, ...], detail: str = "") -> Any:
        """A function that whence made: an SQL function by name, or one without an SQL name."""
        jvm = self.jvm
        if name == "variable":
            return jvm.new("expressions.UnresolvedNamedLambdaVariable", jvm.seq([detail]))
        if name == "lambda":
            return jvm.new("expressions.LambdaFunction", self.expr(args[0]), self.seq(args[1:]), False)
        if name == "field":
            return jvm.made("analysis.UnresolvedExtractValue", self.expr(args[0]), jvm.literal(detail))
        if name == "DistributedSequenceID":
            return jvm.new("expressions.DistributedSequenceID")
        if name == "explode":
            return jvm.new("expressions.Explode", self.expr(args[0]))
        return jvm.made("analysis.UnresolvedFunction", jvm.seq([name]), self.seq(args), False)


def require_held(part: Any) -> None:
    """Raise if a part of a stored plan is not in its document."""
    if isinstance(part.origin, NotHeld):
        raise NotTraceable(
            f"Spark cannot answer this from the log alone: {part.origin.why}. Build the pipeline again and use"
            " log.pipeline(df).backward(...)"
        )


def has_python_form(literal: Literal) -> bool:
    """Whether the value of a literal is a Python value, and not Catalyst's string for it."""
    kinds = PYTHON_FORMS.get(literal.dtype.split("(", 1)[0].split(" ", 1)[0], ())
    return literal.value is None or isinstance(literal.value, kinds)


PYTHON_FORMS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), (int,)),
    **dict.fromkeys(("float", "double"), (float,)),
    **dict.fromkeys(("string", "char", "varchar"), (str,)),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), (datetime,)),
    "decimal": (Decimal,),
    "boolean": (bool,),
    "date": (date,),
    "binary": (bytes,),
}


def _misread(expr: Expr) -> bool:
    """Whether it is a value of a question that Spark's Parquet reader looks up incorrectly.

    The reader skips a row group whose dictionary has -0.0 but not 0.0, or whose statistics do not count NaN. A filter
    on a normalized column is not pushed to the reader. Literals of the pipeline itself stay as Spark reads them.
    """
    if not isinstance(expr, Literal) or isinstance(expr.origin, Origin | NotHeld) or not isinstance(expr.value, float):
        return False
    return expr.value == 0 or expr.value != expr.value
