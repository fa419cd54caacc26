"""Cut out expressions whose JSON would be exponential in their depth, and read them from the JVM objects.

Catalyst's `toJSON` writes some arguments twice, as children and as values of fields: the branches of CASE, and the
arguments of functions that are replaced by others (`ifnull`, `to_date`). So each level of nesting doubles the JSON.
"""

from __future__ import annotations

from typing import Any

from whence.spark.catalyst.jvm import CATALYST, Jvm, is_java, items

CUT = "__whence_cut"  # the name of the column that replaces an expression
PATTERNS = ("CASE_WHEN", "RUNTIME_REPLACEABLE")
EXPRESSIONS = f"{CATALYST}.expressions"


class Compact:
    """Makes plans and expressions whose JSON grows linearly with their size."""

    def __init__(self, jvm: Jvm) -> None:
        patterns = jvm.singleton(f"{CATALYST}.trees.TreePattern")
        self._jvm = jvm
        self._patterns = [getattr(patterns, name)() for name in PATTERNS]

    def plan(self, java: Any) -> Any:
        """Return the plan without nested expressions of these kinds."""
        if not self._repeats(java):
            return java
        children = items(java.children())
        changed = [self.plan(child) for child in children]
        if _differ(changed, children):
            java = java.withNewChildren(self._jvm.seq(changed))
        if not any(map(self._repeats, items(java.expressions()))):
            return java
        fields = {}
        for index in range(java.productArity()):
            old = java.productElement(index)
            new = self._field(old)
            if new is not old:
                fields[java.productElementName(index)] = new
        return self._jvm.rebuild(java, **fields) if fields else java

    def expr(self, java: Any) -> Any:
        """Return the expression, cutting out parts that its JSON would repeat."""
        if not self._repeats(java):
            return java
        if self._cut(java):
            return self._stand_in(java)
        children = items(java.children())
        changed = [self.expr(child) for child in children]
        return java.withNewChildren(self._jvm.seq(changed)) if _differ(changed, children) else java

    def settings(self, java: Any) -> dict[str, Any]:
        """The arguments of an expression that are not expressions, by name."""
        found: dict[str, Any] = {}
        for index in range(java.productArity()):
            value = java.productElement(index)
            if not self._holds_expressions(value):
                found[java.productElementName(index)] = value.toString() if is_java(value) else value
        return found

    def _field(self, value: Any) -> Any:
        if not is_java(value):
            return value
        if self._is("Expression", value):
            return self.expr(value)
        if self._jvm.is_instance("scala.collection.Seq", value):
            old = items(value)
            new = [self._field(each) for each in old]
            return self._jvm.seq(new) if _differ(new, old) else value
        if self._jvm.is_instance("scala.Some", value):
            old = value.get()
            new = self._field(old)
            return value if new is old else self._jvm.some(new)
        return value

    def _repeats(self, java: Any) -> bool:
        return any(java.containsPattern(pattern) for pattern in self._patterns)

    def _cut(self, java: Any) -> bool:
        """Whether its JSON would write something twice that contains something written twice."""
        if self._is("PlanExpression", java):  # the plan of a subquery is read separately
            return True
        if self._is("aggregate.AggregateFunction", java):  # Catalyst accepts nothing else instead of it
            return False
        if not (self._is("CaseWhen", java) or self._is("RuntimeReplaceable", java)):
            return False
        return any(map(self._repeats, items(java.children())))

    def _stand_in(self, java: Any) -> Any:
        jvm = self._jvm
        kind = jvm.dtype("null") if self._is("PlanExpression", java) else java.dataType()
        return jvm.new("expressions.AttributeReference", CUT, kind, True, jvm.no_metadata, jvm.expr_id(0), jvm.seq([]))

    def _holds_expressions(self, value: Any) -> bool:
        if not is_java(value):
            return False
        if self._jvm.is_instance("scala.Some", value):
            return self._holds_expressions(value.get())
        if self._jvm.is_instance("scala.collection.Seq", value):
            return any(map(self._holds_expressions, items(value)))
        if self._jvm.is_instance("scala.Tuple2", value):
            return self._holds_expressions(value._1()) or self._holds_expressions(value._2())
        return self._is("Expression", value)

    def _is(self, kind: str, java: Any) -> bool:
        return self._jvm.is_instance(f"{EXPRESSIONS}.{kind}", java)


def _differ(new: list[Any], old: list[Any]) -> bool:
    return any(a is not b for a, b in zip(new, old, strict=True))
