"""Distribute tuples to tasks by ranges of integers. Tuples are packed: eight bytes each, without the cost of a row.

Each task of the frame sorts one or two million integers, and sends those of one range as one row of bytes. The ranges
are chosen from a sample, so that all have about the same number of tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from whence import _core
from whence.errors import BadType
from whence.relation.blocks import Ints
from whence.relation.compress import Keys
from whence.spark.scale.frames import AGAIN

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

RUN = 1 << 21
"""The number of integers that are sorted and packed together."""

SAMPLED = 64
"""The approximate sample size for each range: with it, few ranges get more than 1.5 times their share."""

PACKED = "stretch int, keys binary"

BATCH = 1 << 16
"""The number of integers that are sent to Python together."""


def dealt(keys: DataFrame, rows: int, tasks: int) -> DataFrame:
    """Pack a frame with one column of integers into ranges. Each range is in one partition."""
    packed = in_batches(keys).mapInArrow(_packing(borders(keys, rows, tasks)), PACKED)
    if hasattr(packed, "repartitionById"):
        return packed.repartitionById(tasks, "stretch")
    return packed.repartition(tasks, "stretch")  # before Spark 4.1, a task may get several ranges or none


def in_batches(frame: DataFrame) -> DataFrame:
    """Return the same frame, of which Spark sends BATCH rows at once to Python.

    Spark otherwise compares the bytes of a batch with a limit after every row, which takes as long as writing the row.
    These settings are those of a copy of the session; the user's session stays as it is.
    """
    spark = frame.sparkSession
    java = spark._jvm
    if java is None or not hasattr(frame, "repartitionById"):  # before Spark 4.1 there is no such limit
        return frame
    copy = spark._jsparkSession.cloneSession()
    copy.conf().set("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH))
    copy.conf().set("spark.sql.execution.arrow.maxBytesPerBatch", str((1 << 31) - 1))  # no limit
    rows = java.org.apache.spark.sql.classic.Dataset.ofRows(copy, frame._jdf.queryExecution().analyzed())
    return type(frame)(rows, spark)


def borders(keys: DataFrame, rows: int, tasks: int) -> Keys:
    """The first integer of each range except the first range."""
    share = min(1.0, tasks * SAMPLED / max(1, rows))
    if tasks == 1:
        return np.empty(0, np.uint64)
    some = keys.sample(fraction=share, seed=0) if share < 1 else keys
    found = np.unique(some.toArrow().column(0).drop_null().to_numpy()).view(np.uint64)
    places = np.arange(1, tasks) * len(found) // tasks
    return np.unique(found[places]) if len(found) else found


def _packing(borders: Keys) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow`: packs integers in any order into rows of sorted integers, each row in one
    range.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[Ints] = []
        count = 0
        for batch in batches:
            held.append(plain(batch.column(0)))
            count += batch.num_rows
            if count >= RUN:
                yield pack(np.concatenate(held).view(np.uint64), borders)
                held, count = [], 0
        if count:
            yield pack(np.concatenate(held).view(np.uint64), borders)

    return run


def pack(keys: Keys, borders: Keys) -> pa.RecordBatch:
    """Pack integers in any order into rows: a range, and its distinct integers, sorted.

    >>> packed = pack(np.array([9, 2, 7, 2], np.uint64), np.array([1, 5, 6], np.uint64))
    >>> packed.column("stretch").to_pylist(), [unpacked(each).tolist() for each in packed.column("keys")]
    ([1, 3], [[2], [7, 9]])
    """
    import pyarrow as pa

    keys = keys[: _core.sort_unique(keys)]
    edges = np.concatenate([[0], np.searchsorted(keys, borders, side="left"), [len(keys)]])
    filled = np.flatnonzero(np.diff(edges))
    offsets = np.append(edges[filled], len(keys)).astype(np.int32) * np.int32(keys.itemsize)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(keys)]
    packed = pa.Array.from_buffers(pa.binary(), len(filled), buffers)
    return pa.RecordBatch.from_arrays([pa.array(filled.astype(np.int32)), packed], ["stretch", "keys"])


def unpacked(row: pa.BinaryScalar) -> Keys:
    """The integers of a packed row."""
    return np.frombuffer(row.as_buffer(), np.uint64)


def by_stretch(batches: Iterable[pa.RecordBatch]) -> Iterator[list[Keys]]:
    """The packed integers of a task, grouped by range."""
    held: dict[int, list[Keys]] = {}
    for batch in batches:
        for number, keys in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            held.setdefault(number, []).append(unpacked(keys))
    for number in sorted(held):
        yield held.pop(number)


def plain(column: pa.Array) -> Ints:
    """A column of integers as an array. Raise if a value is missing."""
    if column.null_count:
        raise BadType(AGAIN)
    return np.asarray(column.to_numpy(), np.int64)
