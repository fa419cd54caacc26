"""Tracing of Spark pipelines: read plans into operators, and run operators. This is the only package that imports
pyspark.
"""

from whence.spark.sessions.local import local_session
from whence.spark.sources.checkpoints import remember_checkpoints

__all__ = ["local_session"]

remember_checkpoints()
