"""Compare a function with its translation, on values that its own conditions suggest."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from whence.rows.expressions import Attr, Expr, Literal
from whence.rows.functions.evaluating import evaluated
from whence.rows.functions.refusal import Refusal
from whence.rows.functions.values import INTEGERS
from whence.rows.tree import walk

MOST = 400  # rows of arguments
SECONDS = 1.0
EACH = 40  # values of one argument
TEXTS = ("", "a", "A b", " x ", "é", "ẞ\u0130", "0", "-7", "3.5", "abc def", "x,y,z", "a_b", "\u00a0", "nan", "12345")
FLOATS = (0.0, -0.0, 1.0, -1.5, 2.5, 0.1, 1e300, -1e300, math.inf, -math.inf, math.nan, 1e-300, 9007199254740993.0)
DAYS = (
    date(1970, 1, 1),
    date(2024, 2, 29),
    date(1, 1, 1),
    date(9999, 12, 31),
    *(date(2023, month, 30 - month) for month in range(1, 13)),  # these include all days of the week
)


def disagreement(
    function: Any, parameters: tuple[Attr, ...], value: Expr, domain: Expr, returns: str, travels: str
) -> str | None:
    """Describe arguments for which the two differ; None if none are found."""
    until = time.monotonic() + SECONDS
    for row in suggested(parameters, value, domain):
        if time.monotonic() > until:
            break
        known = dict(zip(parameters, row, strict=True))
        try:
            if evaluated(domain, known) is False:
                continue
        except Refusal as refusal:
            return f"{row!r}: {refusal.why}"
        try:
            wanted = as_spark(function(*_arrived(row, parameters, travels)), returns, travels)
        except Exception:  # noqa: S112  # where it raises an error, its translation may say anything
            continue
        try:
            made = evaluated(value, known)
        except Refusal as refusal:
            return f"{row!r}: {refusal.why}"
        if not same(wanted, made):
            return f"{row!r}: {wanted!r} and not {made!r}"
    return None


def suggested(parameters: tuple[Attr, ...], value: Expr, domain: Expr) -> Iterator[tuple[Any, ...]]:
    """Yield rows of arguments for a translation: edge cases, NULL, and the constants in its conditions."""
    constants = [each.value for tree in (value, domain) for each in walk(tree) if isinstance(each, Literal)]
    return itertools.islice(_rows([_values(each.dtype, constants) for each in parameters]), MOST)


class _Fails(Exception):
    """Spark raises an error for the returned value."""


def _arrived(row: tuple[Any, ...], parameters: tuple[Attr, ...], travels: str) -> tuple[Any, ...]:
    """The arguments as Spark passes them to the function."""
    if travels != "pandas":
        return row
    pairs = zip(row, parameters, strict=True)
    return tuple(math.nan if value is None and each.dtype == "double" else value for value, each in pairs)


def as_spark(value: Any, returns: str, travels: str) -> Any:
    """Convert a returned value as Spark does."""
    pickled = travels == "pickle"
    if value is None or (travels == "pandas" and returns == "double" and value != value):
        return None
    if returns in INTEGERS and type(value) is int:
        bits = INTEGERS[returns]
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return value
        if pickled and returns == "long":
            return None
        raise _Fails
    if returns in INTEGERS and type(value) is float and travels == "arrow":
        if not math.isfinite(value) or not -(1 << INTEGERS[returns] - 1) <= int(value) < 1 << INTEGERS[returns] - 1:
            raise _Fails
        return int(value)
    if returns == "double" and type(value) is int and not pickled:
        if abs(value) > 1 << 53:
            raise _Fails
        return float(value)
    if returns == "float" and type(value) is float:
        import numpy as np

        with np.errstate(over="ignore"):
            return float(np.float32(value))
    shown = type(value) in (int, bool) or (type(value) is date and not pickled)
    if returns == "string" and shown and travels != "pandas":
        return str(value).lower() if type(value) is bool else str(value)
    wanted = {"string": str, "boolean": bool, "double": float, "date": date}.get(returns)
    if type(value) is wanted:
        return value
    if pickled and returns not in ("string", "date") and type(value) in (int, float, str, bool, date):
        return None
    return f"a {type(value).__name__} returned as {returns}"


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same: NaN is NaN, but 1 is not True."""
    if one is None or other is None:
        return one is other
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other
    return type(one) is type(other) and bool(one == other)


def _rows(columns: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """First pair values of all columns, then every value with the first values of the others, then all combinations."""
    if not columns:
        yield ()
        return
    for place in range(max(map(len, columns))):
        yield tuple(column[place % len(column)] for column in columns)
    for place, column in enumerate(columns):
        for value in column:
            for back in (0, 1):
                yield tuple(
                    value if at == place else other[min(back, len(other) - 1)] for at, other in enumerate(columns)
                )
    yield from itertools.product(*columns)


def _values(dtype: str, constants: list[object]) -> list[Any]:
    """Values for a column: edge cases, constants in the conditions and their neighbours, and None."""
    found: list[Any] = []
    if dtype in INTEGERS:
        bits = INTEGERS[dtype]
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        for each in constants:
            if isinstance(each, int | float | Decimal) and math.isfinite(each):
                found += [int(each) + step for step in (0, 1, -1)]
        found += [0, 1, -1, 2, 7, -7, 10, 100, low, high, (1 << 53) + 1, -(1 << 53) - 1]
        found = [each for each in found if low <= each <= high]
    elif dtype in ("double", "float"):
        for each in constants:
            if isinstance(each, int | float | Decimal) and math.isfinite(each):
                near = float(each)
                found += [near, math.nextafter(near, math.inf), math.nextafter(near, -math.inf), near + 0.5]
        found += FLOATS
        if dtype == "float":
            import numpy as np

            with np.errstate(over="ignore"):
                found = [float(np.float32(each)) for each in found]
    elif dtype == "string":
        for each in constants:
            if isinstance(each, str) and len(each) < 200:
                found += [each, each.upper(), each.lower(), f" {each} ", each[:-1], f"{each}x", f"x{each}"]
            elif type(each) is int and 0 <= each < 50:
                found += ["abcdefghijk"[:each], "1" * each]
        found += TEXTS
    elif dtype == "boolean":
        found = [True, False]
    elif dtype == "date":
        for each in constants:
            if isinstance(each, date):
                found += [each + timedelta(days=step) for step in (0, 1, -1) if date.min < each < date.max]
        found += DAYS
    elif dtype in ("timestamp", "timestamp_ntz"):
        for each in constants:
            if type(each) is int and -(1 << 55) < each < 1 << 57:  # in the range of Python's years
                found += [datetime(1970, 1, 1) + timedelta(microseconds=each + step) for step in (0, 1, -1)]
        found += [datetime(*day.timetuple()[:3], 23, 59, 58, 999_999) for day in DAYS]
        found += [datetime(1969, 12, 31, 5, 6, 7, 8), datetime(1970, 1, 1), datetime(2024, 2, 29, 12)]
    distinct = {(type(each), repr(each)): each for each in found}
    return [*_spread(list(distinct.values())), None]


def _spread(values: list[Any]) -> list[Any]:
    """Choose EACH values, spread evenly over the list."""
    if len(values) <= EACH:
        return values
    step = len(values) / EACH
    return [values[int(place * step)] for place in range(EACH)]
