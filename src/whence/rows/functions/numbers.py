"""Python's arithmetic and comparisons as expressions with the same results in Spark."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Protocol

from whence.rows.expressions import FALSE, TRUE, Call, Compare, Expr, IsNull, Literal
from whence.rows.functions.refusal import Refusal
from whence.rows.functions.values import (
    DIGITS,
    LONG,
    Bool,
    Const,
    Date,
    Days,
    Float,
    Int,
    Item,
    Stamp,
    Str,
    as_type,
    both,
    case,
    either,
    lifted,
    long,
    negated,
    whole,
    widest,
)

EXACT = 1 << 53  # doubles represent all integers up to it
NEVER = "evalMode=LEGACY"  # NULL instead of an error as in ANSI mode
TRY = "evalMode=TRY"
HIGHEST_POWER = 8
LARGEST_DIVISOR = 1 << 31


class Raised(Exception):
    """The operation raises an error in Python."""

    def __init__(self, kind: type[Exception]) -> None:
        super().__init__(kind.__name__)
        self.kind = kind


class Context(Protocol):
    """What an operation can report to its caller."""

    def requires(self, condition: Expr) -> None:
        """Note that the translation is valid only where the condition is not false."""

    def fails(self, when: Expr, kind: type[Exception]) -> None:
        """Note that Python raises an error where the condition is true."""


Number = Int | Float


def number(item: Item) -> Number | None:
    """Return the value as a number; a boolean is one, too. None if it is not a number."""
    item = lifted(item)
    if isinstance(item, Bool):
        if item.expr in (TRUE, FALSE):
            return whole(int(item.expr == TRUE))
        return Int(case(item.expr, long(1), long(0)), 0, 1)
    return item if isinstance(item, Int | Float) else None


def as_float(item: Number, context: Context) -> Expr:
    """Return a number as a double. Python rounds large integers as Spark does."""
    if isinstance(item, Float):
        return item.expr
    if item.expr.dtype != "long":
        raise Refusal("a number may have more than 64 bits where it becomes a float")
    return as_type(item.expr, "double")


def exactly_float(item: Number, context: Context) -> Expr:
    """Return a number as an equal double. Numbers that have none are outside of the domain."""
    if isinstance(item, Int) and not -EXACT <= item.low <= item.high <= EXACT:
        small = both(Compare(">=", item.expr, long(-EXACT)), Compare("<=", item.expr, long(EXACT)))
        if item.expr.dtype == "long":
            context.requires(either(IsNull(item.expr), small))
    return as_float(item, context)


# --- arithmetic


def add(a: Item, b: Item, context: Context) -> Item:
    left, right = _numbers(a, b)
    if isinstance(left, Int) and isinstance(right, Int):
        return _sum("Add", left, right, left.low + right.low, left.high + right.high)
    return Float(Call("Add", (as_float(left, context), as_float(right, context)), "double", NEVER))


def subtract(a: Item, b: Item, context: Context) -> Item:
    if isinstance(lifted(a), Date) or isinstance(lifted(b), Date):
        return _days(lifted(a), lifted(b))
    left, right = _numbers(a, b)
    if isinstance(left, Int) and isinstance(right, Int):
        return _sum("Subtract", left, right, left.low - right.high, left.high - right.low)
    return Float(Call("Subtract", (as_float(left, context), as_float(right, context)), "double", NEVER))


def multiply(a: Item, b: Item, context: Context) -> Item:
    left, right = _numbers(a, b)
    if isinstance(left, Int) and isinstance(right, Int):
        corners = [x * y for x in (left.low, left.high) for y in (right.low, right.high)]
        return _product(left, right, min(corners), max(corners))
    return Float(Call("Multiply", (as_float(left, context), as_float(right, context)), "double", NEVER))


def divide(a: Item, b: Item, context: Context) -> Item:
    left, right = _numbers(a, b)
    _not_zero(right, context)
    if isinstance(left, Int) and isinstance(right, Int):  # Python rounds the quotient only once
        sides = exactly_float(left, context), exactly_float(right, context)
    else:
        sides = as_float(left, context), as_float(right, context)
    return Float(Call("Divide", sides, "double", NEVER))


def modulo(a: Item, b: Item, context: Context) -> Item:
    left, by = _divided(a, b)
    return Int(_modulo(left, by), 0, by - 1)


def floor_divide(a: Item, b: Item, context: Context) -> Item:
    left, by = _divided(a, b)
    if by == 1:
        return left
    down = case(Compare("<", _remainder(left, by), long(0)), long(1), long(0))
    towards_zero = Call("IntegralDivide", (left.expr, long(by)), "long", NEVER)
    made = Call("Subtract", (towards_zero, down), "long", NEVER)
    return Int(made, left.low // by, left.high // by)


def power(a: Item, b: Item, context: Context) -> Item:
    left = number(a)
    if not isinstance(left, Int) or not isinstance(b, Const) or type(b.value) is not int:
        raise Refusal("it raises to a power: only whole numbers to small constant powers are translated")
    if not 0 <= b.value <= HIGHEST_POWER:
        raise Refusal(f"it raises to the power {b.value}")
    found: Item = Int(long(1), 1, 1)
    for _ in range(b.value):
        found = multiply(found, left, context)
    return found


def negative(a: Item, context: Context) -> Item:
    item = number(a)
    if item is None:
        raise Raised(TypeError)
    if isinstance(item, Float):
        return Float(Call("UnaryMinus", (item.expr,), "double", "failOnError=false"))
    return subtract(Int(long(0), 0, 0), item, context)


def absolute(a: Item, context: Context) -> Item:
    item = number(a)
    if item is None:
        raise Raised(TypeError)
    if isinstance(item, Float):
        return Float(Call("Abs", (item.expr,), "double", "failOnError=false"))
    if item.low >= 0:
        return item
    minus = negative(item, context)
    assert isinstance(minus, Int)
    dtype = widest([item.expr.dtype, minus.expr.dtype])
    below = Compare("<", item.expr, as_type(long(0), item.expr.dtype))
    expr = case(below, as_type(minus.expr, dtype), as_type(item.expr, dtype))
    return Int(expr, 0, max(abs(item.low), abs(item.high)))


def truncated(item: Float, context: Context) -> Item:
    """`int(x)` of a float of at most 2^53."""
    return Int(Call("Cast", (_small(item, context),), "long", NEVER), -EXACT, EXACT)


def rounded(item: Float, context: Context) -> Item:
    """`round(x)`: halves are rounded to the even number, as by rint."""
    return Int(Call("Cast", (Call("Rint", (_small(item, context),), "double"),), "long", NEVER), -EXACT, EXACT)


def _small(item: Float, context: Context) -> Expr:
    expr, most = item.expr, float(EXACT)
    context.requires(
        either(
            IsNull(expr),
            both(Compare(">=", expr, Literal(-most, "double")), Compare("<=", expr, Literal(most, "double"))),
        )
    )
    return expr


def _numbers(a: Item, b: Item) -> tuple[Number, Number]:
    left, right = number(a), number(b)
    if left is None or right is None:
        raise Raised(TypeError)
    return left, right


def _sum(name: str, left: Int, right: Int, low: int, high: int) -> Int:
    if left.expr.dtype == right.expr.dtype == "long" and LONG[0] <= low <= high <= LONG[1]:
        return Int(Call(name, (left.expr, right.expr), "long", NEVER), low, high)
    sides = _decimal(left), _decimal(right)
    digits = max(_digits(side) for side in sides) + 1
    if max(abs(low), abs(high)) >= 10**DIGITS:
        raise Refusal("a whole number may have more than 38 digits")
    return _narrowed(Call(name, sides, f"decimal({min(digits, DIGITS)},0)", NEVER), low, high)


def _product(left: Int, right: Int, low: int, high: int) -> Int:
    if left.expr.dtype == right.expr.dtype == "long" and LONG[0] <= low <= high <= LONG[1]:
        return Int(Call("Multiply", (left.expr, right.expr), "long", NEVER), low, high)
    sides = _decimal(left), _decimal(right)
    digits = sum(_digits(side) for side in sides) + 1
    if max(abs(low), abs(high)) >= 10**DIGITS or digits > DIGITS + 1:
        raise Refusal("a whole number may have more than 38 digits")
    return _narrowed(Call("Multiply", sides, f"decimal({min(digits, DIGITS)},0)", NEVER), low, high)


def _narrowed(expr: Expr, low: int, high: int) -> Int:
    if LONG[0] <= low <= high <= LONG[1]:
        expr = Call("Cast", (expr,), "long", TRY)
    return Int(expr, low, high)


def _decimal(item: Int) -> Expr:
    if item.expr.dtype != "long":
        return item.expr
    if isinstance(item.expr, Literal) and isinstance(item.expr.value, int):
        value = item.expr.value
        return Literal(Decimal(value), f"decimal({max(1, len(str(abs(value))))},0)")
    return as_type(item.expr, "decimal(19,0)")


def _digits(expr: Expr) -> int:
    return int(expr.dtype[len("decimal(") :].split(",")[0])


def _divided(a: Item, b: Item) -> tuple[Int, int]:
    left, right = _numbers(a, b)
    if isinstance(left, Float) or isinstance(right, Float):
        raise Refusal("it divides floats with // or %")
    if left.expr.dtype != "long" or right.low != right.high or not 0 < right.low < LARGEST_DIVISOR:
        raise Refusal("it divides with // or % by something other than a positive constant")
    return left, right.low


def _remainder(left: Int, by: int) -> Expr:
    return Call("Remainder", (left.expr, long(by)), "long", NEVER)


def _modulo(left: Int, by: int) -> Expr:
    rest = _remainder(left, by)
    if left.low >= 0:
        return rest
    return case(Compare("<", rest, long(0)), Call("Add", (rest, long(by)), "long", NEVER), rest)


def _not_zero(item: Number, context: Context) -> None:
    if isinstance(item, Int) and not item.low <= 0 <= item.high:
        return
    zero = compared("==", item, Int(long(0), 0, 0), context)
    if zero == TRUE:
        raise Raised(ZeroDivisionError)
    context.fails(zero, ZeroDivisionError)


def _days(left: Item, right: Item) -> Item:
    if not isinstance(left, Date) or not isinstance(right, Date):
        raise Raised(TypeError)
    days = Call("DateDiff", (left.expr, right.expr), "integer")
    return Days(Int(as_type(days, "long"), -3_700_000, 3_700_000))


# --- comparisons

Ordering = Callable[[Expr, Expr], Expr]
_NAMES = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def compared(op: str, a: Item, b: Item, context: Context) -> Expr:
    """`a op b` as a condition, which is NULL only if Python raises an error."""
    a, b = lifted(a), lifted(b)
    left, right = number(a), number(b)
    if left is not None and right is not None:
        return _numeric(op, left, right, context)
    for kind in (Str, Date, Stamp):
        if isinstance(a, kind) and isinstance(b, kind):
            return Compare(_NAMES[op], a.expr, b.expr)
    if isinstance(a, Days) and isinstance(b, Days):
        return _numeric(op, a.days, b.days, context)
    if isinstance(a, Const) and isinstance(b, Const) and a.value is b.value is None:
        if op in ("==", "!="):
            return TRUE if op == "==" else FALSE
        raise Raised(TypeError)
    known = (Int, Float, Str, Bool, Date, Stamp)
    simple = isinstance(a, known) or (isinstance(a, Const) and a.value is None)
    if simple and (isinstance(b, known) or (isinstance(b, Const) and b.value is None)):
        if op in ("==", "!="):
            return FALSE if op == "==" else TRUE
        raise Raised(TypeError)
    raise Refusal("it compares values of a type that is not translated")


def _numeric(op: str, left: Number, right: Number, context: Context) -> Expr:
    if isinstance(left, Int) and isinstance(right, Int):
        return _ints(op, left, right)
    if isinstance(left, Int) and isinstance(right, Float) and isinstance(right.expr, Literal):
        return _with_constant(op, left, right.expr.value)
    if isinstance(left, Float) and isinstance(right, Int):
        if isinstance(left.expr, Literal):
            return _with_constant(_FLIPPED[op], right, left.expr.value)
        return _floats(op, left.expr, exactly_float(right, context))
    return _floats(op, exactly_float(left, context), exactly_float(right, context))


_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _ints(op: str, left: Int, right: Int) -> Expr:
    if left.high < right.low:
        return TRUE if op in ("<", "<=", "!=") else FALSE
    if left.low > right.high:
        return TRUE if op in (">", ">=", "!=") else FALSE
    if left.low == left.high == right.low == right.high:
        return TRUE if op in ("<=", ">=", "==") else FALSE
    dtype = widest([left.expr.dtype, right.expr.dtype])
    return Compare(_NAMES[op], _in(left, dtype), _in(right, dtype))


def _in(item: Int, dtype: str) -> Expr:
    if isinstance(item.expr, Literal) and isinstance(item.expr.value, int) and dtype != "long":
        return Literal(Decimal(item.expr.value), dtype)
    return as_type(item.expr, dtype)


def _with_constant(op: str, left: Int, value: object) -> Expr:
    """Compare an integer with a constant float exactly, without converting it to a float."""
    assert isinstance(value, float)
    if value != value:
        return TRUE if op == "!=" else FALSE
    if math.isinf(value):
        holds = op in (("<", "<=", "!=") if value > 0 else (">", ">=", "!="))
        return TRUE if holds else FALSE
    if op in ("==", "!=") and not value.is_integer():
        return FALSE if op == "==" else TRUE
    bound = math.ceil(value) if op in ("<", ">=") else math.floor(value)
    return _ints(op, left, Int(long(bound) if LONG[0] <= bound <= LONG[1] else _refused(), bound, bound))


def _refused() -> Expr:
    raise Refusal("it compares a whole number with a float beyond 64 bits")


def _floats(op: str, left: Expr, right: Expr) -> Expr:
    """Compare floats. NaN equals nothing in Python; in Spark, it equals itself and is greater than all others."""
    for each in (left, right):
        if isinstance(each, Literal) and each.value != each.value:
            return TRUE if op == "!=" else FALSE
    plain = Compare(_NAMES[op], left, right)
    if op in ("==", "<", "<=") and not isinstance(right, Literal):
        return both(plain, negated(is_nan(right)))
    if op in (">", ">=") and not isinstance(left, Literal):
        return both(plain, negated(is_nan(left)))
    if op == "!=" and not isinstance(left, Literal) and not isinstance(right, Literal):
        return either(plain, is_nan(left))
    return plain


def is_nan(expr: Expr) -> Expr:
    if isinstance(expr, Literal):
        return TRUE if expr.value is not None and expr.value != expr.value else FALSE
    return Call("IsNaN", (expr,), "boolean")
