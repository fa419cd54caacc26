"""Which row a row of a source is: a number that is the same whenever the same data is read the same way."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from whence.spark.jvm import items

if TYPE_CHECKING:
    import pyarrow as pa
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


def named(numbers: pa.Table, source: Source) -> pa.Table:
    """The same for a table of identities, `_row`, in memory: a file's name is there once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    files = files_of(source)
    if files is None:
        return numbers
    rows = numbers.column("_row")
    places = pc.cast(pc.shift_right(rows, SHIFT), pa.int32()).combine_chunks()
    within = pc.bit_wise_and(rows, (1 << SHIFT) - 1)
    return pa.table({"_file": pa.DictionaryArray.from_arrays(places, pa.array(files)), "_row": within})


# By the name that an object of the JVM has here, with the object itself: another may get the name after it.
_known: dict[str, tuple[weakref.ref[Any], tuple[str, ...] | None]] = {}


def files_of(source: Source) -> tuple[str, ...] | None:
    """The files in the order in which rows are numbered; None if rows are not numbered by files.

    Asking the JVM takes milliseconds, and a relation keeps its files: a source that has others now has changed.
    """
    if source.format != "parquet" or any(attr.name.lower() == "_metadata" for attr in source.columns):
        return None
    origin: Any = source.origin
    name = str(origin._target_id)
    known = _known.get(name)
    if known is None or known[0]() is not origin:
        known = _known[name] = (weakref.ref(origin, lambda _: _known.pop(name, None)), _listed(origin))
    return known[1]


def _listed(relation: Any) -> tuple[str, ...] | None:
    location = relation.relation().location()
    if "InMemoryFileIndex" not in location.getClass().getName():  # others list files only when a query runs
        return None
    files = tuple(str(each.getPath().toString()) for each in items(location.allFiles()))
    return files if 0 < len(files) <= FILES else None
