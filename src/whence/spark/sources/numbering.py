"""The rows of a source as an axis: 0, 1, 2 ... in the order of its files, or of the scan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whence.rows import AggCall, Aggregate, Call, Literal, Named, fresh
from whence.rows.eager.ids import LONG
from whence.spark.catalyst.write import frame
from whence.spark.sources.files import SHIFT
from whence.spark.sources.row_ids import files_of, local_files

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.spark.catalyst.jvm import Jvm

SCAN_SHIFT = 33  # bits for the row within a part of the scan: how Spark's monotonically_increasing_id counts


@dataclass(frozen=True, slots=True)
class Numbering:
    """How many rows each part of a source has, and so where each row lies."""

    counts: tuple[int, ...]
    shift: int

    @property
    def rows(self) -> int:
        """All rows of the source."""
        return sum(self.counts)

    def places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of rows, given by their ids.

        >>> Numbering((3, 5), 40).places(np.array([2, (1 << 40) + 4]))
        array([2, 7])
        """
        starts = np.cumsum((0, *self.counts), dtype=np.int64)
        found: NDArray[np.int64] = starts[ids >> self.shift] + (ids & ((1 << self.shift) - 1))
        return found


def numbering(source: Source, jvm: Jvm) -> Numbering:
    """The numbering of a source: from the footers of its files where they are here, else counted by Spark."""
    files = local_files(source)
    if files is not None:
        import pyarrow.parquet as pq

        return Numbering(tuple(pq.read_metadata(path).num_rows for path in files.paths), SHIFT)
    listed = files_of(source)
    shift = SCAN_SHIFT if listed is None else SHIFT
    row_id, part, count = fresh("_row", LONG, nullable=False), fresh("_part", LONG), fresh("_rows", LONG)
    of_row = Call("shiftright", (row_id, Literal(shift, "integer")), LONG)
    counted = Named(count, AggCall("count", (Literal(1, "integer"),), LONG))
    parts = Aggregate(replace(source, row_id=row_id), (of_row,), (Named(part, of_row), counted))
    found = {row[0]: row[1] for row in frame(parts, jvm).collect()}
    length = len(listed) if listed is not None else max(found, default=-1) + 1
    return Numbering(tuple(found.get(at, 0) for at in range(length)), shift)
