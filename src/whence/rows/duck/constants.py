"""Constants that Spark computes before it reads a row: dates and intervals, numbers, casts of literals."""

from __future__ import annotations

import math
import operator
import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal, localcontext
from typing import Any

from whence.rows.duck.literals import ROOM, exactly
from whence.rows.duck.types import decimal
from whence.rows.expressions import Call, Compare, Expr, IsNull, Literal, Not, conjunction
from whence.rows.questions.rows import INTEGERS
from whence.rows.tree import Tree, transform

DAY = 24 * 3600 * 1_000_000  # microseconds
# Each has one argument: the expression by which Spark replaces it.
STANDING = frozenset({"Between", "Extract", "NullIf", "Nvl", "Nvl2"})

_identity = re.compile(r"id=(CommonExpressionId\(\d+,\w+\))")
_day = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def computed(predicate: Expr) -> Expr:
    """Compute the constants in a predicate, and replace functions such as BETWEEN and nvl by their definitions.

    >>> from whence.rows import Attr, Compare
    >>> day = Call("DateAddYMInterval", (Literal(date(2024, 1, 31), "date"), Literal("1", "interval month")), "date")
    >>> print(computed(Compare("<", Attr(1, "d", "date"), day)))
    d#1 < 2024-02-29
    """
    plain: Expr = transform(predicate, _without_names)
    found: Expr = transform(plain, _simplified)
    return found


def _without_names(part: Tree) -> Tree:
    """Inline the common subexpressions by which Spark defines some functions."""
    if not isinstance(part, Call):
        return part
    if part.name in STANDING and len(part.args) == 1:
        return part.args[0]
    if part.name == "With":
        child, *defined = part.args
        values = {
            _function_name(each): each.args[0] for each in defined if isinstance(each, Call) and len(each.args) == 1
        }
        named = len(values) == len(defined) and "" not in values
        if named and all(each.deterministic for each in values.values()):
            spelled: Tree = transform(child, lambda each: values.get(_function_name(each), each))
            return spelled
    return part


def _function_name(part: Tree) -> str:
    found = _identity.search(part.detail) if isinstance(part, Call) and part.name.startswith("CommonExp") else None
    return found[1] if found else ""


def _simplified(part: Tree) -> Tree:
    if isinstance(part, Compare):
        return _whole_years(part)
    if not isinstance(part, Call) or part.name not in FOLDS or not part.deterministic:
        return part
    values = [arg.value for arg in part.args if isinstance(arg, Literal)]
    if len(values) != len(part.args):
        return part
    if None in values:  # these functions return NULL for NULL
        return Literal(None, part.dtype)
    kinds = tuple(arg.dtype for arg in part.args)
    try:
        value = FOLDS[part.name](part.dtype, kinds, *values)
    except OverflowError:  # a day outside of Python's calendar
        return part
    return part if value is None else Literal(value, part.dtype)


def _whole_years(fact: Compare) -> Expr:
    """Rewrite a comparison of a year as a comparison of days, by which DuckDB can skip row groups."""
    call, year = fact.left, fact.right
    if not isinstance(call, Call) or call.name != "Year" or not isinstance(year, Literal):
        return fact
    (day,) = call.args
    if day.dtype != "date" or type(year.value) is not int or not 1 <= year.value < 9999:
        return fact
    first, after = (Literal(date(each, 1, 1), "date") for each in (year.value, year.value + 1))
    within = conjunction(Compare(">=", day, first), Compare("<", day, after))
    ways: dict[str, Expr] = {
        "=": within,
        "<=>": conjunction(Not(IsNull(day)), within),
        "!=": Not(within),
        "<": Compare("<", day, first),
        "<=": Compare("<", day, after),
        ">": Compare(">=", day, after),
        ">=": Compare(">=", day, first),
    }
    return ways[fact.op]


def _cast_value(dtype: str, kinds: tuple[str, ...], value: object) -> object:
    (kind,) = kinds
    if kind == dtype:
        return value
    if kind in INTEGERS and dtype in INTEGERS:
        return _in_range_of_type(dtype, value)
    if kind in INTEGERS and decimal(dtype) and type(value) is int:
        return exactly(Decimal(value), dtype)
    if dtype == "double" and (kind in INTEGERS or decimal(kind)) and isinstance(value, int | Decimal):
        return float(value)  # rounded to the nearest in Java and in Python
    if dtype == "double" and kind == "string":
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(str(value))
    if decimal(kind) and isinstance(value, Decimal):
        return exactly(value, dtype)
    if kind == "string" and dtype == "date" and isinstance(value, str) and _day.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:  # an invalid day: Spark decides
            return None
    return None


def _in_range_of_type(dtype: str, value: object) -> int | None:
    if type(value) is not int or dtype not in INTEGERS:
        return None
    bits = INTEGERS[dtype]
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None


def _arithmetic_value(operation: Callable[[Any, Any], Any]) -> Callable[..., object]:
    def fold(dtype: str, kinds: tuple[str, ...], left: object, right: object) -> object:
        if type(left) is int and type(right) is int and kinds == (dtype, dtype):
            return _in_range_of_type(dtype, operation(left, right))
        if isinstance(left, Decimal) and isinstance(right, Decimal):
            with localcontext(prec=ROOM):
                return exactly(operation(left, right), dtype)
        return None

    return fold


def _negative_value(dtype: str, kinds: tuple[str, ...], value: object) -> object:
    if dtype.startswith("interval"):
        amount = _amount(value)
        return None if amount is None else str(-amount)
    if type(value) is int:
        return _in_range_of_type(dtype, -value)
    return exactly(-value, dtype) if isinstance(value, Decimal) else None


def _amount(value: object) -> int | None:
    """Months of a year-month interval, or microseconds of a day-time interval."""
    if type(value) is int:
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value, re.ASCII) else None


def _interval_days(dtype: str, kinds: tuple[str, ...], value: object) -> object:
    amount = _amount(value)
    return amount // DAY if amount is not None and kinds == ("interval day",) and amount % DAY == 0 else None


def _days(sign: int) -> Callable[..., object]:
    def fold(dtype: str, kinds: tuple[str, ...], start: object, days: object) -> object:
        if kinds[0] != "date" or not isinstance(start, date) or type(days) is not int:
            return None
        return start + timedelta(days=sign * days)

    return fold


def _months(dtype: str, kinds: tuple[str, ...], start: object, months: object) -> object:
    count = _amount(months)
    if kinds[0] != "date" or not isinstance(start, date) or count is None:
        return None
    year, month = divmod(start.year * 12 + start.month - 1 + count, 12)
    if not 1 <= year <= 9999:
        return None
    return date(year, month + 1, min(start.day, monthrange(year, month + 1)[1]))


FOLDS: dict[str, Callable[..., object]] = {
    "Cast": _cast_value,
    "Add": _arithmetic_value(operator.add),
    "Subtract": _arithmetic_value(operator.sub),
    "Multiply": _arithmetic_value(operator.mul),
    "UnaryMinus": _negative_value,
    "ExtractANSIIntervalDays": _interval_days,
    "DateAdd": _days(1),
    "DateSub": _days(-1),
    "DateAddYMInterval": _months,
    "AddMonths": _months,
}
