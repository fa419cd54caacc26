"""Read footers of Parquet files to check whether Spark and DuckDB read the same values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from whence.errors import SourceChanged
from whence.rows.duck.literals import is_text
from whence.rows.duck.types import arrow_type, decimal, leaves, same_shape
from whence.rows.expressions import Attr

# Old files count days before 1582-10-15 and timestamps (in microseconds) before 1900-01-01 differently.
FIRST = {"date": -141_427, "timestamp": -2_208_988_800_000_000}


@dataclass(frozen=True, slots=True)
class Leaf:
    """One physical column, and the Spark type as which both engines read it, or None."""

    dtype: str | None
    ancient: bool  # it may contain days or timestamps that some writers count differently


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: its Arrow type (for the nesting) and its leaves."""

    arrow: Any
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class Footer:
    """The columns of a file by name. `clear` is False if two names differ only in case."""

    columns: dict[str, Column]
    clear: bool


def readable(paths: Iterable[str], columns: tuple[Attr, ...], absent: frozenset[str] = frozenset()) -> bool:
    """Whether both engines read the same values from all files, and no file has a column in `absent`."""
    return all(_readable(path, columns, absent) for path in paths)


def _readable(path: str, columns: tuple[Attr, ...], absent: frozenset[str]) -> bool:
    if not _is_local_file(path, columns):
        return False
    footer = _footer(path)
    if footer is None or not footer.clear or absent & {name.lower() for name in footer.columns}:
        return False
    return all(_fits(footer.columns.get(attr.name), attr.dtype) for attr in columns)


def _is_local_file(path: str, columns: tuple[Attr, ...]) -> bool:
    """Whether the path is a local file, and no directory in it is a partition of one of the columns."""
    if not os.path.isabs(path) or "\0" in path or not is_text(path):
        return False
    partitioned = {part.split("=", 1)[0].lower() for part in path.split(os.sep)[:-1] if "=" in part}
    return not partitioned & {attr.name.lower() for attr in columns}


def _fits(column: Column | None, dtype: str) -> bool:
    wanted = leaves(dtype)
    if column is None or wanted is None:
        return False
    if tuple(leaf.dtype for leaf in column.leaves) != wanted or any(leaf.ancient for leaf in column.leaves):
        return False
    return same_shape(column.arrow, arrow_type(dtype))


def _footer(path: str) -> Footer | None:
    try:
        now = os.stat(path)
    except FileNotFoundError as error:
        raise SourceChanged(f"{path} no longer exists: restore it, or run the pipeline again") from error
    return _read_footer(path, now.st_ino, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=1024)
def _read_footer(path: str, *_state: int) -> Footer | None:
    """Read the footer. The inode, size and time of the file are part of the cache key."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        meta = pq.read_metadata(path)
        fields = list(meta.schema.to_arrow_schema())
    except (pa.ArrowException, OSError):  # PyArrow cannot read it, so it is left to Spark
        return None
    if _old_statistics(str(meta.created_by)):
        return None
    columns, at = {}, 0
    for field in fields:
        end = at + _leaf_count(field.type)
        columns[field.name] = Column(field.type, tuple(_leaf_of_schema(meta, index) for index in range(at, end)))
        at = end
    names = {name.lower() for name in columns}
    return Footer(columns, clear=len(names) == len(fields) and at == meta.num_columns)


def _old_statistics(created_by: str) -> bool:
    """Whether the writer compared strings as signed bytes: DuckDB would skip row groups wrongly."""
    return re.match(r"parquet-mr version 1\.[0-9]\.", created_by) is not None


def _leaf_count(kind: Any) -> int:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _leaf_count(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return 1
    below = [kind.field(index) for index in range(kind.num_fields)]
    return sum(_leaf_count(each.type) for each in below) if below else 1


def _leaf_of_schema(meta: Any, index: int) -> Leaf:
    column = meta.schema.column(index)
    if column.physical_type == "INT96":  # it has no minimum, so only the writer tells
        return Leaf("timestamp", not _written_by_spark(meta, (3, 1), b"org.apache.spark.legacyINT96"))
    dtype = _dtype_of_parquet(column)
    return Leaf(dtype, dtype in FIRST and _ancient(meta, index, dtype))


def _written_by_spark(meta: Any, since: tuple[int, int], unless: bytes) -> bool:
    """Whether the file says that it was written by a Spark version with today's calendar, and not in legacy mode."""
    said = meta.metadata or {}
    version = re.match(rb"(\d+)\.(\d+)", said.get(b"org.apache.spark.version", b""))
    return version is not None and (int(version[1]), int(version[2])) >= since and unless not in said


def _dtype_of_parquet(column: Any) -> str | None:
    physical, logical = column.physical_type, column.logical_type
    said = _logical(logical)
    simple = {
        ("INT32", "INT8"): "byte",
        ("INT32", "INT16"): "short",
        ("INT32", "INT32"): "integer",
        ("INT32", "NONE"): "integer",
        ("INT64", "INT64"): "long",
        ("INT64", "NONE"): "long",
        ("FLOAT", "NONE"): "float",
        ("DOUBLE", "NONE"): "double",
        ("BOOLEAN", "NONE"): "boolean",
        ("BYTE_ARRAY", "STRING"): "string",
        ("BYTE_ARRAY", "NONE"): "binary",
        ("INT32", "DATE"): "date",
        ("INT64", "INSTANT"): "timestamp",
        ("INT64", "LOCAL"): "timestamp_ntz",
    }
    if said == "DECIMAL":
        dtype = f"decimal({column.precision},{column.scale})"
        return dtype if decimal(dtype) else None
    return simple.get((physical, said))


def _logical(logical: Any) -> str:
    """The logical type as a string; unsigned integers, other time units and all other types are `OTHER`."""
    import json

    kind = logical.type
    if kind in ("NONE", "STRING", "DATE", "DECIMAL"):
        return str(kind)
    said = json.loads(logical.to_json())
    if kind == "INT" and said["isSigned"]:
        return f"INT{said['bitWidth']}"
    if kind == "TIMESTAMP" and said["timeUnit"] == "microseconds":
        return "INSTANT" if said["isAdjustedToUTC"] else "LOCAL"
    return "OTHER"


def _ancient(meta: Any, index: int, dtype: str) -> bool:
    """Whether some days or timestamps of the file may be in the calendar of Spark 2.

    Spark 3 and later say so in the file. For other writers it depends on Spark's settings, unless all values are
    recent.
    """
    said = meta.metadata or {}
    if _written_by_spark(meta, (3, 0), b"org.apache.spark.legacyDateTime"):
        return False
    if b"org.apache.spark.version" in said or b"org.apache.spark.legacyDateTime" in said:
        return True
    for group in range(meta.num_row_groups):
        found = meta.row_group(group).column(index).statistics
        if found is None or (not found.has_min_max and found.num_values):
            return True
        if found.has_min_max and found.min_raw < FIRST[dtype]:
            return True
    return False
