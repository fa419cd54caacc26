"""SQL for functions in translations of Python functions, in addition to functions in Spark's plans.

Each gives the same result in both engines, for the arguments that translations pass. Calls that were read from a Spark
plan are not translated this way, because they may have other arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from whence.rows.duck.literals import quoted
from whence.rows.duck.types import decimal, duckdb_type
from whence.rows.expressions import Call, Expr, Literal
from whence.rows.questions.rows import INTEGERS

Of: TypeAlias = Callable[[Expr], str]
Made: TypeAlias = Callable[[Call, Of], str | None]
NUMBER = r"[ \t\n]*[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?[ \t\n]*"  # strings that are numbers in both engines


def python_sql(call: Call, of: Of) -> str | None:
    """The SQL of a call in a translation; None if it is not one of these."""
    made = CALLS.get(call.name)
    return None if made is None or call.origin is not None else made(call, of)


def _refused(dtype: str, what: str) -> str:
    return f"CAST(error('{what}') AS {duckdb_type(dtype)})"


def _same_function(function: str, *constants: int) -> Made:
    """A function with the same name and arguments; the arguments at `constants` must be literals."""

    def make(call: Call, of: Of) -> str | None:
        if call.args[0].dtype != "string" or any(not isinstance(call.args[place], Literal) for place in constants):
            return None
        return f"CAST({function}({', '.join(map(of, call.args))}) AS {duckdb_type(call.dtype)})"

    return make


def _case(function: str) -> Made:
    """Refuse strings beyond ASCII, for which the engines differ in upper and lower case."""

    def make(call: Call, of: Of) -> str | None:
        (text,) = call.args
        said = of(text)
        other = f"strlen({said}) <> length({said})"
        return f"CASE WHEN {other} THEN {_refused('string', 'letters')} ELSE {function}({said}) END"

    return make


def _left(call: Call, of: Of) -> str | None:
    text, count = call.args
    return f"substring({of(text)}, 1, greatest({of(count)}, 0))"


def _matches(call: Call, of: Of) -> str | None:
    text, pattern = call.args
    if call.detail != "portable" or not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        return None
    said = quoted(pattern.value)
    return None if said is None else f"regexp_matches({of(text)}, {said})"


def _weekday(call: Call, of: Of) -> str | None:
    (day,) = call.args
    said = of(day)
    number = f"CAST(isodow({said}) - 1 AS INTEGER)"
    return f"CASE WHEN isinf({said}) THEN {_refused('integer', 'infinite')} ELSE {number} END"


def _days(call: Call, of: Of) -> str | None:
    one, other = map(of, call.args)
    number = f"CAST(datediff('day', {other}, {one}) AS INTEGER)"
    return f"CASE WHEN isinf({one}) OR isinf({other}) THEN {_refused('integer', 'infinite')} ELSE {number} END"


def _integral(call: Call, of: Of) -> str | None:
    left, right = call.args
    if not isinstance(right, Literal) or not isinstance(right.value, int) or right.value <= 0 or call.dtype != "long":
        return None
    return f"({of(left)} // {of(right)})"


def _cast(call: Call, of: Of) -> str | None:
    (arg,) = call.args
    said = of(arg)
    whole = arg.dtype in INTEGERS or (decimal(arg.dtype) or (0, 1))[1] == 0
    if whole and call.dtype in INTEGERS and "TRY" in call.detail:
        return f"TRY_CAST({said} AS {duckdb_type(call.dtype)})"
    if whole and call.dtype == "string":
        return f"CAST({said} AS VARCHAR)"
    if arg.dtype == "date" and call.dtype == "string":
        years = f"isinf({said}) OR year({said}) NOT BETWEEN 1 AND 9999"
        return f"CASE WHEN {years} THEN {_refused('string', 'year')} ELSE CAST({said} AS VARCHAR) END"
    if arg.dtype == "string" and call.dtype in ("long", "double"):
        pattern = NUMBER if call.dtype == "double" else NUMBER.replace(r"(?:\.[0-9]{1,15})?", "")
        number = f"CAST({said} AS {duckdb_type(call.dtype)})"
        return (
            f"CASE WHEN regexp_full_match({said}, '{pattern}') THEN {number} ELSE {_refused(call.dtype, 'number')} END"
        )
    if arg.dtype == "double" and call.dtype == "long":
        return f"CAST(trunc({said}) AS BIGINT)"
    return None


def _micros(call: Call, of: Of) -> str | None:
    (stamp,) = call.args
    said = of(stamp)
    return f"CASE WHEN isinf({said}) THEN {_refused('long', 'infinite')} ELSE epoch_us({said}) END"


def _clock(call: Call, of: Of) -> str | None:
    """A date or a part of a time, from microseconds since 1970 in UTC."""
    (micros,) = call.args
    stamp = f"make_timestamp({of(micros)})"
    if call.dtype == "date":
        return f"CAST({stamp} AS DATE)"
    return f"CAST({call.detail}({stamp}) AS BIGINT)" + (" % 1000000" if call.detail == "microsecond" else "")


CALLS: dict[str, Made] = {
    "Cast": _cast,
    "ClockDate": _clock,
    "ClockPart": _clock,
    "DateDiff": _days,
    "IntegralDivide": _integral,
    "Left": _left,
    "Lower": _case("lower"),
    "OctetLength": _same_function("strlen"),
    "RLike": _matches,
    "Right": _same_function("right", 1),
    "SplitPart": _same_function("split_part", 1, 2),
    "StringInstr": _same_function("instr", 1),
    "StringLPad": _same_function("lpad", 1, 2),
    "StringRPad": _same_function("rpad", 1, 2),
    "StringReplace": _same_function("replace", 1, 2),
    "StringTranslate": _same_function("translate", 1, 2),
    "StringTrim": _same_function("trim", 1),
    "StringTrimLeft": _same_function("ltrim", 1),
    "StringTrimRight": _same_function("rtrim", 1),
    "UnixMicros": _micros,
    "Upper": _case("upper"),
    "WeekDay": _weekday,
}
