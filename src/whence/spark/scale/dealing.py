"""Tuples as numbers, dealt to tasks by stretches. They travel packed: eight bytes each, and no row around each.

Each task of the frame sorts a million numbers or two, and sends what lies in one stretch as one row of bytes. The
stretches are found from a sample, so each has about as many tuples as the others.
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
"""So many numbers are sorted and packed together."""

SAMPLED = 64
"""So many numbers of a sample there are for each stretch, about: then few stretches have half as much again."""

PACKED = "stretch int, keys binary"


def dealt(keys: DataFrame, rows: int, tasks: int) -> DataFrame:
    """A frame with one column of numbers, as packed stretches; all of a stretch are in one partition."""
    packed = keys.mapInArrow(_packing(borders(keys, rows, tasks)), PACKED)
    if hasattr(packed, "repartitionById"):
        return packed.repartitionById(tasks, "stretch")
    return packed.repartition(tasks, "stretch")  # before Spark 4.1 a task may get several stretches, or none


def borders(keys: DataFrame, rows: int, tasks: int) -> Keys:
    """The first number of each stretch but the first."""
    share = min(1.0, tasks * SAMPLED / max(1, rows))
    if tasks == 1:
        return np.empty(0, np.uint64)
    some = keys.sample(fraction=share, seed=0) if share < 1 else keys
    found = np.unique(some.toArrow().column(0).drop_null().to_numpy()).view(np.uint64)
    places = np.arange(1, tasks) * len(found) // tasks
    return np.unique(found[places]) if len(found) else found


def _packing(borders: Keys) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What `mapInArrow` runs: numbers in any order become rows of sorted ones, each of one stretch."""

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
    """Numbers in any order as rows of a stretch and its sorted numbers, each once.

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
    """The numbers of a packed row."""
    return np.frombuffer(row.as_buffer(), np.uint64)


def by_stretch(batches: Iterable[pa.RecordBatch]) -> Iterator[list[Keys]]:
    """The packed numbers that a task got, those of one stretch together."""
    held: dict[int, list[Keys]] = {}
    for batch in batches:
        for number, keys in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            held.setdefault(number, []).append(unpacked(keys))
    for number in sorted(held):
        yield held.pop(number)


def plain(column: pa.Array) -> Ints:
    """A column of numbers, none of which is missing."""
    if column.null_count:
        raise BadType(AGAIN)
    return np.asarray(column.to_numpy(), np.int64)
