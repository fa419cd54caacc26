"""Which row a row of a source is: a number that is the same whenever the same data is read the same way."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from whence.rows import Attr, Literal
from whence.rows.duck import Files
from whence.spark.catalyst.jvm import items

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.rows import Source
    from whence.spark.catalyst.jvm import Jvm

FILES = 256  # beyond, looking a file up for each row costs more than reading
SHIFT = 40  # bits for the row within a file
ROW = "_row"
METADATA = "_metadata"  # what Spark knows of the file that a row is in, where a query asks for it
# Types of columns that directories tell, and what Catalyst holds them as.
VALUES: dict[str, Callable[[Any], object]] = {
    "integer": int,
    "long": int,
    "string": lambda text: str(text.toString()),
    "date": lambda days: date(1970, 1, 1) + timedelta(days=days),
}


def row_id(jvm: Jvm, source: Source) -> Any:
    """The expression of a row's identity, to stand directly above the source.

    A Parquet file counts its rows itself, whatever part of it is read. Elsewhere it is the place in the scan, which
    does not depend on the query: no filter passes an expression that counts.
    """
    listed = _listed(source)
    if listed is None:
        return jvm.parse("monotonically_increasing_id()")
    if len(listed.files) == 1:
        return jvm.parse("_metadata.row_index")
    names = ", ".join("'" + each.replace("\\", "\\\\").replace("'", "\\'") + "'" for each in listed.uris)
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


def united(*numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """All numbers that there are, each once, in order."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = [chunk for each in numbers for chunk in each.chunks]
    values = pc.drop_null(pa.chunked_array(chunks, pa.int64())).to_numpy()
    if not (values[1:] > values[:-1]).all():  # files are mostly read from first to last
        values = np.sort(pc.unique(pa.array(values)).to_numpy())
    return pa.chunked_array([values], pa.int64())


def named(numbers: pa.ChunkedArray, source: Source) -> pa.Table:
    """Identities as a table: `_file` and `_row`, in the order of both, or `_row` alone. A file's name is there once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    files = files_of(source)
    if files is None:
        return pa.table({ROW: numbers})
    places = pc.cast(pc.shift_right(numbers, SHIFT), pa.int32()).combine_chunks()
    within = pc.bit_wise_and(numbers, (1 << SHIFT) - 1)
    return pa.table({"_file": pa.DictionaryArray.from_arrays(places, pa.array(files)), ROW: within})


@dataclass(frozen=True, slots=True)
class Listed:
    """The files of a relation, and for each column that their directories tell, its value for each file."""

    files: tuple[str, ...]
    uris: tuple[str, ...]  # the same as rows have them in `_metadata`: a blank is %20 there
    told: dict[str, tuple[object, ...]]


# By the name that an object of the JVM has here, with the object itself: another may get the name after it.
_known: dict[str, tuple[weakref.ref[Any], Listed | None]] = {}


def files_of(source: Source) -> tuple[str, ...] | None:
    """The files in the order in which rows are numbered; None if rows are not numbered by files."""
    listed = _listed(source)
    return None if listed is None else listed.files


def partition_values_of(source: Source) -> tuple[tuple[Attr, tuple[Literal, ...]], ...]:
    """The columns that directories tell, with their value for each file: `day=2024-05-01/part-0.parquet`."""
    listed = _listed(source)
    told = {} if listed is None else listed.told
    return tuple(
        (attr, tuple(Literal(value, attr.dtype) for value in told[attr.name]))
        for attr in source.columns
        if attr.name in told
    )


def _listed(source: Source) -> Listed | None:
    """Asking the JVM takes milliseconds, and a relation keeps its files: a source that has others now has changed."""
    if source.format != "parquet":
        return None
    origin: Any = source.origin
    name = str(origin._target_id)
    known = _known.get(name)
    if known is None or known[0]() is not origin:
        known = _known[name] = (weakref.ref(origin, lambda _: _known.pop(name, None)), _listing(origin))
    return known[1]


def _listing(relation: Any) -> Listed | None:
    location = relation.relation().location()
    if "InMemoryFileIndex" not in location.getClass().getName():  # others list files only when a query runs
        return None
    if any(str(name).lower() == METADATA for name in relation.relation().schema().fieldNames()):
        return None  # a column of the file's own, which hides what Spark knows of the file
    paths = [each.getPath() for each in items(location.allFiles())]
    if not 0 < len(paths) <= FILES:
        return None
    files = tuple(str(path.toString()) for path in paths)
    uris = tuple(_uri(path.toUri()) for path in paths)
    return Listed(files, uris, _told(location.partitionSpec(), paths))


def _uri(uri: Any) -> str:
    scheme, authority = uri.getScheme(), uri.getAuthority()
    return f"{scheme}:{'' if authority is None else f'//{authority}'}{uri.getRawPath()}"


def _told(spec: Any, paths: list[Any]) -> dict[str, tuple[object, ...]]:
    fields = list(spec.partitionColumns().fields())
    if not fields:
        return {}
    directories = {str(each.path().toString()): each.values() for each in items(spec.partitions())}
    rows = [directories.get(str(path.getParent().toString())) for path in paths]
    if any(row is None for row in rows):
        return {}
    known = [(place, field) for place, field in enumerate(fields) if field.dataType().typeName() in VALUES]
    return {str(field.name()): tuple(_value(row, place, field.dataType()) for row in rows) for place, field in known}


def _value(row: Any, place: int, dtype: Any) -> object:
    return None if row.isNullAt(place) else VALUES[dtype.typeName()](row.get(place, dtype))


def local_files(source: Source) -> Files | None:
    """The Parquet files of a source as DuckDB reads them; None if they are not all on this machine."""
    names = files_of(source)
    if names is None or len(set(source.columns)) < len(source.columns):
        return None
    if any(attr.name.lower() == METADATA for attr in source.columns):  # Spark alone knows it
        return None
    paths = tuple("/" + name.removeprefix("file:").lstrip("/") for name in names if name.startswith("file:/"))
    if len(paths) < len(names) or not all(map(os.path.isfile, paths)):
        return None
    return Files(paths, source.columns, partition_values_of(source))
