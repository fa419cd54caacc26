"""Types that are the same in Spark, DuckDB, Arrow and Parquet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

DUCKDB = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "VARCHAR",  # only this name: a string type with a collation has another name
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
}
# The digits of the largest value of each integer type.
DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 19}
FLOATS = frozenset({"float", "double"})
WIDEST = 38

_decimal = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def decimal(dtype: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type; None for any other.

    >>> decimal("decimal(15,2)"), decimal("long")
    ((15, 2), None)
    """
    found = _decimal.fullmatch(dtype)
    if found is None:
        return None
    precision, scale = int(found[1]), int(found[2])
    return (precision, scale) if 1 <= precision <= WIDEST and scale <= precision else None


def duckdb_type(dtype: str) -> str | None:
    """DuckDB's name of a type with the same values and order; None if there is none.

    >>> duckdb_type("decimal(15,2)"), duckdb_type("string collate UTF8_LCASE")
    ('DECIMAL(15,2)', None)
    """
    size = decimal(dtype)
    return f"DECIMAL({size[0]},{size[1]})" if size else DUCKDB.get(dtype)


def leaves(dtype: str) -> tuple[str, ...] | None:
    """The simple types inside of a type, in the order of Parquet's columns; None if one is not supported.

    >>> leaves('{"type":"array","elementType":"long","containsNull":true}')
    ('long',)
    """
    if not dtype.startswith("{"):
        return (dtype,) if duckdb_type(dtype) else None
    found: list[str] = []
    for each in _inner_types(json.loads(dtype)):
        below = leaves(each if isinstance(each, str) else json.dumps(each))
        if below is None:
            return None
        found += below
    return tuple(found) or None


def _inner_types(nested: dict[str, Any]) -> list[Any]:
    if nested["type"] == "struct":
        return [each["type"] for each in nested["fields"]]
    if nested["type"] == "array":
        return [nested["elementType"]]
    if nested["type"] == "map":
        return [nested["keyType"], nested["valueType"]]
    return [nested["type"]]  # a user-defined type: no simple type has its name


def arrow_type(dtype: str) -> Any:
    """The Arrow type of Spark's results, which DuckDB's answer must have, too."""
    import pyarrow as pa

    size = decimal(dtype)
    if size:
        return pa.decimal128(*size)
    if dtype.startswith("{"):
        return _nested_type(json.loads(dtype))
    return {
        "byte": pa.int8(),
        "short": pa.int16(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }[dtype]


def _nested_type(nested: Any) -> Any:
    import pyarrow as pa

    if isinstance(nested, str):
        return arrow_type(nested)
    if nested["type"] == "struct":
        return pa.struct([pa.field(each["name"], _nested_type(each["type"])) for each in nested["fields"]])
    if nested["type"] == "array":
        return pa.list_(_nested_type(nested["elementType"]))
    return pa.map_(_nested_type(nested["keyType"]), _nested_type(nested["valueType"]))


def same_shape(one: Any, other: Any) -> bool:
    """Whether two Arrow types have the same nesting and field names; simple types are not compared."""
    return _same_type(one, other, lambda a, b: True)


def same_type(one: Any, other: Any) -> bool:
    """Whether two Arrow types are the same, except for the names of list elements."""
    return _same_type(one, other, lambda a, b: bool(a == b))


def _same_type(one: Any, other: Any, simple: Callable[[Any, Any], bool]) -> bool:
    import pyarrow as pa

    kinds = (pa.types.is_struct, _is_list, pa.types.is_map)
    if any(kind(one) != kind(other) for kind in kinds):
        return False
    if pa.types.is_struct(one):
        names = [each.name for each in one] == [each.name for each in other]
        return names and all(_same_type(a.type, b.type, simple) for a, b in zip(one, other, strict=True))
    if pa.types.is_map(one):
        return _same_type(one.key_type, other.key_type, simple) and _same_type(one.item_type, other.item_type, simple)
    if _is_list(one):
        return _same_type(one.value_type, other.value_type, simple)
    return simple(one, other)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
