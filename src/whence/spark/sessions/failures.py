"""Turn Spark's errors into one sentence without the stack trace."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from whence.errors import BadScript, SparkFailed, UnknownName, WhenceError

Method = TypeVar("Method", bound=Callable[..., Any])

POSITION = re.compile(r"\(?\bline (\d+),? pos(?:ition)? (\d+)\)?")
# The parts after the sentence: SQLSTATE, plan, query, stack trace.
REST = re.compile(r"\s*(SQLSTATE:|\n== |;\s*line \d|\n\tat |\(line \d+, pos \d+\))", re.DOTALL)
CONDITION = re.compile(r"\s*\[[A-Z_0-9.]+\]\s*")


@contextmanager
def plainly(script: str, known: Iterable[str] = ()) -> Iterator[None]:
    """Convert errors of Spark in this block to whence's errors. `script` is what runs, `known` are the given
    sources.
    """
    try:
        yield
    except spark_errors() as error:
        raise _explained(script, known, error) from error


def spark_errors() -> tuple[type[Exception], ...]:
    """The exceptions that Spark raises: its own, and those of the connection to the JVM."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped] # py4j has no types
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


STOPPED = (
    "the Spark session of {what} was stopped: start one, and make the DataFrame and the pipeline again;"
    " log.backward(...) still works for recorded runs"
)


def is_stopped(session: Any) -> bool:
    """Whether a session was stopped."""
    java = session.sparkContext._jsc
    return java is None or bool(java.sc().isStopped())


def said_if_stopped(method: Method) -> Method:
    """Decorate a method of a pipeline: if it fails because its session was stopped, the error says so."""

    @functools.wraps(method)
    def called(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        except WhenceError:
            raise
        except Exception as error:
            if is_stopped(self.analysis.session):
                raise SparkFailed(STOPPED.format(what=repr(self.analysis.name))) from error
            raise

    return cast(Method, called)


def sentence(message: str) -> str:
    """The first sentence of a Spark error.

    >>> sentence("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\n== SQL (line 1, position 8) ==\\nselect 1/0")
    'Division by zero.'
    """
    if "Traceback (most recent call last)" in message:  # an error of a user's function is in the last line
        lines = [line for line in message.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
        return lines[-1]
    text = REST.split(CONDITION.sub("", message, count=1), maxsplit=1)[0]
    return " ".join(text.split())


def _explained(script: str, known: Iterable[str], error: Any) -> WhenceError:
    """An error of Spark in one sentence, with the line of the script."""
    message = str(error)
    if hasattr(error, "java_exception"):  # a Java error without an error class of Spark
        first = str(error.java_exception.toString()).split("\n\tat ")[0]
        return SparkFailed(f"{script}: {sentence(first.partition(': ')[2] or first)}")
    condition = str(getattr(error, "getCondition", lambda: None)() or "")
    found = POSITION.search(message)
    place = f"{script}:{found[1]}" if found else script
    if condition == "TABLE_OR_VIEW_NOT_FOUND":
        name = str((error.getMessageParameters() or {}).get("relationName", "?")).replace("`", "")
        near = difflib.get_close_matches(name, list(known), n=1)
        meant = f"; did you mean {near[0]!r}?" if near else f": give its data with --source {name}=PATH"
        return UnknownName(f"{place}: there is no table or view {name!r}{meant}")
    if condition.startswith("PARSE_") or type(error).__name__ in ("ParseException", "AnalysisException"):
        return BadScript(f"{place}: {sentence(message)}")
    return SparkFailed(f"{place}: {sentence(message)}")
