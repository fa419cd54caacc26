"""Raw, Array, Parquet and Parquet-GZip: the tuples as they are, in the formats that everyone has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Ints = NDArray[np.int64]

POWERS = 10 ** np.arange(1, 19, dtype=np.int64)


def names(out_axes: int, in_axes: int) -> list[str]:
    """b0, b1 ... for the output axes, then a0, a1 ... for the input axes."""
    return [f"b{axis}" for axis in range(out_axes)] + [f"a{axis}" for axis in range(in_axes)]


def table(chunk: Ints, columns: list[str]) -> pa.Table:
    """One chunk as an Arrow table."""
    return pa.table({name: np.ascontiguousarray(chunk[:, place]) for place, name in enumerate(columns)})


def text_size(chunks: Iterable[Ints]) -> int:
    """Bytes of the tuples as text: decimal numbers, a comma or a line break after each; no file is written."""
    total = 0
    for chunk in chunks:
        total += 2 * chunk.size  # the first digit and the separator
        for column in chunk.T:
            top = int(column.max(initial=0))
            total += sum(int(np.count_nonzero(column >= power)) for power in POWERS if power <= top)
    return total


def array_size(chunks: Iterable[Ints]) -> int:
    """Bytes of the tuples as a .npy file: a header of 128 bytes, then eight for each number."""
    return 128 + sum(chunk.size * 8 for chunk in chunks)


def write_array(chunk: Ints, path: Path) -> int:
    """The tuples as a .npy file; its size."""
    np.save(path, chunk)
    return path.stat().st_size


def write_parquet(chunks: Iterable[Ints], path: Path, columns: list[str], compression: str = "snappy") -> int:
    """The tuples as a Parquet file with pyarrow's defaults (dictionary first, row groups of 2^20); its size."""
    schema = pa.schema([(name, pa.int64()) for name in columns])
    with pq.ParquetWriter(path, schema, compression=compression) as writer:
        for chunk in regroup(chunks, 1 << 20):
            writer.write_table(table(chunk, columns))
    return path.stat().st_size


def regroup(chunks: Iterable[Ints], rows: int) -> Iterator[Ints]:
    """The same rows in chunks of exactly `rows`, the last one excepted: chunking must not favour a format."""
    held: list[Ints] = []
    count = 0
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            piece = chunk[start : start + rows - count]
            held.append(piece)
            count += len(piece)
            start += len(piece)
            if count == rows:
                yield held[0] if len(held) == 1 else np.concatenate(held)
                held, count = [], 0
    if held:
        yield held[0] if len(held) == 1 else np.concatenate(held)
