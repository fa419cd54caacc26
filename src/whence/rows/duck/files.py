"""Parquet files as DuckDB reads them, and the columns that a query reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from whence.errors import BadType
from whence.rows.duck.footers import readable
from whence.rows.duck.literals import identifier, literal_sql, quoted
from whence.rows.duck.types import DUCKDB
from whence.rows.expressions import Attr, Literal

SHIFT = 40  # bits for the row within a file, as in Spark's row numbers
COUNTED = frozenset({"file_row_number", "file_index"})  # DuckDB's names for positions, unless a column has this name


@dataclass(frozen=True, slots=True)
class Files:
    """Local Parquet files and the columns to read, with their names in the files.

    >>> Files(("/data/orders.parquet",), (Attr(1, "o_orderkey", "long"),)).paths
    ('/data/orders.parquet',)
    """

    paths: tuple[str, ...]  # in the order in which rows are numbered
    columns: tuple[Attr, ...]
    partitions: tuple[tuple[Attr, tuple[Literal, ...]], ...] = ()  # partition columns: the value for each file

    def __post_init__(self) -> None:
        if not self.paths:
            raise BadType("no files were given to read")
        if len(set(self.columns)) < len(self.columns):
            raise BadType(f"a column occurs twice: {', '.join(map(str, self.columns))}")

    def require(self, columns: Iterable[Attr]) -> None:
        """Raise if a column is not among the columns."""
        for attr in columns:
            if attr not in self.columns:
                raise BadType(f"the files have no column {attr}: they have {', '.join(map(str, self.columns))}")

    def called(self, columns: tuple[Attr, ...]) -> Files:
        """Return the same files with other attributes for the columns."""
        new = {old: replace(attr, name=old.name) for attr, old in zip(columns, self.columns, strict=True)}
        partitions = tuple((new[attr], values) for attr, values in self.partitions)
        return Files(self.paths, tuple(new.values()), partitions)

    def names(self, alias: str) -> dict[Attr, str]:
        """The SQL expression of each column."""
        held = {attr: _column_sql(f"{alias}.{identifier(attr.name)}", attr.dtype) for attr in self.columns}
        return held | {attr: _looked_up(values, alias) for attr, values in self.partitions}

    def readable(self, columns: Iterable[Attr], identity: bool = False) -> bool:
        """Whether DuckDB reads these columns as Spark does, and can number the rows if `identity`."""
        if len(set(self.paths)) < len(self.paths) or any("\0" in attr.name for attr in self.columns):
            return False
        columns, partitions = tuple(columns), dict(self.partitions)
        asked = [partitions[attr] for attr in columns if attr in partitions]
        if any(literal_sql(value) is None for values in asked for value in values):
            return False
        held = tuple(attr for attr in columns if attr not in partitions)
        return readable(self.paths, held, COUNTED if identity or asked else frozenset())

    def sql(self) -> str:
        """The SQL table function that reads all files. Paths are taken literally, not as patterns."""
        paths = ", ".join(str(quoted(_literally(path))) for path in self.paths)
        # The minimum and maximum of a column do not include NaN: without can_have_nan, rows with NaN would be skipped.
        return f"read_parquet([{paths}], hive_partitioning = false, union_by_name = false, can_have_nan = true)"


def _column_sql(name: str, dtype: str) -> str:
    """Add UTC, the time zone of the connection, to timestamps: Parquet's old format does not store it."""
    return f"CAST({name} AS {DUCKDB[dtype]})" if dtype == "timestamp" else name


def _looked_up(values: tuple[Literal, ...], alias: str) -> str:
    """Look a partition value up by the index of the file."""
    return f"([{', '.join(str(literal_sql(value)) for value in values)}])[CAST({alias}.file_index AS BIGINT) + 1]"


def row_sql(alias: str) -> str:
    """The row number: the index of the file in the list, and the index of the row in the file."""
    return f"((CAST({alias}.file_index AS BIGINT) << {SHIFT}) | {alias}.file_row_number)"


def _literally(path: str) -> str:
    """Escape the characters of a path that would be a pattern."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in path)
