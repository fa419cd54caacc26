"""Stored runs: a later program asks them without the pipeline's code, and without Spark if DuckDB can answer."""

from whence.spark.stored.listed import Runs
from whence.spark.stored.run import StoredRun, open_run

__all__ = ["Runs", "StoredRun", "open_run"]
