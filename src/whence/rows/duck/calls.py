"""Functions that return the same value in both engines for every argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from whence.rows.duck.literals import quoted
from whence.rows.duck.types import DIGITS, FLOATS, WIDEST, decimal, duckdb_type
from whence.rows.expressions import Call, Expr, Literal
from whence.rows.questions.rows import INTEGERS

Of: TypeAlias = Callable[[Expr], str]  # the SQL of an argument
Size: TypeAlias = tuple[int, int]  # precision and scale
Made: TypeAlias = Callable[[Call, Of], str | None]  # the SQL of a call; None if it may differ


def _cast_sql(call: Call, of: Of) -> str | None:
    """Translate only casts to a type that has every value of the old one, or, for a double, the nearest value."""
    (arg,) = call.args
    return f"CAST({of(arg)} AS {duckdb_type(call.dtype)})" if _widens(arg.dtype, call.dtype) else None


def _widens(old: str, new: str) -> bool:
    if old == new:
        return True
    if old in INTEGERS and new in INTEGERS:
        return INTEGERS[old] < INTEGERS[new]
    if new == "double":
        return old in INTEGERS or old == "float"
    before, after = decimal(old), decimal(new)
    if before is None and old in DIGITS:
        before = (DIGITS[old], 0)
    if before and after:
        return after[0] - after[1] >= before[0] - before[1] and after[1] >= before[1]
    return False


def _like_sql(call: Call, of: Of) -> str | None:
    text, pattern = call.args
    escape = call.detail.removeprefix("escapeChar=")
    if text.dtype != "string" or len(escape) != 1 or not isinstance(pattern, Literal):
        return None
    if not isinstance(pattern.value, str) or escape in pattern.value:
        return None
    said = quoted(pattern.value)
    return None if said is None else f"({of(text)} LIKE {said})"


def _text_search(function: str) -> Made:
    def make(call: Call, of: Of) -> str | None:
        text, part = call.args
        if text.dtype != "string" or part.dtype != "string":
            return None
        return f"{function}({of(text)}, {of(part)})"

    return make


def _substring(call: Call, of: Of) -> str | None:
    text, *places = call.args
    numbers = [each.value for each in places if isinstance(each, Literal) and type(each.value) is int]
    start, length = (*((1,) if call.name == "Left" else ()), *numbers, None, None)[:2]
    if text.dtype != "string" or type(start) is not int or type(length) is not int or start < 1 or length < 0:
        return None
    return f"substring({of(text)}, {start}, {length})"


def _concat(call: Call, of: Of) -> str | None:
    if not call.args or any(arg.dtype != "string" for arg in call.args):
        return None
    return "(" + " || ".join(map(of, call.args)) + ")"


def _length_sql(call: Call, of: Of) -> str | None:
    """The number of characters; both engines count code points."""
    (text,) = call.args
    return f"CAST(length({of(text)}) AS INTEGER)" if text.dtype == "string" else None


def _part_of_date(function: str) -> Made:
    def make(call: Call, of: Of) -> str | None:
        (day,) = call.args
        if day.dtype != "date":
            return None
        said = of(day)  # DuckDB treats the first and the last day as infinite
        return f"CASE WHEN isinf({said}) THEN {_refusal('infinite')} ELSE CAST({function}({said}) AS INTEGER) END"

    return make


def _refusal(what: str) -> str:
    """An expression that raises an error in the query, so that Spark is asked instead."""
    return f"CAST(error('{what}') AS INTEGER)"


def _coalesce(call: Call, of: Of) -> str | None:
    return f"coalesce({', '.join(map(of, call.args))})" if _of_one_type(call, call.args) else None


def _if(call: Call, of: Of) -> str | None:
    condition, then, otherwise = call.args
    if condition.dtype != "boolean" or not _of_one_type(call, (then, otherwise)):
        return None
    return f"CASE WHEN {of(condition)} THEN {of(then)} ELSE {of(otherwise)} END"


def _case_sql(call: Call, of: Of) -> str | None:
    pairs, otherwise = list(zip(call.args[::2], call.args[1::2], strict=False)), call.args[len(call.args) // 2 * 2 :]
    if any(condition.dtype != "boolean" for condition, _ in pairs):
        return None
    if not pairs or not _of_one_type(call, (*(value for _, value in pairs), *otherwise)):
        return None
    whens = " ".join(f"WHEN {of(condition)} THEN {of(value)}" for condition, value in pairs)
    return f"CASE {whens} ELSE {of(otherwise[0]) if otherwise else 'NULL'} END"


def _null_if(call: Call, of: Of) -> str | None:
    condition, value = call.args
    if condition.dtype != "boolean" or not _of_one_type(call, (value,)):
        return None
    return f"CASE WHEN {of(condition)} THEN NULL ELSE {of(value)} END"


def _of_one_type(call: Call, args: tuple[Expr, ...]) -> bool:
    return bool(args) and all(arg.dtype == call.dtype for arg in args)


def _is_nan(call: Call, of: Of) -> str | None:
    (arg,) = call.args
    return f"({of(arg)} IS NOT NULL AND isnan({of(arg)}))" if arg.dtype in FLOATS else None


def _arithmetic_sql(sign: str) -> Made:
    """Arithmetic of integers and decimals.

    Floats are refused, because DuckDB rewrites `-x >= 5` as `x <= -5`, which differs for NaN.
    """

    def make(call: Call, of: Of) -> str | None:
        left, right = call.args
        if call.dtype in INTEGERS and _of_one_type(call, call.args):
            wide = _wider(call.dtype)
            return _checked_range(f"CAST({of(left)} AS {wide}) {sign} CAST({of(right)} AS {wide})", call.dtype)
        if _is_not_rounded(sign, decimal(left.dtype), decimal(right.dtype), decimal(call.dtype)):
            kind = duckdb_type(call.dtype)
            # DuckDB's type of a product has the digits of both; that of a sum has those of the wider one, which may not
            # suffice.
            sides = [of(each) if sign == "*" else f"CAST({of(each)} AS {kind})" for each in call.args]
            return f"CAST({sides[0]} {sign} {sides[1]} AS {kind})"
        return None

    return make


def _negative_sql(call: Call, of: Of) -> str | None:
    (arg,) = call.args
    if call.dtype in INTEGERS and arg.dtype == call.dtype:
        return _checked_range(f"-CAST({of(arg)} AS {_wider(call.dtype)})", call.dtype)
    return f"(-{of(arg)})" if decimal(arg.dtype) and arg.dtype == call.dtype else None


def _wider(dtype: str) -> str:
    """A type in which a product of two values fits."""
    return "HUGEINT" if dtype == "long" else "BIGINT"


def _checked_range(made: str, dtype: str) -> str:
    """Narrow a result that was computed in a wider type. An overflow raises an error, because Spark's modes differ."""
    bits = INTEGERS[dtype]
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    inside = f"({made}) BETWEEN CAST('{low}' AS HUGEINT) AND CAST('{high}' AS HUGEINT)"
    return f"CASE WHEN NOT ({inside}) THEN {_refusal('overflow')} ELSE CAST({made} AS {duckdb_type(dtype)}) END"


def _is_not_rounded(sign: str, left: Size | None, right: Size | None, result: Size | None) -> bool:
    """Whether the result type has all digits after the point, so that nothing is rounded."""
    if left is None or right is None or result is None:
        return False
    if sign == "*":
        digits, scale = left[0] + right[0] + 1, left[1] + right[1]
    else:
        scale = max(left[1], right[1])
        digits = max(left[0] - left[1], right[0] - right[1]) + scale + 1
    return result == (min(digits, WIDEST), scale)  # DuckDB raises an error if a value has more digits


def _divide(call: Call, of: Of) -> str | None:
    """Divide decimals, rounded half up; computed with integers.

    Spark rounds to 38 digits after the point before it rounds to the scale of the result. This gives the same, unless
    the divisor is so large that a quotient can be that close to the middle.
    """
    left, right = call.args
    before, by, result = decimal(left.dtype), decimal(right.dtype), decimal(call.dtype)
    if not before or not by or not result or not 0 <= (shift := result[1] - before[1] + by[1]) <= WIDEST:
        return None
    kind = duckdb_type(call.dtype)
    one, other = whole(of(left), before[1]), whole(of(right), by[1])
    most = WIDEST - 1 - result[1]
    rounded = f"(2 * abs({one}) * CAST('1{'0' * shift}' AS HUGEINT) + abs({other})) // (2 * abs({other}))"
    refused = f"{other} = 0 OR abs({other}) >= CAST('1{'0' * most}' AS HUGEINT)"
    made = scaled(f"sign({one}) * sign({other}) * ({rounded})", result[1], str(kind))
    return f"CASE WHEN {refused} THEN CAST(error('division') AS {kind}) ELSE {made} END"


def whole(value: str, scale: int, integer: str = "HUGEINT") -> str:
    """A decimal as an integer, in units of its last digit."""
    return f"CAST({value} * CAST('1{'0' * scale}' AS DECIMAL({scale + 1},0)) AS {integer})"


def scaled(units: str, scale: int, kind: str, digits: int = WIDEST) -> str:
    """The decimal with this number of units in its last digit."""
    unit = f"CAST('{'0.' + '0' * (scale - 1) + '1' if scale else '1'}' AS DECIMAL({scale + 1},{scale}))"
    return f"CAST(CAST({units} AS DECIMAL({digits},0)) * {unit} AS {kind})"


def _remainder(call: Call, of: Of) -> str | None:
    """The remainder of a division by a positive constant; other divisors may cause errors and overflows."""
    left, right = call.args
    if call.dtype not in INTEGERS or not _of_one_type(call, call.args) or not isinstance(right, Literal):
        return None
    return f"({of(left)} % {of(right)})" if type(right.value) is int and right.value > 0 else None


CALLS: dict[str, Made] = {
    "Add": _arithmetic_sql("+"),
    "CaseWhen": _case_sql,
    "Cast": _cast_sql,
    "Coalesce": _coalesce,
    "Concat": _concat,
    "Contains": _text_search("contains"),
    "DayOfMonth": _part_of_date("day"),
    "Divide": _divide,
    "EndsWith": _text_search("ends_with"),
    "If": _if,
    "IsNaN": _is_nan,
    "Left": _substring,
    "Length": _length_sql,
    "Like": _like_sql,
    "Month": _part_of_date("month"),
    "Multiply": _arithmetic_sql("*"),
    "NullIfResult": _null_if,
    "Quarter": _part_of_date("quarter"),
    "Remainder": _remainder,
    "StartsWith": _text_search("starts_with"),
    "Substring": _substring,
    "Subtract": _arithmetic_sql("-"),
    "UnaryMinus": _negative_sql,
    "Year": _part_of_date("year"),
    "coalesce": _coalesce,  # whence's own function
    "if": _if,
}
