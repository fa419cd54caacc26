"""Convert the rows of a question (dictionaries, tuples or Rows) to predicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from whence.errors import BadType, UnknownName
from whence.rows.expressions import Attr, Call, Compare, Expr, IsNull, Literal, conjunction, disjunction
from whence.rows.questions.from_pandas import MISSING, plain

Asked: TypeAlias = tuple[tuple[Attr, object], ...]  # one row: the given columns and their values

NAN = float("nan")
INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


def asked_rows(output: Sequence[Attr], rows: object, case_sensitive: bool = False) -> tuple[Asked, ...]:
    """Return the rows that a user gave: a dictionary, a Row, a tuple of all values, or a list of these.

    `from_pandas.rows_of` converts pandas frames and series first.

    >>> from whence.rows import Attr
    >>> asked_rows([Attr(1, "a", "long"), Attr(2, "b", "string")], {"B": "x"})
    (((Attr(id=2, name='b', dtype='string', nullable=True), 'x'),),)
    """
    if isinstance(rows, Mapping) or hasattr(rows, "__fields__") or isinstance(rows, tuple):
        return (_asked_row(output, rows, case_sensitive),)
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise BadType(
            f"a row must be a dictionary, a Row, a tuple of all its values or a pandas row, not {type(rows).__name__}"
        )
    found = tuple(_asked_row(output, each, case_sensitive) for each in rows)
    if not found:
        raise BadType("no rows were given to ask about")
    return found


def _asked_row(output: Sequence[Attr], row: Any, case_sensitive: bool) -> Asked:
    names = getattr(row, "__fields__", None)
    if isinstance(row, Mapping):
        pairs = [(_column_named(output, name, case_sensitive), value) for name, value in row.items()]
    elif isinstance(row, tuple) and len(row) == len(output):
        pairs = list(zip(output, row, strict=True))
    elif names is not None:
        pairs = [(_column_named(output, name, case_sensitive), value) for name, value in zip(names, row, strict=True)]
    elif isinstance(row, tuple):
        raise BadType(f"the row has {len(row)} values and the table {len(output)} columns: give a dictionary of some")
    else:
        raise BadType(f"a row must be a dictionary, a Row or a tuple of all its values, not {type(row).__name__}")
    if not pairs:
        raise BadType("the row names no column, so every row would match")
    return tuple((attr, fitted(attr, value)) for attr, value in pairs)


def _column_named(output: Sequence[Attr], name: object, case_sensitive: bool) -> Attr:
    if not isinstance(name, str):
        raise BadType(f"a column is named by a string, not by {name!r}")
    found = [attr for attr in output if attr.name == name]
    if not found and not case_sensitive:
        found = [attr for attr in output if attr.name.lower() == name.lower()]
    if not found:
        raise UnknownName.of("column", name, [attr.name for attr in output])
    if len(found) > 1:
        raise BadType(f"{len(found)} columns are called {name!r}: give the row as a tuple of all values, in order")
    return found[0]


def fitted(attr: Attr, value: object) -> object:
    """Convert the value to the column's type; raise if no row could have it.

    >>> fitted(Attr(1, "d", "date"), "2024-02-29")
    datetime.date(2024, 2, 29)
    """
    dtype = attr.dtype
    value = plain(value)
    if value is None:
        return None
    number = dtype in ("float", "double")
    if value is MISSING or (isinstance(value, float) and value != value and not dtype.startswith("{")):
        return value if number else None  # no other type has NaN: pandas uses it for missing values
    try:
        fits = _as_type(dtype, value)
    except (ValueError, InvalidOperation):
        fits = NotImplemented
    if fits is NotImplemented:
        raise BadType(f"column {attr.name!r} has the type {dtype}, and {value!r} is not a value of it")
    return fits


def _as_type(dtype: str, value: object) -> object:
    if dtype in INTEGERS:
        return _integer(INTEGERS[dtype], value)
    if dtype in ("float", "double"):
        return float(value) if isinstance(value, int | float | Decimal) and type(value) is not bool else NotImplemented
    if dtype.startswith("decimal"):
        plain = isinstance(value, int | float | Decimal | str) and type(value) is not bool
        return Decimal(str(value)) if plain else NotImplemented
    if dtype == "boolean":
        return value if isinstance(value, bool) else NotImplemented
    if dtype == "date":
        if isinstance(value, datetime):
            return value.date() if value.time().isoformat() == "00:00:00" else NotImplemented
        return (
            value
            if isinstance(value, date)
            else date.fromisoformat(value)
            if isinstance(value, str)
            else NotImplemented
        )
    if dtype in ("timestamp", "timestamp_ntz"):
        if isinstance(value, str):
            return datetime.fromisoformat(value)
        return value if isinstance(value, datetime) else NotImplemented
    if dtype.startswith(("string", "char", "varchar")):
        return value if isinstance(value, str) else NotImplemented
    if dtype == "binary":
        return bytes(value) if isinstance(value, bytes | bytearray) else NotImplemented
    return value  # nested types are checked when the value is converted for Spark


def _integer(bits: int, value: object) -> object:
    if isinstance(value, float | Decimal) and value == int(value):
        value = int(value)
    if type(value) is not int:
        return NotImplemented
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else NotImplemented


def is_simple(asked: Iterable[Asked]) -> bool:
    """Whether all values can be written as literals."""
    return not any(attr.dtype.startswith("{") for row in asked for attr, _ in row)


def predicate(asked: Iterable[Asked]) -> Expr:
    """The predicate that selects any of the rows; NULL equals NULL."""
    return disjunction(*(conjunction(*(_is(attr, value) for attr, value in row)) for row in asked))


def _is(attr: Attr, value: object) -> Expr:
    if value is MISSING:
        return disjunction(IsNull(attr), Compare("<=>", attr, Literal(NAN, attr.dtype)))
    return Compare("<=>", attr, Literal(value, attr.dtype))


def comparable(attr: Attr) -> Expr:
    """An expression that can be compared: Spark cannot compare maps, so a map becomes its sorted entries."""
    if attr.dtype.startswith('{"type":"map"'):
        if attr.dtype.count('"type":"map"') == 1:
            entries = Call("map_entries", (attr,), "array")
            return Call("array_sort", (entries,), "array")
    elif '"type":"map"' not in attr.dtype:
        return attr
    raise BadType(f"column {attr.name!r} contains maps, which cannot be compared: leave it out of the row")


def described(asked: Asked) -> str:
    """A row in an error message."""
    return "{" + ", ".join(f"{attr.name}: {value!r}" for attr, value in asked) + "}"
