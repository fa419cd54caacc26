"""Python's operators, for any operands: arithmetic, comparisons, `in` and `is`."""

from __future__ import annotations

import ast
from collections.abc import Callable, ItemsView, KeysView, ValuesView
from typing import TYPE_CHECKING

from whence.rows.expressions import FALSE, TRUE, Compare, Expr, In, Literal
from whence.rows.functions import numbers, texts
from whence.rows.functions.alternatives import pairs, truth
from whence.rows.functions.numbers import Raised
from whence.rows.functions.refusal import ITEMS, TEXT, Refusal
from whence.rows.functions.values import (
    VIEWS,
    Bool,
    Const,
    Date,
    Days,
    Float,
    Int,
    Item,
    Items,
    Match,
    Method,
    Other,
    Split,
    Stamp,
    Str,
    Value,
    both,
    constant,
    either,
    is_plain,
    lifted,
    negated,
)

if TYPE_CHECKING:
    from whence.rows.functions.looking import Looking

ARITHMETIC: dict[type[ast.operator], Callable[..., Item]] = {
    ast.Add: numbers.add,
    ast.Sub: numbers.subtract,
    ast.Mult: numbers.multiply,
    ast.Div: numbers.divide,
    ast.FloorDiv: numbers.floor_divide,
    ast.Mod: numbers.modulo,
    ast.Pow: numbers.power,
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
LIMIT = 1 << 64
SEARCHED = (list, tuple, set, frozenset, dict, range)


def binary(op: ast.operator, left: Value, right: Value, at: Looking) -> Value:
    kind = type(op)

    def one(a: Item, b: Item) -> Item | Value:
        if isinstance(a, Const) and isinstance(b, Const) and is_plain(a.value) and is_plain(b.value):
            return Const(_folded(kind, a.value, b.value))
        if kind is ast.Add:
            x, y = lifted(a), lifted(b)
            if isinstance(x, Str) or isinstance(y, Str):
                if not (isinstance(x, Str) and isinstance(y, Str)):
                    raise Raised(TypeError)
                return Str(texts.concat(x.expr, y.expr))
        if kind is ast.Mult and isinstance(lifted(a), Str) and isinstance(b, Const) and type(b.value) is int:
            text = lifted(a)
            assert isinstance(text, Str)
            return Str(texts.repeated(text.expr, b.value))
        for item in (a, b):
            if isinstance(lifted(item), Other | Items | Split | Days | Match | Method | Stamp):
                raise Refusal("it computes with values of a type that is not translated")
            if isinstance(item, Const) and not is_plain(item.value):
                raise Refusal("it computes with an object")
        if kind is ast.Mod and isinstance(lifted(a), Str):
            raise Refusal("it formats text with %")
        if kind is ast.Mult and (isinstance(lifted(a), Str) or isinstance(lifted(b), Str)):
            raise Refusal("it repeats a string")
        if kind in (ast.Add, ast.Sub) and isinstance(lifted(a), Date) and not isinstance(lifted(b), Date):
            raise Refusal("it adds to a date")
        if kind not in ARITHMETIC:
            raise Refusal(f"the operator {kind.__name__} is not translated")
        return ARITHMETIC[kind](a, b, at)

    return pairs(left, right, one, at)


def _folded(kind: type[ast.operator], a: object, b: object) -> object:
    """Compute an operation on two constants."""
    if isinstance(a, str) and isinstance(b, str) and kind is ast.Add and len(a) + len(b) <= TEXT:
        return a + b
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        if a is None or b is None:
            raise Raised(TypeError)
        raise Refusal("it computes with constants of a type that is not translated")
    if any(isinstance(x, int) and abs(x) > LIMIT for x in (a, b)) or (kind is ast.Pow and abs(b) > 64):
        raise Refusal("it computes with very large constants")
    try:
        if kind is ast.Add:
            return a + b
        if kind is ast.Sub:
            return a - b
        if kind is ast.Mult:
            return a * b
        if kind is ast.Div:
            return a / b
        if kind is ast.FloorDiv:
            return a // b
        if kind is ast.Mod:
            return a % b
        if kind is ast.Pow:
            found = a**b
            if isinstance(found, int | float):
                return found
    except (ZeroDivisionError, OverflowError) as error:
        raise Raised(type(error)) from None
    raise Refusal(f"the operator {kind.__name__} is not translated")


def minus(item: Item, at: Looking) -> Item:
    if isinstance(item, Const) and type(item.value) in (int, float):
        return Const(-item.value)  # type: ignore[operator]  # a number
    return numbers.negative(item, at)


def compared(op: ast.cmpop, left: Value, right: Value, at: Looking) -> Expr:
    if isinstance(op, ast.Is | ast.IsNot):
        same = _identical(at.possible(left), right)
        return same if isinstance(op, ast.Is) else negated(same)
    if isinstance(op, ast.In | ast.NotIn):
        inside = truth(pairs(left, right, lambda a, b: _bool(_contained(a, b, at)), at))
        return inside if isinstance(op, ast.In) else negated(inside)
    word = COMPARISONS[type(op)]
    return truth(pairs(left, right, lambda a, b: _bool(numbers.compared(word, a, b, at)), at))


def _bool(expr: Expr) -> Item:
    return Bool(expr)


def _identical(left: Value, right: Value) -> Expr:
    wanted = constant(right)
    if wanted is None or not (wanted.value is None or isinstance(wanted.value, bool)):
        raise Refusal("it compares objects with `is`")

    def one(item: Item) -> Expr:
        if wanted.value is None:
            return TRUE if isinstance(item, Const) and item.value is None else FALSE
        lifted_ = lifted(item)
        if isinstance(lifted_, Bool):
            return lifted_.expr if wanted.value else negated(lifted_.expr)
        return FALSE

    return either(FALSE, *(both(alternative.guard, one(alternative.item)) for alternative in left))


def _contained(item: Item, inside: Item, at: Looking) -> Expr:
    whole = lifted(inside)
    if isinstance(whole, Str):
        part = lifted(item)
        if not isinstance(part, Str):
            raise Raised(TypeError)
        return texts.contains(whole.expr, part.expr)
    if isinstance(inside, Items):
        values = [_listed_equal(item, value, at) for value in inside.items]
        return either(FALSE, *values)
    if isinstance(whole, Int | Float | Bool | Date | Stamp) or (isinstance(inside, Const) and inside.value is None):
        raise Raised(TypeError)
    if not isinstance(inside, Const) or type(inside.value) not in (*SEARCHED, *VIEWS):
        raise Refusal("it searches in something that is not a constant")
    values_ = inside.value
    assert isinstance(values_, list | tuple | set | frozenset | dict | range | KeysView | ValuesView | ItemsView)
    if len(values_) > ITEMS:
        raise Refusal(f"it searches in {len(values_)} values")
    return one_of(item, list(values_), at)


def _listed_equal(item: Item, value: Value, at: Looking) -> Expr:
    """`in` of a list compares identity first: a NaN object is in a list only if it is the same object."""
    found = lifted(item)
    if isinstance(found, Float) and any(isinstance(lifted(one.item), Float) for one in value):
        at.requires(negated(numbers.is_nan(found.expr)))
    return either(FALSE, *(both(one.guard, numbers.compared("==", item, one.item, at)) for one in value))


def one_of(item: Item, values: list[object], at: Looking) -> Expr:
    """Whether a value equals one of some constants."""
    if any(not is_plain(value) for value in values):
        raise Refusal("it searches among objects")
    if isinstance(item, Const) and is_plain(item.value):
        return TRUE if any(item.value is value or item.value == value for value in values) else FALSE
    equal = [numbers.compared("==", item, Const(value), at) for value in values]
    simple = [one for one in equal if isinstance(one, Compare) and one.op == "=" and isinstance(one.right, Literal)]
    if len(simple) > 2 and len(simple) == sum(one != FALSE for one in equal) and simple[0].left.dtype != "double":
        return In(simple[0].left, tuple(one.right for one in simple))
    return either(FALSE, *equal)
