"""Row numbers: of a source over all its files, and of an output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.errors import NotTraceable
from whence.spark.sources.numbering import Numbering, ids_of, numbering_of
from whence.spark.sources.row_ids import files_of, local_files
from whence.spark.tracing.questions import RowNumbers

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.rows import Source
    from whence.spark.catalyst.jvm import Jvm


def numbering(source: Source, jvm: Jvm) -> Numbering | None:
    """How the rows of a source are numbered; None if it is not Parquet on this machine."""
    return None if local_files(source) is None else numbering_of(source, jvm)


def by_id(rows: RowNumbers, source: Source, jvm: Jvm) -> RowNumbers:
    """Convert row numbers over all files to row ids."""
    return RowNumbers(tuple(_required(source, jvm).ids(rows.numbers).tolist()))


def by_number(identities: pa.Table, source: Source, jvm: Jvm) -> pa.ChunkedArray:
    """Convert identities (a file and a row in it) to sorted row numbers over all files."""
    import pyarrow as pa

    found = _required(source, jvm).numbers(ids_of(identities, files_of(source)))
    found.sort()
    return pa.chunked_array([pa.array(found, pa.int64())])


def places_of(rows: pa.Table, output: pa.Table) -> pa.ChunkedArray:
    """The row numbers of all output rows that equal one of the given rows."""
    import pyarrow as pa

    wanted = set(_as_texts(rows))
    return pa.chunked_array(
        [pa.array([place for place, row in enumerate(_as_texts(output)) if row in wanted], pa.int64())]
    )


def _as_texts(rows: pa.Table) -> list[tuple[str, ...]]:
    """The rows as tuples of strings, so that NaN equals NaN. Columns are matched by index, because names may repeat."""
    return list(zip(*(map(repr, column.to_pylist()) for column in rows.columns), strict=True))


def _required(source: Source, jvm: Jvm) -> Numbering:
    found = numbering(source, jvm)
    if found is None:
        raise NotTraceable(f"the rows of source {source.name!r} have no numbers: it is not Parquet on this machine")
    return found
