"""Functions of a row's values, with Catalyst's names and Spark's results, as far as tests need them."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

INTEGERS = ("byte", "short", "integer", "long")


def same(a: Any, b: Any) -> bool:
    """Equality in which NULL equals NULL and NaN equals NaN."""
    if a is None or b is None:
        return a is b
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return bool(a == b)


def less(a: Any, b: Any) -> bool:
    """Spark's order: NaN is greater than all numbers."""
    if isinstance(a, float) and math.isnan(a):
        return False
    if isinstance(b, float) and math.isnan(b):
        return True
    return bool(a < b)


def compared(op: str, a: Any, b: Any) -> bool | None:
    """A comparison in three-valued logic."""
    if op == "<=>":
        return same(a, b)
    if a is None or b is None:
        return None
    return {
        "=": same(a, b),
        "!=": not same(a, b),
        "<": less(a, b),
        ">": less(b, a),
        "<=": not less(b, a),
        ">=": not less(a, b),
    }[op]


def cast(value: Any, dtype: str) -> Any:
    """Convert a value to another type."""
    if value is None:
        return None
    if dtype in INTEGERS:
        return int(value)
    if dtype in ("float", "double"):
        return float(value)
    if dtype.startswith("decimal"):
        scale = int(dtype.split(",")[1].rstrip(") "))
        with localcontext() as context:
            context.prec = 60
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
    if dtype == "boolean":
        return bool(value)
    if dtype == "date":
        if isinstance(value, datetime):
            return value.date()
        return value if isinstance(value, date) else date.fromisoformat(str(value).strip())
    if dtype.startswith("string"):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if dtype == "timestamp" or dtype == "timestamp_ntz":
        return value
    raise NotImplementedError(f"a cast to {dtype}")


def divided(a: Any, b: Any) -> Any:
    """Return a quotient; NULL for a division by zero, which only `try_divide` allows."""
    if b == 0:
        return None
    with localcontext() as context:
        context.prec = 60
        return a / b


def like(text: str, pattern: str) -> bool:
    """SQL's LIKE without an escape."""
    parts = ("." if each == "_" else ".*" if each == "%" else re.escape(each) for each in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def substring(text: str, start: int, length: int = 1 << 30) -> str:
    """Return the part from a position, which counts from 1, or from the end if it is negative."""
    first = start - 1 if start > 0 else max(len(text) + start, 0) if start < 0 else 0
    return text[first : first + length]


def _months_later(day: date, months: int) -> date:
    """The same day of another month, or the last day of a shorter month."""
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _remainder(a: Any, b: Any) -> Any:
    return None if b == 0 else int(math.fmod(a, b)) if isinstance(a, int) else math.fmod(a, b)


STRICT: dict[str, Callable[..., Any]] = {  # NULL if an argument is NULL
    "Abs": abs,
    "Add": lambda a, b: a + b,
    "ArrayMax": lambda a: max(a, default=None),
    "Concat": lambda *parts: "".join(parts),
    "Contains": lambda a, b: b in a,
    "CommonExpressionDef": lambda a: a,
    "DateAddYMInterval": lambda a, months: _months_later(a, int(months)),
    "ExtractANSIIntervalDays": lambda a: int(a) // 86_400_000_000,
    "DateAdd": lambda a, b: a + timedelta(days=b),
    "DateSub": lambda a, b: a - timedelta(days=b),
    "DayOfMonth": lambda a: a.day,
    "Divide": divided,
    "EndsWith": lambda a, b: a.endswith(b),
    "Floor": math.floor,
    "IsNaN": lambda a: isinstance(a, float) and math.isnan(a),
    "Length": len,
    "Like": like,
    "Lower": str.lower,
    "MapKeys": list,
    "Month": lambda a: a.month,
    "Multiply": lambda a, b: a * b,
    "Pmod": lambda a, b: a % b,
    "Remainder": _remainder,
    "ShiftLeft": lambda a, b: a << b,
    "ShiftRight": lambda a, b: a >> b,
    "Size": len,
    "StartsWith": lambda a, b: a.startswith(b),
    "StringTrim": str.strip,
    "Substring": substring,
    "Subtract": lambda a, b: a - b,
    "UnaryMinus": lambda a: -a,
    "UnaryPositive": lambda a: a,
    "Upper": str.upper,
    "Year": lambda a: a.year,
    "negative": lambda a: -a,
}


USERS: dict[str, Callable[..., Any]] = {}
"""Python functions that are not translated, by name. Tests add those that their plans call."""

# Expressions that Spark replaces by their argument, and generators of lists.
PASSING = frozenset({"Between", "Explode", "IfNull", "NullIf", "Nvl", "Nvl2", "PosExplode"})


def applied(name: str, args: list[Any], dtype: str) -> Any:
    """Apply a function to values; NULL is None."""
    if name == "Cast":
        return cast(args[0], dtype)
    if name == "CreateArray":
        return list(args)
    if name == "CreateMap":
        return dict(zip(args[::2], args[1::2], strict=True))
    if name == "GetMapValue":
        return None if args[0] is None else args[0].get(args[1])
    if name == "IsNaN":
        return isinstance(args[0], float) and math.isnan(args[0])
    if name in ("GetArrayItem", "ElementAt"):
        array, at = args
        at = at if name == "GetArrayItem" else at - 1
        return None if array is None or at is None or not 0 <= at < len(array) else array[at]
    if name in PASSING:
        return args[0]
    if name in ("Greatest", "Least"):
        there = [each for each in args if each is not None]
        best = there[0] if there else None
        for each in there[1:]:
            best = each if less(*((best, each) if name == "Greatest" else (each, best))) else best
        return best
    if name not in STRICT:
        raise NotImplementedError(f"the function {name}")
    if any(each is None for each in args):
        return None
    value = STRICT[name](*args)
    if dtype.startswith("decimal") and value is not None:
        return cast(value, dtype)
    return float(value) if dtype == "double" and isinstance(value, int) else value
