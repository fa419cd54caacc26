"""Row ids of a source: the same row has the same id each time the data is read in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.rows.arrow import integers, numbers_of, strings
from whence.selection import distinct
from whence.spark.sources.files import SHIFT
from whence.spark.sources.registry import kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.rows import Source
    from whence.rows.duck import Files
    from whence.spark.catalyst.jvm import Jvm

ROW = "_row"


def row_id(jvm: Jvm, source: Source) -> Any:
    """The expression of a row's id. It must be used directly above the source."""
    return kind_of(source.origin).row_id(source, jvm)


def files_of(source: Source) -> tuple[str, ...] | None:
    """The files in the order in which rows are numbered; None if rows are not numbered by files."""
    listing = kind_of(source.origin).listing(source.origin)
    return None if listing is None else listing.files


def local_files(source: Source) -> Files | None:
    """The Parquet files of a source for DuckDB; None if they are not all on this machine."""
    return kind_of(source.origin).local_files(source)


def with_files(rows: DataFrame, source: Source) -> DataFrame:
    """Split the row id in the last column, `_row`, into `_file` and the row index in that file."""
    from pyspark.sql import functions as F

    files = files_of(source)
    if files is None:
        return rows
    if len(files) == 1:
        return rows.withColumn("_file", F.lit(files[0]))
    position = F.shiftright(F.col("_row"), SHIFT)
    names = F.array(*(F.lit(each) for each in files))
    named = rows.withColumn("_file", F.element_at(names, (position + 1).cast("int")))
    return named.withColumn("_row", F.col("_row") - F.shiftleft(position, SHIFT))


def united(*numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """The distinct numbers, sorted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = [chunk for each in numbers for chunk in each.chunks]
    values = numbers_of(pc.drop_null(pa.chunked_array(chunks, pa.int64())))
    if not (values[1:] > values[:-1]).all():  # usually they are sorted already
        values = distinct(values)
    return pa.chunked_array([integers(values)], pa.int64())


def named(numbers: pa.ChunkedArray, source: Source) -> pa.Table:
    """Identities as a table: `_file` and `_row`, sorted, or only `_row`. File names are dictionary-encoded."""
    import pyarrow as pa

    files = files_of(source)
    if files is None:
        return pa.table({ROW: numbers})
    ids = numbers_of(numbers)
    places, within = integers(ids >> SHIFT), pa.chunked_array([integers(ids & (1 << SHIFT) - 1)])
    return pa.table({"_file": pa.DictionaryArray.from_arrays(places.cast(pa.int32()), strings(files)), ROW: within})
