"""Write values as SQL of DuckDB. A value becomes only a quoted string or digits, so that it cannot inject SQL."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext

from whence.rows.duck.types import WIDEST, decimal, duckdb_type
from whence.rows.expressions import Literal
from whence.rows.questions.rows import INTEGERS

ROOM = 4 * WIDEST  # digits that suffice for exact steps between decimals of 38


def quoted(text: str) -> str | None:
    """Quote a string; None if it is not valid Unicode.

    >>> quoted("it's")
    "'it''s'"
    """
    if not is_text(text):
        return None
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else f"({' || chr(0) || '.join(parts)})"


def is_text(text: str) -> bool:
    """Whether it can be encoded in UTF-8; a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def identifier(name: str) -> str:
    """Quote a name.

    >>> identifier('a "b"')
    '"a ""b\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def literal_sql(literal: Literal) -> str | None:
    """Write a literal in its exact Spark type; None if the value does not have this type.

    >>> literal_sql(Literal(Decimal("1.5"), "decimal(15,2)"))
    "CAST('1.50' AS DECIMAL(15,2))"
    """
    kind = duckdb_type(literal.dtype)
    if kind is None:
        return None
    if literal.value is None:
        return f"CAST(NULL AS {kind})"
    text = _literal_sql(literal.value, literal.dtype)
    if text is None:
        return None
    if literal.dtype == "boolean":
        return text
    if literal.dtype == "binary":
        return f"unhex('{text}')"
    said = quoted(text)
    return said if said is None or literal.dtype == "string" else f"CAST({said} AS {kind})"


def _literal_sql(value: object, dtype: str) -> str | None:
    if dtype in INTEGERS:
        bits = INTEGERS[dtype]
        return str(value) if type(value) is int and -(1 << bits - 1) <= value < 1 << bits - 1 else None
    if dtype in ("float", "double"):
        return _float(value, dtype)
    if dtype == "boolean":
        return ("TRUE" if value else "FALSE") if isinstance(value, bool) else None
    if dtype == "string":
        return value if isinstance(value, str) else None
    if dtype == "binary":  # Spark's string of it would be the name of a Java object
        return value.hex() if isinstance(value, bytes) else None
    if dtype == "date":
        return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else None
    if dtype in ("timestamp", "timestamp_ntz"):
        return _instant(value, dtype)
    exact = exactly(value, dtype) if isinstance(value, Decimal) else None
    return None if exact is None else f"{exact:f}"


def exactly(value: Decimal, dtype: str) -> Decimal | None:
    """Return the number with the scale of a decimal type; None if it has more digits.

    >>> exactly(Decimal("0.125"), "decimal(15,2)") is None
    True
    """
    size = decimal(dtype)
    if size is None or not value.is_finite():
        return None
    precision, scale = size
    with localcontext(prec=ROOM):
        if abs(value.adjusted()) > WIDEST:
            return Decimal(0).scaleb(-scale) if value == 0 else None
        fitted = value.quantize(Decimal(1).scaleb(-scale))
        return fitted if fitted == value and abs(fitted) < Decimal(10) ** (precision - scale) else None


def _float(value: object, dtype: str) -> str | None:
    if type(value) is not float:
        return None
    if math.isfinite(value) and dtype == "float":
        try:
            (value,) = struct.unpack("f", struct.pack("f", value))  # round as a cast in Spark does
        except OverflowError:
            return None
    return repr(value)


def _instant(value: object, dtype: str) -> str | None:
    """Write a timestamp. A local time must have no time zone, and an instant must have one."""
    if not isinstance(value, datetime) or (value.tzinfo is None) != (dtype == "timestamp_ntz"):
        return None
    if dtype == "timestamp_ntz":
        return value.isoformat(sep=" ")
    return value.astimezone(UTC).isoformat(sep=" ")
