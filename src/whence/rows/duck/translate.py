"""Translate predicates to DuckDB's SQL, if it gives the same results as Spark."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatchmethod

from whence.rows.duck import calls
from whence.rows.duck.constants import computed
from whence.rows.duck.literals import literal_sql
from whence.rows.duck.python import python_sql
from whence.rows.duck.types import duckdb_type
from whence.rows.expressions import TRUE, And, Attr, Call, Compare, Expr, In, IsNull, Literal, Not, Or, Udf
from whence.rows.tree import Tree, depth

LONGEST = 10_000  # characters of a call with its arguments: some repeat an argument, and nesting multiplies that
DEEPEST = 100  # nesting depth of expressions; deeper ones are left to Spark


class NotTranslatable(Exception):
    """A part of a predicate is not known to mean the same in both engines. It never leaves this package."""


def translated(predicate: Expr, names: Mapping[Attr, str]) -> str | None:
    """Return the predicate as DuckDB SQL, with NULL for the same rows as in Spark; None if it is not translatable.

    `names` has the SQL expression of each column.

    >>> a = Attr(1, "a", "long")
    >>> translated(Compare("<", a, Literal(5, "long")), {a: '"a"'})
    '("a" < CAST(\\'5\\' AS BIGINT))'
    >>> translated(Call("Rand", (), "double", pure=False), {}) is None
    True
    """
    if predicate.dtype != "boolean":
        return None
    return value_sql(predicate, names)


def value_sql(expr: Expr, names: Mapping[Attr, str]) -> str | None:
    """Translate any expression: its value, in Spark's type."""
    if depth(expr) > DEEPEST:
        return None
    try:
        return _Sql(names).of(computed(expr))
    except NotTranslatable:
        return None


class _Sql:
    def __init__(self, names: Mapping[Attr, str]) -> None:
        self._names = names

    def of(self, expr: Expr) -> str:
        if duckdb_type(expr.dtype) is None:
            raise NotTranslatable(f"the type of {expr}: {expr.dtype}")
        return self._of(expr)

    @singledispatchmethod
    def _of(self, expr: Tree) -> str:
        raise NotTranslatable(str(expr))

    @_of.register
    def _(self, expr: Attr) -> str:
        if expr not in self._names:
            raise NotTranslatable(f"a column that is not there: {expr}")
        return self._names[expr]

    @_of.register
    def _(self, expr: Literal) -> str:
        said = literal_sql(expr)
        if said is None:
            raise NotTranslatable(f"the value {expr.value!r} of type {expr.dtype}")
        return said

    @_of.register
    def _(self, expr: Compare) -> str:
        one_type(expr.left, expr.right)
        left, right = self.of(expr.left), self.of(expr.right)
        if expr.op != "<=>":
            return f"({left} {'<>' if expr.op == '!=' else expr.op} {right})"
        # DuckDB skips row groups for `=`, but not for IS NOT DISTINCT FROM.
        for value, one, other in ((expr.right, left, right), (expr.left, right, left)):
            if isinstance(value, Literal):
                return f"({one} IS NULL)" if value.value is None else f"({one} IS NOT NULL AND {one} = {other})"
        return f"({left} IS NOT DISTINCT FROM {right})"

    @_of.register(And)
    @_of.register(Or)
    def _(self, expr: And | Or) -> str:
        if not expr.args:
            raise NotTranslatable("nothing to combine")
        word = " AND " if isinstance(expr, And) else " OR "
        return "(" + word.join(self._boolean(each) for each in expr.args) + ")"

    @_of.register
    def _(self, expr: Not) -> str:
        return f"(NOT {self._boolean(expr.arg)})"

    @_of.register
    def _(self, expr: IsNull) -> str:
        return f"({self.of(expr.arg)} IS NULL)"

    @_of.register
    def _(self, expr: In) -> str:
        if not expr.values:  # its value for NULL depends on a setting of Spark
            raise NotTranslatable("IN of nothing")
        for each in expr.values:
            one_type(expr.arg, each)
        return f"({self.of(expr.arg)} IN ({', '.join(map(self.of, expr.values))}))"

    @_of.register
    def _(self, expr: Call) -> str:
        if isinstance(expr, Udf):
            return self._function(expr)
        made = calls.CALLS.get(expr.name, python_sql)
        if not expr.deterministic:
            raise NotTranslatable(f"the function {expr.name}")
        said = made(expr, self.of)
        if said is None:
            said = python_sql(expr, self.of)
        if said is None or len(said) > LONGEST:
            raise NotTranslatable(str(expr))
        return said

    def _function(self, udf: Udf) -> str:
        """Inline the translation of a user's function; arguments outside of its domain raise an error in the query."""
        if udf.inside is None or not udf.deterministic or udf.inside.value.dtype != udf.dtype:
            raise NotTranslatable(f"the function {udf.name}")
        value, domain = udf.over(udf.inside.value), udf.over(udf.inside.domain)
        if max(depth(value), depth(domain)) > DEEPEST:
            raise NotTranslatable(f"the function {udf.name}")
        said = self.of(value)
        if domain != TRUE:
            refused = f"CAST(error('outside of the translation') AS {duckdb_type(udf.dtype)})"
            said = f"CASE WHEN NOT {self._boolean(domain)} THEN {refused} ELSE {said} END"
        if len(said) > LONGEST:
            raise NotTranslatable(f"the function {udf.name}")
        return said

    def _boolean(self, expr: Expr) -> str:
        if expr.dtype != "boolean":
            raise NotTranslatable(f"{expr} is not a condition")
        return self.of(expr)


def one_type(left: Expr, right: Expr) -> None:
    """Raise unless both sides have the same type, because Spark's implicit casts are not known here."""
    if left.dtype != right.dtype:
        raise NotTranslatable(f"{left.dtype} compared with {right.dtype}")
