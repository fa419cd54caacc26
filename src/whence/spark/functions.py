"""The user's Python functions in a plan.

A function is the one that this very session was given a moment ago; it is never loaded from anything stored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from whence.rows.purity import varies

Function = Callable[..., Any]


def function_of(udf: Any) -> Function:
    """The function of a Python UDF: any of Catalyst's expressions that have `func`."""
    found: Function = _loaded(_command(udf))[0]
    return found


def why_varies(udf: Any) -> str:
    """Why the function may give something else when the pipeline runs again; empty if nothing says so."""
    reason = _why(_command(udf))
    return f"the function {udf.name()}() may give something else in each run: {reason}" if reason else ""


@lru_cache(maxsize=256)
def _why(command: bytes) -> str:
    try:
        function = _loaded(command)[0]
    except Exception as error:  # whatever loading it raises: the workers may have what is missing here
        return f"its code cannot be read here ({type(error).__name__}: {error})"
    return varies(function) or ""


def _command(udf: Any) -> bytes:
    return bytes(udf.func().command().unsafeArray())


def _loaded(command: bytes) -> Any:
    from pyspark.broadcast import Broadcast
    from pyspark.serializers import CloudPickleSerializer

    loads: Any = CloudPickleSerializer().loads  # type: ignore[no-untyped-call]
    found = loads(command)
    return loads(found.value) if isinstance(found, Broadcast) else found  # how Spark sends a large function
