"""Which row a row of a source is: a number that is the same whenever the same data is read the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.spark.jvm import items

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.rows import Source
    from whence.spark.jvm import Jvm

FILES = 256  # beyond, looking a file up for each row costs more than reading
SHIFT = 40  # bits for the row within a file


def row_id(jvm: Jvm, source: Source) -> Any:
    """The expression of a row's identity, to stand directly above the source.

    A Parquet file counts its rows itself, whatever part of it is read. Elsewhere it is the place in the scan, which
    does not depend on the query: no filter passes an expression that counts.
    """
    files = files_of(source)
    if files is None:
        return jvm.parse("monotonically_increasing_id()")
    if len(files) == 1:
        return jvm.parse("_metadata.row_index")
    names = ", ".join("'" + each.replace("\\", "\\\\").replace("'", "\\'") + "'" for each in files)
    return jvm.parse(
        f"shiftleft(coalesce(nullif(array_position(array({names}), _metadata.file_path), 0L), "
        f"cast(raise_error('a file that was not there before') as bigint)) - 1L, {SHIFT}) + _metadata.row_index"
    )


def with_files(rows: DataFrame, source: Source) -> DataFrame:
    """Rows that have their identity in the last column, `_row`, with the file apart from the row in it."""
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


def files_of(source: Source) -> list[str] | None:
    if source.format != "parquet" or any(attr.name.lower() == "_metadata" for attr in source.columns):
        return None
    relation: Any = source.origin
    location = relation.relation().location()
    if "InMemoryFileIndex" not in location.getClass().getName():  # others list files only when a query runs
        return None
    files = [str(each.getPath().toString()) for each in items(location.allFiles())]
    return files if 0 < len(files) <= FILES else None
