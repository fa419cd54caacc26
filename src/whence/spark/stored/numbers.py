"""Rows by number: those of a source over all its files, and those of an output."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from whence.errors import NotTraceable
from whence.spark.running.artifacts import row_count
from whence.spark.sources.files import SHIFT
from whence.spark.sources.row_ids import local_files
from whence.spark.tracing.questions import RowNumbers

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.rows import Source


def row_counts(source: Source) -> list[int] | None:
    """The rows of each file of a source, in the order of the files; None if it is not Parquet on this machine."""
    files = local_files(source)
    return None if files is None else [row_count((path,)) for path in files.paths]


def ids_of(rows: RowNumbers, source: Source) -> RowNumbers:
    """Numbers over all files as the ids that rows have: the place of the file, and the row in it."""
    from bisect import bisect_right

    first = _first(source)
    made = []
    for number in rows.numbers:
        place = bisect_right(first, number) - 1
        made.append((place << SHIFT) | (number - first[place]))
    return RowNumbers(tuple(made))


def numbers_of(identities: pa.Table, source: Source) -> pa.ChunkedArray:
    """Identities, a file and a row in it, as numbers over all files."""
    import numpy as np
    import pyarrow as pa

    first = np.array(_first(source), np.int64)
    files = identities.column("_file").combine_chunks()
    rows = identities.column("_row").to_numpy()
    return pa.chunked_array([pa.array(np.sort(first[files.indices.to_numpy()] + rows), pa.int64())])


def places_of(rows: pa.Table, output: pa.Table) -> pa.ChunkedArray:
    """The places of all rows of an output that are among the given ones."""
    import pyarrow as pa

    wanted = {tuple(map(repr, row.values())) for row in _unnamed(rows).to_pylist()}
    held = (tuple(map(repr, row.values())) for row in _unnamed(output).to_pylist())
    return pa.chunked_array([pa.array([place for place, row in enumerate(held) if row in wanted], pa.int64())])


def _unnamed(rows: pa.Table) -> pa.Table:
    """Columns by place: names may repeat."""
    return rows.rename_columns([str(place) for place in range(rows.num_columns)])


def _first(source: Source) -> list[int]:
    counts = row_counts(source)
    if counts is None:
        raise NotTraceable(f"the rows of source {source.name!r} have no numbers: it is not Parquet on this machine")
    return [0, *accumulate(counts)]
