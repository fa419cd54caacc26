"""A Spark session for a command: it starts without Spark's messages, and stops with the command."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from whence.errors import MissingExtra, SparkFailed
from whence.spark.sessions.local import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS = {
    "spark.log.level": "ERROR",
    # Spark's default of 200 is for clusters: here most partitions would be empty, and each has a cost.
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
}


@contextmanager
def session(config: Mapping[str, str] | None = None, *, verbose: bool = False) -> Iterator[SparkSession]:
    """A session with its own views and settings. If Spark already runs, it shares the running application."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtra.of("pyspark", "spark") from error

    given = {key: value for key, value in (config or {}).items() if key != "spark.master"}
    if SparkContext._active_spark_context is not None:
        beside = SparkSession.builder.getOrCreate().newSession()
        for key, value in given.items():
            if not key.startswith("spark.driver."):  # settings of the running driver cannot change
                beside.conf.set(key, value)
        yield beside
        return
    master = (config or {}).get("spark.master", "local[*]")
    with tempfile.TemporaryDirectory(prefix="whence-spark-") as place:
        # On one machine, Spark should not depend on how the host name resolves.
        near = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings = {
            **DEFAULTS,
            **(near if master.startswith("local") else {}),
            "spark.sql.warehouse.dir": str(Path(place) / "warehouse"),
            **given,
        }
        started = _started(master, settings, None if verbose else Path(place) / "log")
        try:
            yield started
        finally:
            started.stop()


def _started(master: str, settings: dict[str, str], log: Path | None) -> SparkSession:
    from pyspark.errors import PySparkException

    if log is None:
        return local_session(master, **settings)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # the caller reports errors
    try:
        with _elsewhere(log):
            return local_session(master, **settings)
    except PySparkException as error:
        said = [line for line in log.read_text(errors="replace").splitlines() if line.strip()][-3:]
        raise SparkFailed(f"Spark did not start ({error}); it said: {' / '.join(said) or 'nothing'}") from error


@contextmanager
def _elsewhere(log: Path) -> Iterator[None]:
    """Redirect the standard error of processes started in this block to a file: that of the JVM, until it ends."""
    sys.stderr.flush()
    kept = os.dup(2)
    target = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(target)
