"""Checking and normalizing names, shapes and arguments that users give."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whence.errors import BadCells, BadType

LONGEST_NAME = 400
MOST_CELLS = 2**62


def name_of(name: object, kind: str = "dataset") -> str:
    """Check that every catalog can store a name and every terminal can print it, and return it.

    >>> name_of("pixels/2024-01 (raw)")
    'pixels/2024-01 (raw)'
    """
    if not isinstance(name, str):
        raise BadType(f"a name is a string, not {type(name).__name__}: {name!r}")
    if not name or name != name.strip():
        raise BadType(f"{name!r} is not a valid {kind} name: it is empty, or begins or ends with a space")
    if not name.isprintable():  # also rules out NUL and lone surrogates, which PostgreSQL refuses
        raise BadType(f"{name!r} is not a valid {kind} name: it has unprintable characters")
    if len(name) > LONGEST_NAME:
        raise BadType(f"{name[:20]!r}... is not a valid {kind} name: it is longer than {LONGEST_NAME} characters")
    return name


def names_of(names: object, what: str) -> tuple[str, ...]:
    """Check a list of names and return it as a tuple; a string is refused, because it would be a list of letters."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise BadType(f"{what} is a list of names such as ['A', 'B'], not {names!r}")
    return tuple(name_of(name) for name in names)


def shape_of(shape: object) -> tuple[int, ...]:
    """Return a shape as a tuple of Python integers.

    >>> shape_of((np.int32(3), 2)), shape_of(5), shape_of(())
    ((3, 2), (5,), ())
    """
    axes = shape if isinstance(shape, (Sequence, np.ndarray)) and not isinstance(shape, (str, bytes)) else (shape,)
    lengths = tuple(_length_of_axis(axis, shape) for axis in axes)
    if any(length < 0 for length in lengths) or math.prod(length for length in lengths if length) >= MOST_CELLS:
        raise BadCells(f"{lengths} is not a shape: lengths are 0 or more, and fewer than 2^62 cells in all")
    return lengths


def _length_of_axis(axis: object, shape: object) -> int:
    try:
        if isinstance(axis, (bool, np.bool_)):
            raise TypeError
        return operator.index(axis)  # type: ignore[arg-type]  # a TypeError is expected
    except TypeError:
        raise BadCells(f"{shape!r} is not a shape: give the length of each axis, such as (3, 2)") from None


def plain(value: Any, where: str) -> Any:
    """Convert a value for JSON; a type that JSON lacks becomes {"$": type, "value": string}.

    >>> plain({"axis": np.int64(1), "fill": float("nan"), "dtype": np.dtype("f4")}, "op_args")
    {'axis': 1, 'fill': {'$': 'float', 'value': 'nan'}, 'dtype': {'$': 'dtype', 'value': 'float32'}}
    """
    match value:
        case None | bool() | str():
            return value
        case np.generic() if value.dtype.char in "gGmM":  # long doubles and times have no Python equivalent
            return {"$": value.dtype.name, "value": str(value)}
        case np.generic() | np.ndarray():
            return plain(value.tolist(), where)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else {"$": "float", "value": repr(value)}
        case complex():
            return {"$": "complex", "value": repr(value)}
        case slice():
            return {"$": "slice", "value": [plain(x, where) for x in (value.start, value.stop, value.step)]}
        case np.dtype():
            return {"$": "dtype", "value": str(value)}
        case Mapping():
            return {_key(key, where): plain(item, f"{where}[{key!r}]") for key, item in value.items()}
        case list() | tuple() | range():
            return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
        case _ if value is Ellipsis:
            return {"$": "ellipsis", "value": "..."}
    raise BadType(
        f"{where} is a {type(value).__name__}, which cannot be recorded: "
        "give numbers, strings, slices, dtypes, or lists and dicts of them"
    )


def several(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Mark tuples, which are several values of one property, to distinguish them from lists, which are ordered.

    >>> several({"tag": ("a", "b"), "shape": [2, 3]})
    {'tag': {'$': 'values', 'value': ['a', 'b']}, 'shape': [2, 3]}
    """
    return {
        name: {"$": "values", "value": list(value)} if isinstance(value, tuple) else value
        for name, value in properties.items()
    }


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise BadType(f"{where} has the key {key!r}: keys are strings")
    return key
