"""The user's Python functions in a plan.

A function always comes from the current session; it is never loaded from a log.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from whence.rows import Call, Inside, Udf, fresh
from whence.rows.determinism.batches import beyond_row
from whence.rows.determinism.purity import varies
from whence.rows.functions import Untranslated, code_of, held_by, translate, translate_columns
from whence.spark.catalyst.pandas_functions import by_row, of_each

Function = Callable[..., Any]

# Spark's evalType codes of functions that get columns, one batch at a time, and return a value for each row.
COLUMNS, PARTS = frozenset({200, 204, 250, 251}), frozenset({204, 251})
PANDAS = 200
ROW_BY_ROW, PICKLED = frozenset({100, 101}), 100  # functions of one row's values: pickled, or through Arrow
REMEMBERED = 256  # the most functions whose analysis is cached
_known: OrderedDict[bytes, str] = OrderedDict()
_insides: OrderedDict[tuple[Any, ...], tuple[Inside | str, str, tuple[str, ...]]] = OrderedDict()


def function_of(udf: Any) -> Function:
    """Return the function of a Python UDF, which may be any of Catalyst's expressions with `func`.

    This session made the function, so it is safe to load it here; a function is never loaded from a log.
    """
    from pyspark.broadcast import Broadcast
    from pyspark.serializers import CloudPickleSerializer

    loads: Any = CloudPickleSerializer().loads  # type: ignore[no-untyped-call]  # PySpark's
    with _broadcasts(udf.func()):
        found = loads(_command(udf))
        if isinstance(found, Broadcast):  # Spark broadcasts large functions
            found = loads(found.value)
    function: Function = found[0] if isinstance(found, tuple) else found  # with its return type, or alone
    return function


def why_varies(udf: Any) -> str:
    """Why the function may return another value in another run; empty if there is no sign of that."""
    command = _command(udf)
    if command not in _known:
        _known[command] = _why(udf)
        while len(_known) > REMEMBERED:
            _known.popitem(last=False)
    reason = _known[command]
    return f"the function {udf.name()}() may return another value in each run: {reason}" if reason else ""


def _why(udf: Any) -> str:
    try:
        function = function_of(udf)
    except Exception as error:  # user code may raise anything; the workers may have what is missing here
        return f"its code cannot be read here ({type(error).__name__}: {error})"
    found = varies(function)
    if found is None and hasattr(udf, "evalType") and int(udf.evalType()) in COLUMNS:
        found = beyond_row(function, parts=int(udf.evalType()) in PARTS)
    return found or ""


def makes_rows_of_rows(java: Any) -> bool:
    """Whether a function of batches is `apply(axis=1)`, whose function gets one row at a time."""
    try:
        return by_row(function_of(java))
    except Exception:  # loading runs user code, which may raise anything
        return False


def looked_into(udf: Udf, java: Any) -> Udf:
    """Add the translation of a Python function, or the reason why it has none."""
    kind = int(java.evalType())
    types = tuple(arg.dtype for arg in udf.args)
    key = (hashlib.sha256(_command(java)).digest(), types, udf.dtype, kind, "timestamp" in types and _by_utc())
    if key not in _insides:
        _insides[key] = _inside(udf, java, kind)
        while len(_insides) > REMEMBERED:
            _insides.popitem(last=False)
    found, code, holds = _insides[key]
    udf = replace(udf, code=code, title=f"{java.name()}()", holds=holds)
    return replace(udf, inside=found) if isinstance(found, Inside) else replace(udf, closed=found)


def of_spark_ml(java: Any) -> tuple[str, ...] | None:
    """Return what a function of `pyspark.ml` contains: for a fitted model, its learned state. None if it is another
    function.

    Spark's models and transformers compute a row's value from that row alone, and always the same value.
    """
    made = str(java.function().getClass().getName())
    if not made.startswith("org.apache.spark.ml."):
        return None
    name = made.partition("$")[0].rpartition(".")[2]
    return (f"the state that a {name} learned from the rows it was fitted on",) if name.endswith("Model") else ()


def known_of(java: Any) -> tuple[str, tuple[str, ...]]:
    """The hash of a function of rows or groups (empty if there is none), and the data that it contains."""
    try:
        function = function_of(java)
    except Exception:  # loading runs user code, which may raise anything
        return "", ()
    return (f"{int(java.evalType())} {hashed}" if (hashed := code_of(function)) else ""), held_by(function)


def _inside(udf: Udf, java: Any, kind: int) -> tuple[Inside | str, str, tuple[str, ...]]:
    if any(isinstance(arg, Call) and arg.name == "NamedArgumentExpression" for arg in udf.args):
        return "it is called with arguments by name", "", ()
    try:
        function = function_of(java)
    except Exception as error:  # user code may raise anything; the workers may have what is missing here
        return f"its code cannot be read here ({type(error).__name__})", "", ()
    code = f"{kind} {hashed}" if (hashed := code_of(function)) else ""
    return _value_of(udf, function, kind), code, held_by(function)


def _value_of(udf: Udf, function: Function, kind: int) -> Inside | str:
    """The translation of a function, or why there is none."""
    if not udf.pure:
        return "it may return another value each time"
    each = of_each(function) if kind == PANDAS else None
    if each is not None:
        found = translate(each.function, [udf.args[each.place].dtype], udf.dtype, travels="pandas")
        return str(found) if isinstance(found, Untranslated) else _placed(found, each.place, udf)
    if kind == PANDAS:
        found = translate_columns(function, [arg.dtype for arg in udf.args], udf.dtype)
        return str(found) if isinstance(found, Untranslated) else found
    if kind not in ROW_BY_ROW:
        return "it takes columns, not values"
    travels = "pickle" if kind == PICKLED else "arrow"
    types = [arg.dtype for arg in udf.args]
    found = translate(function, types, udf.dtype, travels=travels, utc="timestamp" in types and _by_utc())
    return str(found) if isinstance(found, Untranslated) else found


def _by_utc() -> bool:
    """Whether Spark's workers show timestamps in UTC. Local workers do if this process does.

    A worker has the time zone of its own process, which the JVM starts with the JVM's environment variables.
    """
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    if time.tzname != ("UTC", "UTC") or time.timezone or context is None:
        return False
    own = context.getConf().get("spark.executorEnv.TZ") is None
    followed = context._jvm.java.lang.System.getenv("TZ") == os.environ.get("TZ")
    return own and followed and str(context.master).startswith("local[")


def _placed(inside: Inside, place: int, udf: Udf) -> Inside:
    """The same translation with all arguments as parameters. The others belong to an index and are not read."""
    parameters = [fresh(f"_{index}", arg.dtype) for index, arg in enumerate(udf.args)]
    parameters[place] = inside.parameters[0]
    return replace(inside, parameters=tuple(parameters))


def _command(udf: Any) -> bytes:
    return bytes(udf.func().command().unsafeArray())


@contextmanager
def _broadcasts(function: Any) -> Iterator[None]:
    """Register the broadcast variables of a function for unpickling. Spark itself does that only on workers."""
    from pyspark import SparkContext
    from pyspark.core.broadcast import Broadcast, _broadcastRegistry

    context: Any = SparkContext._active_spark_context
    added = []
    for java in function.broadcastVars():
        number = java.id()
        if number in _broadcastRegistry:
            continue
        value: Any = Broadcast.__new__(Broadcast)
        value._sc, value._jbroadcast, value._python_broadcast = context, java, java.value()
        value._path, value._pickle_registry = str(java.value().path()), context._pickled_broadcast_vars
        _broadcastRegistry[number] = value
        added.append(number)
    try:
        yield
    finally:
        for number in added:
            del _broadcastRegistry[number]
