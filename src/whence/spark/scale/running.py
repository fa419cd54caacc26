"""The Spark session for large questions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from whence.spark.sessions.failures import spark_errors
from whence.spark.sessions.local import local_session, prepare_environment
from whence.spark.sources.checkpoints import remember_checkpoints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def running() -> bool:
    """Whether a Spark session is running in this process."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    java = None if context is None else context._jsc
    try:
        return java is not None and not java.sc().isStopped()
    except spark_errors():  # the JVM has ended
        return False


def session() -> SparkSession:
    """Return the running session, or start one: on SPARK_MASTER, or according to spark-defaults.conf, or on this
    machine.
    """
    from pyspark.sql import SparkSession

    if running():
        return SparkSession.builder.getOrCreate()
    master = os.environ.get("SPARK_MASTER")
    if master is None and defaults_file() is not None:
        prepare_environment()
        remember_checkpoints()
        return SparkSession.builder.appName("whence").getOrCreate()
    return local_session(master or "local[*]")


def defaults_file() -> Path | None:
    """The settings file that Spark reads at its start: spark-defaults.conf in SPARK_CONF_DIR, or in conf of
    SPARK_HOME.
    """
    folder, home = os.environ.get("SPARK_CONF_DIR"), os.environ.get("SPARK_HOME")
    if not folder and not home:
        return None
    path = Path(folder or Path(home or "") / "conf") / "spark-defaults.conf"
    return path if path.is_file() else None
