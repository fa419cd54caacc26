"""Constants and types of a plan as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from whence.errors import BadType, Damaged

LONGEST = 1 << 20  # characters of a string
DIGITS = 200  # digits of a decimal, and its largest exponent
DEEPEST_TYPE = 100  # nesting depth of types
NAME = re.compile(r"[a-z][a-z0-9_]*( [a-z]+)*(\([0-9a-zA-Z_:, ]{0,40}\))?( collate [A-Za-z0-9_]+)?")

# Nested types and their fields. User-defined types are refused: Spark creates an object of the class that such a type
# names.
NESTED = {
    "array": {"type", "elementType", "containsNull"},
    "map": {"type", "keyType", "valueType", "valueContainsNull"},
    "struct": {"type", "fields"},
}
FIELD = {"name", "type", "nullable", "metadata"}


def value_json(value: object) -> object:
    """Convert a constant to JSON. Types that JSON lacks become an object that names the type.

    >>> value_json(Decimal("1.50")), value_json(float("nan")), value_json(7)
    ({'decimal': '1.50'}, {'float': 'nan'}, 7)
    """
    if value is None or isinstance(value, bool | str):
        return value
    for kind, (python, write, _) in KINDS.items():
        if type(value) is python:
            return value if kind == "int" else {kind: write(value)}
    raise BadType(f"a constant of type {type(value).__name__} cannot be stored: {value!r}")


def value_of(given: object, where: str) -> object:
    """Convert JSON to a constant.

    >>> value_of({"date": "2024-02-29"}, "node 3")
    datetime.date(2024, 2, 29)
    """
    if given is None or isinstance(given, bool | str):
        return given
    if type(given) is int:
        return given
    if isinstance(given, dict) and len(given) == 1:
        ((kind, text),) = given.items()
        known = KINDS.get(kind)
        if known is not None and isinstance(text, str) and len(text) <= LONGEST:
            try:
                return known[2](text)
            except (ValueError, ArithmeticError) as error:
                raise Damaged(f"{where}: {text[:80]!r} is no {kind}") from error
    raise Damaged(f"{where}: this is not a constant: {str(given)[:80]}")


def type_json(dtype: str) -> object:
    """Convert a type to JSON: its name, or Spark's JSON object for a nested type."""
    if not dtype.startswith("{"):
        made: object = dtype
    else:
        made = json.loads(dtype)
        if json.dumps(made, separators=(",", ":")) != dtype:
            raise BadType(f"a type that is not spelled as in Spark cannot be stored: {dtype[:200]}")
    try:
        type_of(made, "the plan")
    except Damaged as error:
        raise BadType(f"a column of this type cannot be stored: {error}") from error
    return made


def type_of(given: object, where: str) -> str:
    """Convert JSON to a type as expressions have it."""
    _require_type(given, where, DEEPEST_TYPE)
    return given if isinstance(given, str) else json.dumps(given, separators=(",", ":"))


def _require_type(given: Any, where: str, deep: int) -> None:
    if isinstance(given, str):
        if len(given) > 200 or not NAME.fullmatch(given):
            raise Damaged(f"{where}: this is not a type: {given[:80]!r}")
        return
    kind = given.get("type") if isinstance(given, dict) else None
    if not deep or not isinstance(kind, str) or kind not in NESTED or set(given) != NESTED[kind]:
        raise Damaged(f"{where}: this is not a type that whence reads: {str(given)[:80]}")
    for name in ("elementType", "keyType", "valueType"):
        if name in given:
            _require_type(given[name], where, deep - 1)
    if kind != "struct":
        return
    if not isinstance(given["fields"], list):
        raise Damaged(f"{where}: the fields of a struct are a list")
    for field in given["fields"]:
        if not isinstance(field, dict) or set(field) != FIELD or not isinstance(field["name"], str):
            raise Damaged(f"{where}: this is no field of a struct: {str(field)[:80]}")
        _require_type(field["type"], where, deep - 1)


def _decimal(text: str) -> Decimal:
    try:
        value = Decimal(text) if len(text) <= DIGITS else None
    except InvalidOperation:
        value = None
    if value is None or not value.is_finite() or abs(int(value.as_tuple().exponent)) > DIGITS:
        raise ValueError(text)
    return value


def _float(text: str) -> float:
    return float(text)


Kind = tuple[type, Callable[[Any], str], Callable[[str], object]]
KINDS: dict[str, Kind] = {
    "int": (int, str, int),
    "float": (float, repr, _float),
    "decimal": (Decimal, str, _decimal),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "microseconds": (
        timedelta,
        lambda value: str(value // timedelta(microseconds=1)),
        lambda text: timedelta(microseconds=int(text)),
    ),
}
