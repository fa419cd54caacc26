"""Row numbers of a source: 0, 1, 2 ... in the order of its files, and of the rows in each file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import Damaged
from whence.rows import Project, Source, fresh, keep
from whence.rows.arrow import numbers_of
from whence.rows.duck.files import SHIFT
from whence.rows.eager.ids import LONG

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.spark.catalyst.jvm import Jvm

Ints = NDArray[np.int64]
PARTITION = 33  # bits for the row within a partition in Spark's monotonically_increasing_id


@dataclass(frozen=True, slots=True)
class Numbering:
    """Runs of consecutive row ids. `starts` are the first ids, in ascending order, `counts` the lengths of the runs,
    and `offsets` the row number of each run's first row.

    >>> numbering = Numbering.of([(0, 3), (1 << 40, 2)])
    >>> numbering.rows, numbering.numbers(np.array([1 << 40, 2])).tolist()
    (5, [3, 2])
    """

    starts: tuple[int, ...]
    counts: tuple[int, ...]
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, pieces: Iterable[tuple[int, int]]) -> Numbering:
        """Make a numbering from pairs (first id, count), in the order of the rows."""
        offset, found = 0, []
        for start, count in pieces:
            found.append((start, count, offset))
            offset += count
        found.sort()
        return cls(*(tuple(each[place] for each in found) for place in range(3)))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.counts)

    def numbers(self, ids: Any) -> Ints:
        """The numbers of the rows with these ids."""
        ids = np.asarray(ids, np.int64)
        starts = np.array(self.starts, np.int64)
        at = np.searchsorted(starts, ids, "right") - 1
        within = ids - starts[at] if len(starts) else ids
        if len(ids) and (at.min() < 0 or (within >= np.array(self.counts)[at]).any()):
            raise Damaged("a row number is outside the source: the source changed while it was read")
        return np.asarray(np.array(self.offsets, np.int64)[at] + within)

    def ids(self, numbers: Any) -> Ints:
        """The ids of the rows with these numbers."""
        numbers = np.asarray(numbers, np.int64)
        order = np.argsort(np.array(self.offsets, np.int64), kind="stable")
        # Empty pieces have the same offset as the next one, so they are skipped.
        order = order[np.array(self.counts, np.int64)[order] > 0]
        offsets = np.array(self.offsets, np.int64)[order]
        at = order[np.searchsorted(offsets, numbers, "right") - 1]
        return np.asarray(np.array(self.starts, np.int64)[at] + numbers - np.array(self.offsets, np.int64)[at])

    def as_list(self) -> list[list[int]]:
        """The form that is written to the log: pairs of first id and count, in the order of the rows."""
        order = sorted(range(len(self.starts)), key=lambda each: (self.offsets[each], self.counts[each]))
        return [[self.starts[each], self.counts[each]] for each in order]


def numbering_of(source: Source, jvm: Jvm) -> Numbering:
    """Number the rows of a source: from the footers of local Parquet files, else by counting with Spark."""
    from whence.spark.sources.row_ids import files_of, local_files

    files = files_of(source)
    if files is not None and local_files(source) is not None:
        import pyarrow.parquet as pq

        paths = ["/" + name.removeprefix("file:").lstrip("/") for name in files]
        return Numbering.of((place << SHIFT, int(pq.read_metadata(path).num_rows)) for place, path in enumerate(paths))
    return _counted(source, jvm, SHIFT if files is not None else PARTITION)


def _counted(source: Source, jvm: Jvm, shift: int) -> Numbering:
    from pyspark.sql import functions as F

    from whence.spark.catalyst.frames import frame
    from whence.spark.running.artifacts import described_jobs

    row_id = fresh("_id", LONG, nullable=False)
    rows = frame(Project(replace(source, row_id=row_id), keep(row_id)), jvm)
    pieces = rows.select(
        F.col("_id"),
        F.shiftright(F.col("_id"), shift).alias("piece"),
        F.input_file_name().alias("file"),
        F.input_file_block_start().alias("block"),
    )
    with described_jobs(jvm, f"counting the rows of {source.name}"):
        found = (
            pieces.groupBy("piece", "file", "block")
            .agg(F.min("_id").alias("start"), F.count(F.lit(1)).alias("rows"))
            .collect()
        )
    if shift == SHIFT:  # the piece is the index of the file
        merged: dict[int, int] = {}
        for each in found:
            merged[each.piece] = merged.get(each.piece, 0) + each.rows
        return Numbering.of((place << SHIFT, count) for place, count in sorted(merged.items()))
    return Numbering.of((each.start, each.rows) for each in sorted(found, key=lambda e: (e.file, e.block, e.piece)))


def ids_of(identities: pa.Table, files: Sequence[str] | None) -> Ints:
    """Compute row ids from identities. If rows are numbered by files, these have the columns `_file` and `_row`."""
    rows = numbers_of(identities.column("_row"))
    if files is None:
        return rows
    places = identities.column("_file").combine_chunks()
    return (numbers_of(places.indices) << SHIFT) + rows
