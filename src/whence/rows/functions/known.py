"""Translations of functions of Python and its libraries: `len`, `round`, `re.search`, `pandas.isna`."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from whence.rows.expressions import FALSE, TRUE, Call, Compare, Expr, Literal
from whence.rows.functions import numbers, texts
from whence.rows.functions.alternatives import each, items_of, pairs, truth, truth_value
from whence.rows.functions.numbers import Raised
from whence.rows.functions.operators import binary
from whence.rows.functions.parsing import parsed
from whence.rows.functions.patterns import PORTABLE, spelled
from whence.rows.functions.refusal import Refusal
from whence.rows.functions.values import (
    Alternative,
    Bool,
    Const,
    Date,
    Float,
    Int,
    Item,
    Items,
    Match,
    Split,
    Stamp,
    Str,
    Value,
    both,
    const,
    constant,
    either,
    is_none,
    lifted,
    long,
    merged,
    negated,
    only,
    text,
)

if TYPE_CHECKING:
    from whence.rows.functions.looking import Looking

KINDS: dict[type, tuple[type, ...]] = {str: (Str,), int: (Int, Bool), float: (Float,), bool: (Bool,)}
KINDS |= {date: (Date, Stamp), datetime: (Stamp,)}
Builtin: TypeAlias = Callable[[list[Value], "Looking"], Value]


def _one(change: Callable[[Item, Looking], Item | Value]) -> Builtin:
    def make(args: list[Value], at: Looking) -> Value:
        if len(args) != 1:
            raise Refusal("a built-in function with another number of arguments")
        return each(args[0], lambda item: change(item, at), at)

    return make


def _number(item: Item) -> Int | Float:
    found = numbers.number(item)
    if found is None:
        raise Raised(TypeError)
    return found


def _len(item: Item, at: Looking) -> Item:
    if isinstance(item, Const) and type(item.value) in (str, list, tuple, dict, set, frozenset):
        return Const(len(item.value))  # type: ignore[arg-type]  # one of these
    if isinstance(item, Items):
        return Const(len(item.items))
    item = lifted(item)
    if isinstance(item, Str):
        return texts.length(item.expr)
    if isinstance(item, Split):
        return texts.parts(item, at)
    if isinstance(item, Int | Float | Bool | Date | Stamp) or (isinstance(item, Const) and item.value is None):
        raise Raised(TypeError)
    raise Refusal("the length of something that is not a string")


def _int(item: Item, at: Looking) -> Item:
    item = lifted(item)
    if isinstance(item, Str):
        return parsed(item.expr, False, at)
    if isinstance(item, Float):
        return numbers.truncated(item, at)
    return _number(item)


def _float(item: Item, at: Looking) -> Item:
    item = lifted(item)
    if isinstance(item, Str):
        return parsed(item.expr, True, at)
    return Float(numbers.as_float(_number(item), at))


def _round(item: Item, at: Looking) -> Item:
    item = lifted(item)
    if isinstance(item, Float):
        return numbers.rounded(item, at)
    return _number(item)


def _bool(item: Item, at: Looking) -> Item:
    return Bool(truth(only(item)))


def _is_nan(item: Item, at: Looking) -> Item:
    found = _number(item)
    return Bool(numbers.is_nan(found.expr)) if isinstance(found, Float) else Const(False)


def _is_infinite(item: Item, at: Looking) -> Item:
    found = _number(item)
    if isinstance(found, Int):
        return Const(False)
    ends = (Literal(end, "double") for end in (math.inf, -math.inf))
    return Bool(either(*(Compare("=", found.expr, end) for end in ends)))


def _floor(item: Item, at: Looking) -> Item:
    found = _number(item)
    if isinstance(found, Int):
        return found
    whole = numbers.truncated(found, at)
    assert isinstance(whole, Int)
    above = numbers.compared(">", whole, found, at)
    return Int(
        Call(
            "CaseWhen",
            (above, Call("Subtract", (whole.expr, long(1)), "long", numbers.NEVER), whole.expr),
            "long",
        ),
        whole.low - 1,
        whole.high,
    )


def _ceiling(item: Item, at: Looking) -> Item:
    found = _number(item)
    return found if isinstance(found, Int) else numbers.negative(_floor(numbers.negative(found, at), at), at)


def _is_finite(item: Item, at: Looking) -> Item:
    found = _number(item)
    if isinstance(found, Int):
        return Const(True)
    return Bool(negated(either(truth(only(_is_infinite(found, at))), numbers.is_nan(found.expr))))


def _day(kind: type[date]) -> Builtin:
    """`date(2024, 1, 31)` and `datetime(2024, 1, 31, 12)`, with constant arguments."""

    def make(args: list[Value], at: Looking) -> Value:
        known = [constant(arg) for arg in args]
        parts = [each.value for each in known if each is not None and type(each.value) is int]
        if len(parts) != len(args):
            raise Refusal("it makes a date of something else than constants")
        try:
            return const(kind(*parts))
        except (TypeError, ValueError, OverflowError) as error:
            at.fails(TRUE, type(error))
            return ()

    return make


def not_missing(args: list[Value], at: Looking) -> Value:
    """`pandas.notna`."""
    return truth_value(negated(truth(missing(args, at))))


def missing(args: list[Value], at: Looking) -> Value:
    """`pandas.isna`."""

    def one(item: Item, at: Looking) -> Item:
        item = lifted(item)
        if isinstance(item, Float):
            return Bool(numbers.is_nan(item.expr))
        if isinstance(item, Str | Int | Bool | Date | Stamp):
            return Const(False)
        if isinstance(item, Const) and item.value is None:
            return Const(True)
        raise Refusal("it tests whether a value of unknown type is missing")

    return _one(one)(args, at)


def _isinstance(args: list[Value], at: Looking) -> Value:
    kinds = constant(args[1]) if len(args) == 2 else None
    listed: Any = () if kinds is None else kinds.value if isinstance(kinds.value, tuple) else (kinds.value,)
    if not listed or any(kind not in KINDS for kind in listed):
        raise Refusal("isinstance of a type that is not translated")

    def one(item: Item) -> Item:
        item = lifted(item)
        if not isinstance(item, Int | Float | Str | Bool | Date | Stamp | Split) and not is_none(item):
            raise Refusal("isinstance of a value of a kind that is not translated")
        return Const(any(isinstance(item, KINDS[kind]) for kind in listed))

    return each(args[0], one, at)


def _extreme(op: str) -> Builtin:
    """`min` and `max`: of equal values the first, with Python's comparisons of NaN."""

    def make(args: list[Value], at: Looking) -> Value:
        values = items_of(args[0]) if len(args) == 1 else tuple(args)
        if not values:
            raise Refusal("min or max of something that is not a list of known length")
        best = values[0]
        for other in values[1:]:

            def better(a: Item, b: Item) -> Value:
                return merged(numbers.compared(op, a, b, at), only(a), only(b))

            best = pairs(other, best, better, at)
        return best

    return make


def _fold(start: object, join: Callable[..., Expr]) -> Builtin:
    """`any` and `all`."""

    def make(args: list[Value], at: Looking) -> Value:
        values = items_of(args[0]) if len(args) == 1 else None
        if values is None:
            raise Refusal("any or all of something that is not a list of known length")
        found = join(TRUE if start else FALSE, *(truth(value) for value in values))
        return truth_value(found)

    return make


def _sum(args: list[Value], at: Looking) -> Value:
    values = items_of(args[0]) if len(args) == 1 else None
    if values is None:
        raise Refusal("the sum of something that is not a list of known length")
    result = const(0)
    for index, value in enumerate(values):
        if index and any(isinstance(lifted(one.item), Float) for one in (*result, *value)) and len(values) > 2:
            raise Refusal("a sum of floats: newer versions of Python add them more exactly")
        result = binary(ast.Add(), result, value, at)
    return result


def _range(args: list[Value], at: Looking) -> Value:
    known = [constant(arg) for arg in args]
    numbers_ = [each.value for each in known if each is not None and type(each.value) is int]
    if len(numbers_) != len(args) or not 1 <= len(args) <= 3:
        raise Refusal("a range whose bounds are not constants")
    return const(range(*numbers_))


def _str(item: Item, at: Looking) -> Item:
    return Str(texts.written(item))


def regular(name: str, args: list[Value], at: Looking) -> Value:
    """`re.search`, `re.match` and `re.fullmatch`: whether there is a match; nothing else of it is translated."""
    pattern = constant(args[0]) if len(args) in (2, 3) else None
    flags = constant(args[2]) if len(args) == 3 else Const(0)
    if pattern is None or type(pattern.value) is not str or flags is None or not isinstance(flags.value, int):
        raise Refusal("a regular expression that is not a constant, or has flags that are not")
    spelled_ = spelled(pattern.value, name, int(flags.value))

    def one(item: Item) -> Value:
        item = lifted(item)
        if not isinstance(item, Str):
            raise Raised(TypeError)
        texts.ascii_only(item.expr, at)
        there = Call("RLike", (item.expr, text(spelled_)), "boolean", PORTABLE)
        return (Alternative(there, Match()), Alternative(negated(there), Const(None)))

    return each(args[1], one, at)


BUILTINS: dict[str, Builtin] = {
    "len": _one(_len),
    "int": _one(_int),
    "float": _one(_float),
    "str": _one(_str),
    "bool": _one(_bool),
    "abs": _one(numbers.absolute),
    "round": _one(_round),
    "min": _extreme("<"),
    "max": _extreme(">"),
    "any": _fold(False, either),
    "all": _fold(True, both),
    "sum": _sum,
    "range": _range,
    "isinstance": _isinstance,
    "datetime.date": _day(date),
    "datetime.datetime": _day(datetime),
    "math.isnan": _one(_is_nan),
    "math.isfinite": _one(_is_finite),
    "math.ceil": _one(_ceiling),
    "math.isinf": _one(_is_infinite),
    "math.floor": _one(_floor),
    "math.trunc": _one(_int),
    "math.fabs": _one(
        lambda item, at: Float(Call("Abs", (numbers.as_float(_number(item), at),), "double", "failOnError=false"))
    ),
}
