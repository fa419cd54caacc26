"""What goes wrong in Spark while it works for whence, in one sentence; as whence's own error where a task had one."""

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
    """Errors of Spark within become whence's; `doing` says what it was at."""
    try:
        yield
    except WhenceError:
        raise
    except spark_errors() as error:
        raise of(doing, error) from error
    except AttributeError as error:
        if running():
            raise
        raise SparkFailed(f"{doing}: {STOPPED}") from error  # Spark looks for what its session had


def of(doing: str, error: Exception) -> WhenceError:
    """The error that a failed job stands for."""
    message = str(error)
    if found := OURS.search(message):
        kind = getattr(errors, found[1], None)
        if isinstance(kind, type) and issubclass(kind, WhenceError):
            return kind(f"{doing}: {found[2].strip()}")
    if "SparkContext was shut down" in message or "stopped SparkContext" in message or not running():
        return SparkFailed(f"{doing}: {STOPPED}")
    return SparkFailed(f"{doing}: {sentence(message)}")
