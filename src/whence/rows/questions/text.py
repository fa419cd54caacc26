"""Values of rows as strings and JSON, for the command line, files and output."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from whence.errors import BadType
from whence.rows.expressions import Attr
from whence.rows.questions.rows import INTEGERS

NOT_NUMBERS = ("NaN", "Infinity", "-Infinity")  # JSON has no such numbers, so they are strings


def read_pairs(
    output: Sequence[Attr], pairs: Iterable[tuple[str, str]], nulls: Iterable[str] = ()
) -> dict[str, object]:
    """Read one row of the command line: `column=value` strings, converted by column type, and NULL columns.

    >>> read_pairs([Attr(1, "a", "long"), Attr(2, "b", "string")], [("a", "5"), ("b", "")])
    {'a': 5, 'b': ''}
    """
    row: dict[str, object] = {}
    for name, text in (*pairs, *((name, None) for name in nulls)):
        if name in row:
            raise BadType(f"column {name!r} is given twice: give each column of the row once")
        attr = _attr(output, name)
        row[name] = text if attr is None or text is None else read_text(attr, text)
    return row


def read_json(output: Sequence[Attr], text: str) -> list[dict[str, object]]:
    """Read rows from JSON: an object, a list of objects, or one object per line. null is NULL, and decimals stay exact.

    >>> read_json([Attr(1, "a", "decimal(4,2)"), Attr(2, "b", "string")], '[{"a": 0.10, "b": null}]')
    [{'a': Decimal('0.10'), 'b': None}]
    """
    rows = _documents(text)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise BadType("give rows as JSON objects, column: value; one, a list of them, or one per line")
    return [{name: _typed(_attr(output, name), value) for name, value in row.items()} for row in rows]


def read_text(attr: Attr, text: str) -> object:
    """Convert a string to the column's type. There is no string for NULL.

    >>> read_text(Attr(1, "paid", "boolean"), "true"), read_text(Attr(2, "tags", '{"type":"array"}'), '["a"]')
    (True, ['a'])
    """
    dtype = attr.dtype
    try:
        if dtype in INTEGERS:
            return int(text)
        if dtype in ("float", "double"):
            return float(text)
        if dtype == "boolean":
            return {"true": True, "false": False}[text.lower()]
        if dtype == "binary":
            return bytes.fromhex(text)
        if dtype.startswith("{"):
            return json.loads(text)
    except (ValueError, KeyError) as error:
        kind = {"boolean": "true or false", "binary": "hexadecimal digits"}.get(dtype)
        kind = kind or ("JSON" if dtype.startswith("{") else f"of type {dtype}")
        hint = f"; for NULL, say --null {attr.name}" if text.lower() in ("", "null", "none") else ""
        raise BadType(f"column {attr.name!r} is {kind}; {text!r} is not{hint}") from error
    return text  # strings are complete; dates, timestamps and decimals are converted when the row is asked about


def plain(value: object) -> Any:
    """Convert a value to JSON that `read_json` reads: decimals, dates and times become strings.

    >>> plain((Decimal("1.50"), date(2024, 2, 29), float("nan"), b"\\x01"))
    ['1.50', '2024-02-29', 'NaN', '01']
    """
    if isinstance(value, float) and not math.isfinite(value):
        return {True: "NaN", False: "Infinity" if value > 0 else "-Infinity"}[math.isnan(value)]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if hasattr(value, "asDict"):  # a Row inside of a row
        return {name: plain(each) for name, each in value.asDict().items()}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _attr(output: Sequence[Attr], name: str) -> Attr | None:
    """The column with a name; None if it is ambiguous or unknown, which a later error explains."""
    exact = [attr for attr in output if attr.name == name]
    found = exact or [attr for attr in output if attr.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _documents(text: str) -> list[Any]:
    try:
        found = json.loads(text, parse_float=Decimal)
        return found if isinstance(found, list) else [found]
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [json.loads(line, parse_float=Decimal) for line in lines]
        except ValueError:
            raise BadType(f"the rows are not JSON: {error}") from error


def _typed(attr: Attr | None, value: Any) -> object:
    if attr is None:
        return value
    if attr.dtype in ("float", "double") and value in NOT_NUMBERS:
        return float(value)
    if attr.dtype == "binary" and isinstance(value, str):
        return read_text(attr, value)
    return _inexact(value) if attr.dtype.startswith("{") and "decimal" not in attr.dtype else value


def _inexact(value: Any) -> Any:
    """Convert nested numbers to floats."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_inexact(each) for each in value]
    return {name: _inexact(each) for name, each in value.items()} if isinstance(value, Mapping) else value
