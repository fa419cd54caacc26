"""The arrays behind DataFrames, Series and lists of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence import _core


def is_frame(value: Any) -> bool:
    """Whether it is a pandas DataFrame or Series."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("DataFrame", "Series")


def is_listed(value: Any) -> bool:
    """Whether it is a list of numbers that may be data. Lists of integers are taken for axes, shapes or indices."""
    if not isinstance(value, (list, tuple)) or not value or hasattr(value, "_fields"):
        return False
    flat = [each for item in value for each in (item if isinstance(item, (list, tuple)) else [item])]
    return all(isinstance(each, (int, float, np.number)) for each in flat) and any(
        isinstance(each, (float, np.floating)) for each in flat
    )


def array_behind(value: Any) -> NDArray[Any] | None:
    """Return the numbers of an array, a table or a list as an array; None if it contains other values."""
    if isinstance(value, np.ndarray):
        if not issubclass(type(value), np.ndarray):  # an array of a run that has ended, a proxy for a plain array
            value = getattr(value, "value", None)
        if type(value) not in (np.ndarray, np.memmap) and issubclass(type(value), np.ndarray):
            value = np.asarray(value)  # the data of a masked array or a matrix: the same memory
        return value if type(value) in (np.ndarray, np.memmap) and value.dtype.kind in "biufcMm" else None
    if is_frame(value):
        kinds = value.dtypes if value.ndim == 2 else [value.dtype]
        if not all(isinstance(each, np.dtype) and each.kind in "biuf" for each in kinds):
            return None
        found = value.to_numpy()
        return found if found.dtype.kind in "biuf" else None
    if is_listed(value):
        try:
            return np.asarray(value, dtype=np.float64)
        except ValueError:  # rows of different lengths
            return None
    return None


def column_digest(column: Any) -> bytes:
    """Return a digest of the values of a column, in order; b"" if they cannot be hashed."""
    import pandas as pd

    array = array_behind(column)
    if array is not None:
        return _core.digest(np.ascontiguousarray(array))
    try:
        hashes = pd.util.hash_pandas_object(column, index=False).to_numpy()
    except TypeError:
        return b""
    return _core.digest(np.ascontiguousarray(hashes))


def column_digests(table: Any) -> tuple[bytes, ...]:
    """Return a digest of each column."""
    return tuple(column_digest(table.iloc[:, place]) for place in range(len(table.columns)))


def table_digest(value: Any, digests: tuple[bytes, ...] | None = None) -> bytes:
    """Return a digest of a table that contains strings or other objects; b"" if these cannot be hashed.

    `digests` are the digests of its columns, if they are known.
    """
    import pandas as pd

    if value.ndim == 1:
        digests, names = (column_digest(value),), value.name
    else:
        digests, names = digests or column_digests(value), list(value.columns)
    if b"" in digests:
        return b""
    labels = np.ascontiguousarray(pd.util.hash_pandas_object(value.index).to_numpy())
    return _core.digest(b"".join(digests)) + _core.digest(labels) + _core.digest(repr(names).encode())
