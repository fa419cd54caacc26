"""Expressions over symbolic rows, with SQL's three-valued logic."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import z3

from whence.errors import BadType
from whence.rows.expressions import (
    And,
    Attr,
    Call,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Param,
    disjunction,
    fresh,
)
from whence.rows.tree import transform
from whence.testing.proofs.values import Value, boolean, choose, null_of, same, sort_of, symbol, true

Row = Mapping[Attr, Value]
ELEMENTS = 2  # of a symbolic array


def evaluate(expr: Expr, row: Row) -> Value:
    """Return the value of an expression in a symbolic row; functions without a theory are uninterpreted."""
    if isinstance(expr, Attr):
        return row[expr]
    if isinstance(expr, Param):
        return symbol(f"param.{expr.name}", expr.dtype)
    if isinstance(expr, Literal):
        return _literal(expr)
    if isinstance(expr, IsNull):
        return boolean(evaluate(expr.arg, row).null)
    if isinstance(expr, Not):
        arg = evaluate(expr.arg, row)
        return Value(arg.null, z3.Not(arg.value))
    if isinstance(expr, And | Or):
        return _connective(expr, row)
    if isinstance(expr, Compare):
        return _comparison(expr, row)
    if isinstance(expr, In):
        return evaluate(disjunction(*(Compare("=", expr.arg, value) for value in expr.values)), row)
    if isinstance(expr, Call) and expr.name == "exists":
        return _exists_element(expr, row)
    if isinstance(expr, Call) and expr.name == "array_size":
        array = evaluate(expr.args[0], row)
        found = (z3.If(there, 1, 0) for there, _ in elements(array, "integer"))
        return Value(array.null, z3.Sum(z3.IntVal(0), *found))
    if isinstance(expr, Call) and expr.name == "coalesce":
        first, second = (evaluate(arg, row) for arg in expr.args)
        return choose(first.null, second, first)
    if isinstance(expr, Call) and expr.deterministic:
        return _applied(f"{type(expr).__name__}.{expr.name}.{expr.detail}", expr, row)
    raise BadType(f"{type(expr).__name__} {expr} has no meaning in a symbolic row")


def elements(array: Value, dtype: str) -> list[tuple[Any, Value]]:
    """The elements of an array, at most two: whether each exists, and its value."""
    out = []
    for index in range(ELEMENTS):
        there = applied(f"element.{index}.there", [array], "boolean").value
        out.append((z3.And(z3.Not(array.null), there), applied(f"element.{index}", [array], dtype)))
    return out


def _exists_element(expr: Call, row: Row) -> Value:
    """Whether a condition is true for some element; null counts as false, as in a filter."""
    array, function = expr.args
    assert isinstance(function, Call)
    body, variable = function.args
    element = fresh("element", variable.dtype)
    condition = transform(body, lambda part: element if part == variable else part)
    parts = elements(evaluate(array, row), variable.dtype)
    return boolean(z3.Or(*(z3.And(there, true(evaluate(condition, {**row, element: v}))) for there, v in parts)))


def applied(name: str, args: list[Value], dtype: str) -> Value:
    """An uninterpreted function of nullable arguments: equal for equal arguments; nothing else is known about it."""
    flat = [part for arg in args for part in (arg.null, _visible(arg))]
    sorts = [part.sort() for part in flat]
    if not flat:
        return symbol(f"constant.{name}", dtype)
    null = z3.Function(f"{name}.null", *sorts, z3.BoolSort())
    value = z3.Function(f"{name}.value", *sorts, sort_of(dtype))
    return Value(null(*flat), value(*flat))


def _visible(arg: Value) -> Any:
    """The part of a value that a function can see: a blank, if it is null."""
    blank = z3.BoolVal(False) if z3.is_bool(arg.value) else (z3.RealVal(0) if z3.is_real(arg.value) else z3.IntVal(0))
    return z3.If(arg.null, blank, arg.value)


def _applied(name: str, expr: Call, row: Row) -> Value:
    args = [evaluate(arg, row) for arg in expr.args]
    return applied(f"{name}/{'/'.join(arg.dtype for arg in expr.args)}", args, expr.dtype)


def _literal(expr: Literal) -> Value:
    if expr.value is None:
        return null_of(expr.dtype)
    sort = sort_of(expr.dtype)
    if sort == z3.BoolSort():
        return boolean(z3.BoolVal(bool(expr.value)))
    if isinstance(expr.value, int):
        number = z3.RealVal(expr.value) if sort == z3.RealSort() else z3.IntVal(expr.value)
        return Value(z3.BoolVal(False), number)
    # Other constants have an identity: equal literals are equal, and nothing is assumed about different ones.
    digest = hashlib.sha256(repr(expr.value).encode()).hexdigest()[:16]
    return Value(z3.BoolVal(False), z3.Const(f"literal.{expr.dtype}.{digest}", sort))


def _connective(expr: And | Or, row: Row) -> Value:
    args = [evaluate(arg, row) for arg in expr.args]
    known_true = [z3.And(z3.Not(arg.null), arg.value) for arg in args]
    known_false = [z3.And(z3.Not(arg.null), z3.Not(arg.value)) for arg in args]
    if isinstance(expr, And):
        truth, falsity = z3.And(*known_true), z3.Or(*known_false)
    else:
        truth, falsity = z3.Or(*known_true), z3.And(*known_false)
    return Value(z3.And(z3.Not(truth), z3.Not(falsity)), truth)


def _comparison(expr: Compare, row: Row) -> Value:
    left, right = evaluate(expr.left, row), evaluate(expr.right, row)
    if expr.op == "<=>":
        return boolean(same(left, right))
    null = z3.Or(left.null, right.null)
    a, b = left.value, right.value
    if expr.op in ("=", "!="):
        return Value(null, a == b if expr.op == "=" else a != b)
    if z3.is_bool(a):
        a, b = z3.If(a, 1, 0), z3.If(b, 1, 0)
    return Value(null, {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[expr.op])
