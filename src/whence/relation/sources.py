"""Read raw tuples from NumPy, Arrow, pandas or Parquet, or from any of these in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadCells, BadType, StoreError
from whence.words import counted

Tuples = NDArray[np.int64]
"""An array (n, axes of the output + axes of the input), row-major."""

FORMS = (
    "an integer array (n, axes of the output + axes of the input), an Arrow table, a pandas frame, "
    "the path of a Parquet file, or an iterator of any of these"
)


def module_of(value: object) -> str:
    """Return the top-level package of a value's type. It recognises values without importing large packages."""
    return type(value).__module__.partition(".")[0]


def is_stream(raw: object) -> bool:
    """Whether raw tuples come in chunks rather than as one array."""
    if isinstance(raw, (str, os.PathLike)):
        return True
    return not isinstance(raw, (np.ndarray, list, tuple)) and module_of(raw) not in ("pyarrow", "pandas")


def read(raw: Any, width: int) -> Tuples:
    """Return one array of tuples from an array, a list, an Arrow table or a pandas frame.

    >>> read([[0, 1], [1, 0]], 2).tolist()
    [[0, 1], [1, 0]]
    """
    package = module_of(raw)
    if package in ("pyarrow", "pandas"):
        return _stacked_columns(raw, width, package)
    if not isinstance(raw, (np.ndarray, list, tuple)):
        raise BadType(f"cannot read tuples from {type(raw).__name__}; give {FORMS}")
    array = np.asarray(raw)
    if array.size == 0 and array.ndim < 2:
        array = np.empty((0, width), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != width:
        raise BadCells(f"tuples must be an array (n, {width}): output axes first, then input axes; got {array.shape}")
    return _integers(array, "tuples")


def chunks(raw: Any, width: int) -> Iterator[Tuples]:
    """Yield the chunks of a stream, each as one array of tuples."""
    if isinstance(raw, (str, os.PathLike)):
        yield from _parquet(raw, width)
        return
    if not isinstance(raw, Iterable):
        raise BadType(f"cannot read tuples from {type(raw).__name__}; give {FORMS}")
    for chunk in raw:
        yield read(chunk, width)


def _integers(array: NDArray[Any], what: str) -> Tuples:
    if array.dtype.kind not in "iu":
        if array.size == 0:
            return np.empty(array.shape, dtype=np.int64)
        raise BadCells(f"{what} must be integers, got {array.dtype}; convert indices with .astype(np.int64)")
    if array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise BadCells(f"{what} hold {int(array.max())}, which is too large for an index")
    return np.ascontiguousarray(array, dtype=np.int64)


def _stacked_columns(raw: Any, width: int, package: str) -> Tuples:
    names = list(raw.column_names) if package == "pyarrow" and hasattr(raw, "column_names") else None
    if package == "pyarrow" and names is None:
        names = list(raw.schema.names)
    if names is None:
        names = [str(name) for name in raw.columns]
    if len(names) != width:
        given = f"{counted(len(names), 'column')} ({', '.join(names)})"
        raise BadCells(f"{given}, but output and input have {width} axes together")
    rows = raw.num_rows if package == "pyarrow" else len(raw)
    out = np.empty((rows, width), dtype=np.int64)
    for i, name in enumerate(names):
        column = raw.column(i) if package == "pyarrow" else raw.iloc[:, i]
        nulls = column.null_count if package == "pyarrow" else int(column.isna().sum())
        if nulls:
            raise BadCells(f"column {name!r} has {nulls} missing values; an index cannot be missing")
        out[:, i] = _integers(np.asarray(column.to_numpy()), f"column {name!r}")
    return out


def _parquet(path: str | os.PathLike[str], width: int) -> Iterator[Tuples]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1 << 20):
                yield _stacked_columns(batch, width, "pyarrow")
    except (OSError, pa.ArrowInvalid) as error:
        raise StoreError(f"cannot read tuples from {os.fspath(path)!r}: {error}") from error
