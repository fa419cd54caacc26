"""Symbolic values: a nullable value is a pair, whether it is null and what it is if not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

# Whole numbers, dates, timestamps and text: equality and order are all that predicates use of them, and integers
# have both. Decimals are rationals. Anything else has an identity and nothing more.
_REAL = ("decimal", "double", "float")


@dataclass(frozen=True, slots=True)
class Value:
    """`null` is a z3 Bool; `value` means nothing where it is true."""

    null: Any
    value: Any


def sort_of(dtype: str) -> Any:
    """The z3 sort that stands for a type."""
    if dtype == "boolean":
        return z3.BoolSort()
    return z3.RealSort() if dtype.startswith(_REAL) else z3.IntSort()


def symbol(name: str, dtype: str) -> Value:
    """A value that nothing is known of."""
    return Value(z3.Bool(f"{name}.null"), z3.Const(f"{name}.value", sort_of(dtype)))


def null_of(dtype: str) -> Value:
    """The null of a type."""
    return Value(z3.BoolVal(True), z3.Const(f"null.{dtype}", sort_of(dtype)))


def boolean(truth: Any, null: Any = False) -> Value:
    """A truth value."""
    return Value(z3.BoolVal(null) if isinstance(null, bool) else null, truth)


def true(value: Value) -> Any:
    """Whether a condition lets a row pass: neither false nor null."""
    return z3.And(z3.Not(value.null), value.value)


def same(a: Value, b: Value) -> Any:
    """Null-safe equality."""
    return z3.Or(z3.And(a.null, b.null), z3.And(z3.Not(a.null), z3.Not(b.null), a.value == b.value))


def choose(condition: Any, a: Value, b: Value) -> Value:
    """One or the other."""
    return Value(z3.If(condition, a.null, b.null), z3.If(condition, a.value, b.value))
