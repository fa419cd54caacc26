"""Errors of Spark during whence's own jobs in one sentence; if a task raised an error of whence, it is raised again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from whence import errors
from whence.errors import SparkFailed, WhenceError
from whence.spark.scale.running import running
from whence.spark.sessions.failures import sentence, spark_errors

STOPPED = "the Spark session was stopped; nothing was stored, run it again"
OURS = re.compile(r"whence\.errors\.(\w+): (.*)")


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Convert errors of Spark in this block to whence's errors. `doing` describes the work."""
    try:
        yield
    except WhenceError:
        raise
    except spark_errors() as error:
        raise of(doing, error) from error
    except AttributeError as error:
        if running():
            raise
        raise SparkFailed(f"{doing}: {STOPPED}") from error  # Spark fails like this after its session was stopped


def of(doing: str, error: Exception) -> WhenceError:
    """Return whence's error for a failed job."""
    message = str(error)
    if found := OURS.search(message):
        kind = getattr(errors, found[1], None)
        if isinstance(kind, type) and issubclass(kind, WhenceError):
            return kind(f"{doing}: {found[2].strip()}")
    if "SparkContext was shut down" in message or "stopped SparkContext" in message or not running():
        return SparkFailed(f"{doing}: {STOPPED}")
    return SparkFailed(f"{doing}: {sentence(message)}")
