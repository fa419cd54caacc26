"""Functions that give the same value in both engines for every argument, one entry each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from whence.rows.asking import INTEGERS
from whence.rows.duck.literals import quoted
from whence.rows.duck.types import DIGITS, decimal, duckdb_type
from whence.rows.expressions import Call, Expr, Literal

Of: TypeAlias = Callable[[Expr], str]  # the SQL of an argument
Made: TypeAlias = Callable[[Call, Of], str | None]  # the SQL of a call; None where it is not the same


def _cast(call: Call, of: Of) -> str | None:
    """Only where every value of one type is one of the other."""
    (arg,) = call.args
    return f"CAST({of(arg)} AS {duckdb_type(call.dtype)})" if _widens(arg.dtype, call.dtype) else None


def _widens(old: str, new: str) -> bool:
    if old == new:
        return True
    if old in INTEGERS and new in INTEGERS:
        return INTEGERS[old] < INTEGERS[new]
    before, after = decimal(old), decimal(new)
    if before is None and old in DIGITS:
        before = (DIGITS[old], 0)
    if before and after:
        return after[0] - after[1] >= before[0] - before[1] and after[1] >= before[1]
    return False


def _like(call: Call, of: Of) -> str | None:
    text, pattern = call.args
    escape = call.detail.removeprefix("escapeChar=")
    if text.dtype != "string" or len(escape) != 1 or not isinstance(pattern, Literal):
        return None
    if not isinstance(pattern.value, str) or escape in pattern.value:
        return None
    said = quoted(pattern.value)
    return None if said is None else f"({of(text)} LIKE {said})"


def _search(function: str) -> Made:
    def make(call: Call, of: Of) -> str | None:
        text, part = call.args
        if text.dtype != "string" or part.dtype != "string":
            return None
        return f"{function}({of(text)}, {of(part)})"

    return make


def _substring(call: Call, of: Of) -> str | None:
    text, *places = call.args
    numbers = [each.value for each in places if isinstance(each, Literal) and type(each.value) is int]
    start, length = (1, *numbers) if call.name == "Left" else (*numbers, None, None)[:2]
    if text.dtype != "string" or type(start) is not int or type(length) is not int or start < 1 or length < 0:
        return None
    return f"substring({of(text)}, {start}, {length})"


CALLS: dict[str, Made] = {
    "Cast": _cast,
    "Like": _like,
    "StartsWith": _search("starts_with"),
    "EndsWith": _search("ends_with"),
    "Contains": _search("contains"),
    "Substring": _substring,
    "Left": _substring,
}
