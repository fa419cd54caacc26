"""Simplify predicates with constants.

before: 'web' <=> 'store' and a <=> :a
after:  false
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from whence.rows.expressions import (
    FALSE,
    TRUE,
    And,
    Compare,
    Expr,
    IsNull,
    Literal,
    Not,
    Or,
    Param,
    conjunction,
    disjunction,
)

# Types whose Python values compare as Spark's do. Strings only under the binary collation.
EXACT_TYPES: dict[str, type] = {
    "byte": int,
    "short": int,
    "integer": int,
    "long": int,
    "boolean": bool,
    "string": str,
    "date": date,
}


def folded(predicate: Expr) -> Expr:
    """Simplify comparisons of constants. The predicate selects the same rows; NULL counts as FALSE.

    >>> from whence.rows import Attr, Compare, Literal
    >>> web, store = Literal("web", "string"), Literal("store", "string")
    >>> folded(Compare("<=>", web, store)) == FALSE
    True
    """
    if isinstance(predicate, And):
        return conjunction(*map(folded, predicate.args))
    if isinstance(predicate, Or):
        return disjunction(*map(folded, predicate.args))
    if isinstance(predicate, Compare):
        return _folded_comparison(predicate)
    if isinstance(predicate, IsNull) and isinstance(predicate.arg, Literal):
        return TRUE if predicate.arg.value is None else FALSE
    if isinstance(predicate, Not) and isinstance(predicate.arg, IsNull) and isinstance(predicate.arg.arg, Literal):
        return FALSE if predicate.arg.arg.value is None else TRUE
    if isinstance(predicate, Literal) and predicate.value is None:
        return FALSE
    return predicate


def _folded_comparison(fact: Compare) -> Expr:
    a, b = fact.left, fact.right
    if fact.op == "<=>" and a == b and isinstance(a, Param | Literal):
        return TRUE
    if not (isinstance(a, Literal) and isinstance(b, Literal)):
        return fact
    if a.value is None or b.value is None:
        return TRUE if fact.op == "<=>" and a.value is b.value else FALSE
    kind = Decimal if a.dtype.startswith("decimal") else EXACT_TYPES.get(a.dtype)
    if kind is None or a.dtype != b.dtype or type(a.value) is not kind or type(b.value) is not kind:
        return fact
    return TRUE if _is_true(fact.op, a.value, b.value) else FALSE


def _is_true(op: str, a: Any, b: Any) -> bool:
    if op in ("=", "<=>"):
        return bool(a == b)
    if op == "!=":
        return bool(a != b)
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op])
