"""Evaluate lineage predicates with DuckDB on local Parquet files, if it gives the same results as Spark."""

from whence.rows.duck.asking import count, numbered, select
from whence.rows.duck.files import Files
from whence.rows.duck.narrow import loosened
from whence.rows.duck.query import DuckQuery
from whence.rows.duck.translate import translated

__all__ = ["DuckQuery", "Files", "count", "loosened", "numbered", "select", "translated"]
