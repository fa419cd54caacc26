"""Translate a function of columns (`pandas_udf`) into an expression over the values of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.rows.expressions import Attr, Expr, Inside, IsNull, Literal, fresh
from whence.rows.functions.checking import as_spark, disagreement, same, suggested
from whence.rows.functions.columns import NAN, Column, cell_of
from whence.rows.functions.evaluating import evaluated
from whence.rows.functions.looking import Findings, Looking
from whence.rows.functions.numbers import is_nan
from whence.rows.functions.refusal import Refusal
from whence.rows.functions.translating import PLAIN, Untranslated, converted, limited, plain_function
from whence.rows.functions.values import Float, Str, both, case


def translate_columns(function: object, arguments: Sequence[str], returns: str) -> Inside | Untranslated:
    """Translate a scalar `pandas_udf` into an expression over one row; or say why it stays opaque.

    >>> str(translate_columns(len, ["string"], "long"))
    'it is not a plain function, but an object of type builtin_function_or_method'
    """
    try:
        found = _translated(function, tuple(arguments), returns)
    except Refusal as refusal:
        return Untranslated(refusal.why, refusal.line)
    except RecursionError:
        return Untranslated("it is nested too deeply")

    def of_one_row(*row: Any) -> Any:
        return _results(function, [[value] for value in row], found.parameters)[0]

    different = disagreement(of_one_row, found.parameters, found.value, found.domain, returns, "pandas")
    different = different or _batch_differs(function, found, returns)
    return found if different is None else Untranslated(f"its translation gives another result for {different}")


def _translated(function: object, arguments: tuple[str, ...], returns: str) -> Inside:
    if returns not in PLAIN:
        raise Refusal(f"it returns values of the type {returns[:60]}")
    plain, before = plain_function(function)
    if before:
        raise Refusal("it is a partial function")
    parameters = tuple(fresh(f"_{place}", dtype) for place, dtype in enumerate(arguments))
    findings = Findings()
    cell = cell_of(plain, [_column(each) for each in parameters], Looking(plain, findings))
    value = converted(cell, returns, "pandas", findings)
    if returns == "double":
        value = case(is_nan(value), Literal(None, returns), value)
    domain = both(*findings.domain)
    limited(value, domain)
    return Inside(parameters, value, domain)


def _column(attr: Attr) -> Column:
    if attr.dtype == "double":
        return Column(Float(case(IsNull(attr), NAN, attr)))
    if attr.dtype == "string":
        return Column(Str(attr))
    raise Refusal(f"a column of {attr.dtype} changes its type in pandas if a value is missing")


def _results(function: Any, columns: list[list[Any]], parameters: tuple[Attr, ...]) -> list[Any]:
    """Call the function with some rows, and return its results as Python values."""
    import pandas as pd

    kinds = ["float64" if each.dtype == "double" else "object" for each in parameters]
    given = [pd.Series(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)]
    made = list(pd.Series(function(*given)))
    return [None if pd.isna(each) else each.item() if hasattr(each, "item") else each for each in made]


def _batch_differs(function: Any, found: Inside, returns: str) -> str | None:
    """Find a row whose result in a batch of all suggested rows differs from its result alone."""
    rows = [row for row in suggested(found.parameters, found.value, found.domain) if _inside(found.domain, found, row)]
    if not rows:
        return None
    try:
        made = _results(function, [list(column) for column in zip(*rows, strict=True)], found.parameters)
    except Exception:  # if it raises an error, its translation may have any value
        return None
    if len(made) != len(rows):
        return f"{len(rows)} rows at once: it gives {len(made)}"
    for row, wanted in zip(rows, made, strict=True):
        if not same(as_spark(wanted, returns, "pandas"), _value(found.value, found, row)):
            return f"{row!r} in a batch"
    return None


def _inside(domain: Expr, found: Inside, row: tuple[Any, ...]) -> bool:
    return _value(domain, found, row) is not False


def _value(expr: Expr, found: Inside, row: tuple[Any, ...]) -> Any:
    return evaluated(expr, dict(zip(found.parameters, row, strict=True)))
