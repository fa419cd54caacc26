"""Convert rows of pandas, frames and series, to dictionaries of Python values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

NO_VALUE = ("NaTType", "NAType")  # pandas' own missing values


class Missing:
    """A missing number of pandas: it may be NULL or NaN, so a question selects both."""

    def __repr__(self) -> str:
        return "nan"


MISSING = Missing()


def is_frame(value: object) -> bool:
    """Whether it is a pandas DataFrame, or has its methods."""
    return hasattr(value, "iloc") and hasattr(value, "itertuples")


def is_series(value: object) -> bool:
    """Whether it is a pandas Series."""
    return hasattr(value, "iloc") and hasattr(value, "items") and not is_frame(value)


def rows_of(value: Any, zone: tzinfo | None = None) -> Any:
    """Convert a frame to a list of rows, and a series to one row; return anything else unchanged.

    `zone` is the time zone of times without one.

    >>> import pandas as pd
    >>> rows_of(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    [{'a': 1, 'b': 'x'}, {'a': 2, 'b': None}]
    """
    if is_series(value):
        return {name: _read_value(each, zone) for name, each in value.items()}
    if not is_frame(value):
        return value
    names = list(value.columns)
    rows = (tuple(_read_value(each, zone) for each in row) for row in value.itertuples(index=False, name=None))
    if len(set(names)) < len(names):  # columns with the same name are identified by position
        return list(rows)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _read_value(value: Any, zone: tzinfo | None) -> object:
    if type(value).__name__ == "NAType":
        return MISSING
    value = plain(value)
    if isinstance(value, float) and value != value:
        return MISSING
    if isinstance(value, datetime) and value.tzinfo is None and zone is not None:
        return value.replace(tzinfo=zone)
    return value


def plain(value: Any) -> Any:
    """Convert a value of NumPy or pandas to Python; missing values of pandas become None.

    >>> import numpy as np
    >>> plain(np.array([np.int64(1), np.int64(2)])), plain(np.datetime64("2024-01-01T00:00", "ns"))
    ([1, 2], datetime.datetime(2024, 1, 1, 0, 0))
    """
    kind = type(value).__name__
    if kind in NO_VALUE:
        return None
    if kind == "Timestamp" and hasattr(value, "to_pydatetime"):
        return value.to_pydatetime(warn=False)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        if value.dtype.kind == "M":  # nanoseconds would become an integer
            value = None if value.shape == () and str(value) == "NaT" else value.astype("datetime64[us]")
        if value is None:
            return None
        return plain(value.tolist())
    if kind == "Row" or hasattr(value, "__fields__"):
        return value
    if isinstance(value, list | tuple):
        return type(value)(plain(each) for each in value) if type(value) in (list, tuple) else value
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    return value
