"""The session that large questions use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whence.spark.sessions.failures import spark_errors
from whence.spark.sessions.local import local_session, prepare_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def running() -> bool:
    """Whether a Spark session is running in this process."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    java = None if context is None else context._jsc
    try:
        return java is not None and not java.sc().isStopped()
    except spark_errors():  # its JVM is gone
        return False


def session() -> SparkSession:
    """The session that runs; else a new one, on SPARK_MASTER, or as spark-defaults.conf says, or on this machine."""
    from pyspark.sql import SparkSession

    if running():
        return SparkSession.builder.getOrCreate()
    if (master := os.environ.get("SPARK_MASTER")) is not None:
        return local_session(master)
    if "SPARK_CONF_DIR" in os.environ:
        prepare_environment()
        return SparkSession.builder.appName("whence").getOrCreate()
    return local_session()
