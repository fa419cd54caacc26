"""Arrow arrays from NumPy and back, without pandas.

PyArrow imports pandas when it converts any value of Python or NumPy, which takes a quarter of the time of the first
question in a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def integers(numbers: Any) -> pa.Array:
    """Integers as an Arrow array.

    >>> integers([3, 1]).to_pylist()
    [3, 1]
    """
    import pyarrow as pa

    held = np.ascontiguousarray(numbers, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(held), [None, pa.py_buffer(held)])


def strings(texts: Sequence[str]) -> pa.Array:
    """Strings as an Arrow array.

    >>> strings(["a", "", "ø"]).to_pylist()
    ['a', '', 'ø']
    """
    import pyarrow as pa

    held = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, held)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(held), pa.py_buffer(ends), pa.py_buffer(b"".join(held)))


def numbers_of(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """The values of a column of integers without nulls.

    The array may be read-only, because it shares the memory of the column.

    >>> numbers_of(integers([3, 1])).tolist()
    [3, 1]
    """
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        if not column.num_chunks:
            return np.empty(0, np.int64)
        column = column.combine_chunks()
    if column.null_count or not pa.types.is_integer(column.type):
        raise ValueError(f"not integers alone: {column.type} with {column.null_count} nulls")
    return np.asarray(np.from_dlpack(column), np.int64)
