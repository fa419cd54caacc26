"""Evaluate a translation for given arguments as Spark does, to check the translation."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from whence.rows.expressions import And, Attr, Call, Compare, Expr, In, IsNull, Literal, Not, Or
from whence.rows.functions.refusal import Refusal
from whence.rows.functions.values import INTEGERS, microseconds


def evaluated(expr: Expr, row: Mapping[Attr, Any]) -> Any:
    """Return the value of an expression that a translation consists of; None is NULL."""
    if isinstance(expr, Attr):
        return row[expr]
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, IsNull):
        return evaluated(expr.arg, row) is None
    if isinstance(expr, Not):
        value = evaluated(expr.arg, row)
        return None if value is None else not value
    if isinstance(expr, And | Or):
        return _joined(expr, row)
    if isinstance(expr, Compare):
        return compared(expr.op, evaluated(expr.left, row), evaluated(expr.right, row))
    if isinstance(expr, In):
        value = evaluated(expr.arg, row)
        if value is None:
            return None
        others = [evaluated(each, row) for each in expr.values]
        return True if any(compared("=", value, each) for each in others) else None if None in others else False
    if isinstance(expr, Call):
        if expr.name == "CaseWhen":
            return _case(expr, row)
        if expr.name in CALLS:
            args = [evaluated(arg, row) for arg in expr.args]
            return None if any(arg is None for arg in args) else CALLS[expr.name](expr, *args)
    raise Refusal(f"no translation is made of {type(expr).__name__} {getattr(expr, 'name', '')}")


def _joined(expr: And | Or, row: Mapping[Attr, Any]) -> bool | None:
    stops: bool = isinstance(expr, Or)
    unknown = False
    for arg in expr.args:
        value = evaluated(arg, row)
        if value is stops:
            return bool(stops)
        unknown |= value is None
    return None if unknown else bool(not stops)


def _case(expr: Call, row: Mapping[Attr, Any]) -> Any:
    for place in range(0, len(expr.args) - 1, 2):
        if evaluated(expr.args[place], row) is True:
            return evaluated(expr.args[place + 1], row)
    return evaluated(expr.args[-1], row) if len(expr.args) % 2 else None


def compared(op: str, left: Any, right: Any) -> bool | None:
    """Compare as Spark does: NaN equals itself and is greater than all numbers."""
    if op == "<=>":
        return left is right if left is None or right is None else compared("=", left, right)
    if left is None or right is None:
        return None
    a, b = _key(left), _key(right)
    results = {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return bool(results[op])


def _key(value: Any) -> tuple[int, Any]:
    if isinstance(value, float) and math.isnan(value):
        return (1, 0)
    return (0, value.encode() if isinstance(value, str) else value)


def _wrapped(expr: Call, value: Any) -> Any:
    """Check the range of a result; integers of translations never overflow."""
    if expr.dtype in INTEGERS:
        bits = INTEGERS[expr.dtype]
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise Refusal("a translation overflows")
    return value


def _arithmetic(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def make(expr: Call, a: Any, b: Any) -> Any:
        if expr.dtype.startswith("decimal"):
            return Decimal(op(int(a), int(b)))
        return _wrapped(expr, op(a, b))

    return make


def _divide(expr: Call, a: float, b: float) -> float | None:
    return None if b == 0 else a / b


def _truncated(a: int, b: int) -> int:
    return -(-a // b) if a < 0 else a // b


def _cast(expr: Call, value: Any) -> Any:
    dtype, source = expr.dtype, expr.args[0].dtype
    if dtype == "string":
        return str(value)
    if dtype in INTEGERS:
        return _to_integer(expr, value, source)
    if dtype == "double":
        if source == "string":
            return float(value) if re.fullmatch(r"[+-]?\d+(\.\d+)?", value, re.ASCII) else None
        return float(value)
    if dtype == "float":
        import numpy as np

        with np.errstate(over="ignore"):
            return float(np.float32(value))
    return Decimal(value)


def _to_integer(expr: Call, value: Any, source: str) -> int | None:
    bits = INTEGERS[expr.dtype]
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    if source == "string":
        if not re.fullmatch(r"[+-]?\d+", value, re.ASCII):
            return None
        number = int(value)
        return number if low <= number <= high else None
    if isinstance(value, float):
        return 0 if math.isnan(value) else high if value >= high else low if value <= low else int(value)
    return int(value) if low <= value <= high else None


def _substring(expr: Call, text: str, start: int, length: int) -> str:
    return text[start - 1 : start - 1 + length]


def _trimmed(left: bool, right: bool) -> Callable[..., str]:
    def make(expr: Call, text: str, characters: str) -> str:
        text = text.lstrip(characters) if left else text
        return text.rstrip(characters) if right else text

    return make


def _translated(expr: Call, text: str, old: str, new: str) -> str:
    return text.translate({ord(a): new[i] if i < len(new) else None for i, a in reversed(list(enumerate(old)))})


def _part(expr: Call, text: str, by: str, place: int) -> str:
    parts = text.split(by)
    index = place - 1 if place > 0 else len(parts) + place
    return parts[index] if 0 <= index < len(parts) else ""


def _pad(left: bool) -> Callable[..., str]:
    def make(expr: Call, text: str, width: int, fill: str) -> str:
        rest = fill * max(0, width - len(text))
        return ((rest + text) if left else (text + rest))[:width]

    return make


def _search(expr: Call, text: str, pattern: str) -> bool:
    python = re.sub(r"\\x\{([0-9a-f]+)\}", lambda m: f"\\U{int(m[1], 16):08x}", pattern).replace(r"\z", r"\Z")
    return re.search(python, text) is not None


def _clock(micros: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(microseconds=micros)


CALLS: dict[str, Callable[..., Any]] = {
    "Add": _arithmetic(lambda a, b: a + b),
    "Subtract": _arithmetic(lambda a, b: a - b),
    "Multiply": _arithmetic(lambda a, b: a * b),
    "Divide": _divide,
    "Remainder": _arithmetic(lambda a, b: a - b * _truncated(a, b)),
    "IntegralDivide": _arithmetic(_truncated),
    "UnaryMinus": lambda expr, a: _wrapped(expr, -a),
    "Abs": lambda expr, a: _wrapped(expr, abs(a)),
    "Rint": lambda expr, a: math.copysign(float(round(a)), a) if math.isfinite(a) else a,
    "IsNaN": lambda expr, a: math.isnan(a),
    "Cast": _cast,
    "Length": lambda expr, a: len(a),
    "OctetLength": lambda expr, a: len(a.encode()),
    "Lower": lambda expr, a: a.lower(),
    "Upper": lambda expr, a: a.upper(),
    "Concat": lambda expr, *args: "".join(args),
    "Contains": lambda expr, a, b: b in a,
    "StartsWith": lambda expr, a, b: a.startswith(b),
    "EndsWith": lambda expr, a, b: a.endswith(b),
    "Substring": _substring,
    "Left": lambda expr, a, n: a[:n] if n > 0 else "",
    "Right": lambda expr, a, n: a[-n:] if n > 0 else "",
    "StringTrim": _trimmed(True, True),
    "StringTrimLeft": _trimmed(True, False),
    "StringTrimRight": _trimmed(False, True),
    "StringReplace": lambda expr, a, old, new: a.replace(old, new),
    "StringTranslate": _translated,
    "StringInstr": lambda expr, a, b: a.find(b) + 1,
    "SplitPart": _part,
    "StringLPad": _pad(True),
    "StringRPad": _pad(False),
    "RLike": _search,
    "UnixMicros": lambda expr, a: microseconds(a),
    "ClockDate": lambda expr, a: _clock(a).date(),
    "ClockPart": lambda expr, a: getattr(_clock(a), expr.detail),
    "Year": lambda expr, a: a.year,
    "Month": lambda expr, a: a.month,
    "DayOfMonth": lambda expr, a: a.day,
    "WeekDay": lambda expr, a: a.weekday(),
    "DateDiff": lambda expr, a, b: (a - b).days,
}

__all__ = ["CALLS", "compared", "date", "evaluated"]
