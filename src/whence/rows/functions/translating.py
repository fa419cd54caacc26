"""Translate a Python function into an expression over its arguments."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from whence.rows.expressions import TRUE, Attr, Call, Compare, Expr, Inside, IsNull, Literal, Or, conjuncts, fresh
from whence.rows.functions.alternatives import none_or
from whence.rows.functions.checking import disagreement
from whence.rows.functions.looking import Findings, returned
from whence.rows.functions.numbers import TRY, is_nan, truncated
from whence.rows.functions.parts import CLOCK
from whence.rows.functions.refusal import LARGEST, Refusal
from whence.rows.functions.texts import written
from whence.rows.functions.values import (
    INTEGERS,
    Bool,
    Date,
    Float,
    Int,
    Item,
    Other,
    Stamp,
    Str,
    Value,
    as_type,
    both,
    case,
    const,
    either,
    is_none,
    lifted,
    long,
    microseconds,
    only,
    text,
)
from whence.rows.tree import walk

NARROW = frozenset({*INTEGERS, "float"})
PLAIN = frozenset({*INTEGERS, "float", "double", "string", "boolean", "date"})


@dataclass(frozen=True, slots=True)
class Untranslated:
    """Why a function stays opaque, and the line in its file that is the reason, if there is one."""

    why: str
    line: int | None = None
    file: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.why} (line {self.line})" if self.line is not None else self.why


def translate(
    function: object, arguments: Sequence[str], returns: str, *, travels: str = "arrow", utc: bool = False
) -> Inside | Untranslated:
    """Translate a Python function into an expression; or say why it stays opaque.

    `arguments` and `returns` are Spark types. `travels` says how values go from Spark to Python and back: by "arrow",
    the default of Spark 4.2 and later; by "pickle"; or in "pandas" columns, where NULL is NaN. `utc`: workers show
    timestamps in UTC; if that is not known, only timestamps without a time zone are translated. The function is called
    only after everything that it does is known: then it is compared with its translation, on values that its own
    conditions suggest.

    >>> str(translate(len, ["string"], "long"))
    'it is not a plain function, but an object of type builtin_function_or_method'
    """
    try:
        found = _translated(function, tuple(arguments), returns, travels, utc)
    except Refusal as refusal:
        return Untranslated(refusal.why, refusal.line, _file(function))
    except RecursionError:
        return Untranslated("it is nested too deeply")
    different = disagreement(function, found.parameters, found.value, found.domain, returns, travels)
    if different is not None:
        return Untranslated(f"its translation gives another result for {different}")
    return found


def _translated(function: object, arguments: tuple[str, ...], returns: str, travels: str, utc: bool) -> Inside:
    if returns not in PLAIN:
        raise Refusal(f"it returns values of the type {returns[:60]}")
    if travels == "pandas" and (returns in (*INTEGERS, "float") or any(each in NARROW for each in arguments)):
        raise Refusal("integers become floats in a pandas column with missing values")
    plain, before = plain_function(function)
    parameters = tuple(fresh(f"_{place}", dtype) for place, dtype in enumerate(arguments))
    findings = Findings()
    values = [*(const(each) for each in before), *(_column(each, travels, utc, findings) for each in parameters)]
    answers = returned(plain, values, findings)
    if travels == "arrow":
        _one_kind(answers, returns)
    value: Expr | None = None
    for guard, answer in reversed(answers):
        expr = _returned(answer, returns, travels, findings)
        value = expr if value is None else case(guard, expr, value)
    if value is None:
        raise Refusal("it returns nothing")
    domain = both(*findings.domain)
    if domain == TRUE and any(isinstance(each, Call) and each.name in CLOCK for each in walk(value)):
        raise Refusal("it takes constant points in time apart")
    limited(value, domain)
    return Inside(parameters, value, domain)


def limited(*exprs: Expr) -> None:
    """Raise Refusal if an expression is too long to be useful."""
    for each in exprs:
        if sum(1 for _ in zip(walk(each), range(LARGEST + 1), strict=False)) > LARGEST:
            raise Refusal("its translation would be very long")


def plain_function(function: object) -> tuple[types.FunctionType, tuple[object, ...]]:
    """Return the function inside of partials, and the arguments that these add in front."""
    before: tuple[object, ...] = ()
    while isinstance(function, functools.partial):
        if function.keywords:
            raise Refusal("it is a partial function with keyword arguments")
        before, function = (*function.args, *before), function.func
    if not isinstance(function, types.FunctionType):
        raise Refusal(f"it is not a plain function, but an object of type {type(function).__name__}")
    return function, before


def _column(attr: Attr, travels: str, utc: bool, findings: Findings) -> Value:
    dtype = attr.dtype
    if travels == "pandas" and dtype == "double":
        return only(Float(case(IsNull(attr), Literal(math.nan, "double"), attr)))
    if dtype in INTEGERS:
        bits = INTEGERS[dtype]
        return none_or(attr, Int(as_type(attr, "long"), -(1 << bits - 1), (1 << bits - 1) - 1))
    if dtype in ("float", "double"):
        return none_or(attr, Float(as_type(attr, "double")))
    kinds: dict[str, type[Str] | type[Bool] | type[Date]] = {"string": Str, "boolean": Bool, "date": Date}
    if dtype in kinds:
        return none_or(attr, kinds[dtype](attr))
    if travels != "pandas" and (dtype == "timestamp_ntz" or (dtype == "timestamp" and utc)):
        micros = Call("UnixMicros", (attr,), "long")
        first, last = (long(microseconds(each)) for each in (datetime.min, datetime.max))
        findings.requires(either(IsNull(attr), both(Compare(">=", micros, first), Compare("<=", micros, last))))
        return none_or(attr, Stamp(micros))
    return none_or(attr, Other(attr))


def _one_kind(answers: list[tuple[Expr, Value]], returns: str) -> None:
    """Refuse mixed types.

    Arrow truncates floats if a batch has only floats; with integers among them, it converts all of them together.
    """
    kinds = {type(lifted(each.item)) for _, answer in answers for each in answer if not is_none(each.item)}
    if returns in INTEGERS and Float in kinds and len(kinds) > 1:
        raise Refusal(f"it returns floats and other values as {returns}")


def _returned(value: Value, returns: str, travels: str, findings: Findings) -> Expr:
    """Convert the returned value to the declared type, as Spark does."""
    result: Expr | None = None
    for alternative in reversed(value):
        if is_none(alternative.item):
            expr = _nothing(alternative.guard, value, returns)
        else:
            expr = converted(lifted(alternative.item), returns, travels, findings)
        if travels == "pandas" and returns == "double":
            expr = case(is_nan(expr), Literal(None, returns), expr)
        result = expr if result is None else case(alternative.guard, expr, result)
    return Literal(None, returns) if result is None else result


def _nothing(guard: Expr, value: Value, returns: str) -> Expr:
    """Return NULL, or the column that is NULL if the function passes it on, so that the NULL has lineage."""
    others = (each.item for each in value)
    handed = {attr for each in others if isinstance(each, Str | Bool | Date | Float | Int) for attr in each.expr.attrs}
    result: Expr | None = None
    for part in reversed(guard.args if isinstance(guard, Or) else (guard,)):
        nulls = [each.arg for each in conjuncts(part) if isinstance(each, IsNull) and each.arg in handed]
        expr = nulls[-1] if nulls and nulls[-1].dtype == returns else Literal(None, returns)
        result = expr if result is None else case(part, expr, result)
    return Literal(None, returns) if result is None else result


def converted(item: Item, returns: str, travels: str, findings: Findings) -> Expr:
    """Convert a value to a column of the declared type, as Spark does."""
    nothing = Literal(None, returns)
    pickled = travels == "pickle"
    if is_none(item):
        return nothing
    if isinstance(item, Str) and returns == "string":
        return item.expr
    if isinstance(item, Bool) and returns == "boolean":
        return item.expr
    if isinstance(item, Date) and returns == "date":
        return item.expr
    if isinstance(item, Float) and returns in ("double", "float"):
        return item.expr if returns == "double" else Call("Cast", (item.expr,), "float", "evalMode=LEGACY")
    if isinstance(item, Float) and returns in INTEGERS and travels == "arrow":
        item = truncated(item, findings)
    if isinstance(item, Int) and returns in INTEGERS:
        bits = INTEGERS[returns]
        if pickled and not -(1 << bits - 1) <= item.low <= item.high < 1 << bits - 1 and returns != "long":
            raise Refusal(f"it returns a number that may not fit {returns}")
        if isinstance(item.expr, Literal) and item.low == item.high:
            return Literal(item.low, returns) if -(1 << bits - 1) <= item.low < 1 << bits - 1 else nothing
        return item.expr if item.expr.dtype == returns else Call("Cast", (item.expr,), returns, TRY)
    if isinstance(item, Int) and returns == "double" and item.expr.dtype == "long" and not pickled:
        return as_type(item.expr, "double")
    shown = isinstance(item, Int | Bool) or (isinstance(item, Date) and not pickled)
    if returns == "string" and shown and travels != "pandas":
        return case(item.expr, text("true"), text("false")) if isinstance(item, Bool) else written(item)
    if pickled and returns not in ("string", "date") and isinstance(item, Int | Float | Str | Bool | Date):
        return nothing  # Spark's converter turns a value of another type into NULL
    raise Refusal(f"it returns a value of another type than the declared {returns}")


def _file(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return function.__code__.co_filename if isinstance(function, types.FunctionType) else ""
