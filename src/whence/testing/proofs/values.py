"""Symbolic values: a nullable value is a pair of whether it is null, and its value otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

# Integers, dates, timestamps and strings are integers, because predicates use only equality and order of them. Decimals
# and floats are reals. Values of other types have only an identity.
_REAL = ("decimal", "double", "float")


@dataclass(frozen=True, slots=True)
class Value:
    """`null` is a z3 Bool; if it is true, `value` has no meaning."""

    null: Any
    value: Any


def sort_of(dtype: str) -> Any:
    """The z3 sort for a type."""
    if dtype == "boolean":
        return z3.BoolSort()
    return z3.RealSort() if dtype.startswith(_REAL) else z3.IntSort()


def symbol(name: str, dtype: str) -> Value:
    """An unknown value."""
    return Value(z3.Bool(f"{name}.null"), z3.Const(f"{name}.value", sort_of(dtype)))


def null_of(dtype: str) -> Value:
    """The null of a type."""
    return Value(z3.BoolVal(True), z3.Const(f"null.{dtype}", sort_of(dtype)))


def boolean(truth: Any, null: Any = False) -> Value:
    """A boolean value."""
    return Value(z3.BoolVal(null) if isinstance(null, bool) else null, truth)


def true(value: Value) -> Any:
    """Whether a row satisfies a condition: it is neither false nor null."""
    return z3.And(z3.Not(value.null), value.value)


def same(a: Value, b: Value) -> Any:
    """Null-safe equality."""
    return z3.Or(z3.And(a.null, b.null), z3.And(z3.Not(a.null), z3.Not(b.null), a.value == b.value))


def choose(condition: Any, a: Value, b: Value) -> Value:
    """`a` if the condition is true, otherwise `b`."""
    return Value(z3.If(condition, a.null, b.null), z3.If(condition, a.value, b.value))
