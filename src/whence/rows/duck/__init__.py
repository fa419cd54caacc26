"""Lineage predicates answered by DuckDB over local Parquet files, where it means by them what Spark means."""

from whence.rows.duck.asking import count, select
from whence.rows.duck.files import Files
from whence.rows.duck.translate import translated

__all__ = ["Files", "count", "select", "translated"]
