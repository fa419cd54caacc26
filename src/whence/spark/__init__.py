"""Spark: plans read into operators, operators run. The only package that imports pyspark."""

from whence.spark.sessions.local import local_session

__all__ = ["local_session"]
