"""Does a function do the same again? One that draws random numbers, asks the time, or where its memory lies, need not.

Its lineage is recorded, and never used for another call. Names in its code (and in the helpers of its module) are
looked at, the objects that it holds, and whether the global generators moved on while it ran.
"""

from __future__ import annotations

import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

WORDS = frozenset(
    [
        "random",
        "default_rng",
        "rand",
        "randn",
        "randint",
        "integers",
        "shuffle",
        "permutation",
        "permuted",
        "choice",
        "choices",
        "sample",
        "normal",
        "uniform",
        "time",
        "time_ns",
        "perf_counter",
        "monotonic",
        "now",
        "today",
        "urandom",
        "uuid4",
        "token_bytes",
        "environ",
        "getenv",
        "input",
        "open",
        "load",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "memmap",
        "shares_memory",
        "may_share_memory",
        "flags",
        "strides",
        "base",
        "ctypes",
        "__array_interface__",
    ]
)
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


def unsteady(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the function may give another lineage for the same arguments.

    >>> unsteady(lambda x: x[np.random.permutation(len(x))], (), {}), unsteady(lambda x: x[::-1], (), {})
    (True, False)
    """
    if any(isinstance(each, GENERATORS) for each in (*args, *kwargs.values())):
        return True
    return any(map(_is_source, mentioned(function)))


def _is_source(item: Any) -> bool:
    return item in WORDS if isinstance(item, str) else isinstance(item, GENERATORS) or item is random


def mentioned(function: Any) -> Iterator[Any]:
    """The code of a function and its helpers, the names in it, and the objects that these and its closure hold."""
    return _mentioned(function, set())


def _mentioned(function: Any, seen: set[int]) -> Iterator[Any]:
    """The names in a function's code, and the objects that these names and its closure hold."""
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType) or id(function) in seen:
        return
    if (function.__module__ or "").split(".")[0] == "numpy":  # it may look at flags and strides, which decide nothing
        return
    seen.add(id(function))
    for code in _codes(function.__code__):
        yield code
        yield from code.co_names
        for name in code.co_names:
            item = function.__globals__.get(name)
            yield item if not isinstance(item, str) else None
            if isinstance(item, types.FunctionType) and item.__module__ == function.__module__:
                yield from _mentioned(item, seen)
    for cell in function.__closure__ or ():
        item = cell.cell_contents
        yield item if not isinstance(item, str) else None
        yield from _mentioned(item, seen)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def global_generators() -> tuple[Any, ...]:
    """The state of the generators that every module shares."""
    kind, key, place, *rest = np.random.get_state(legacy=True)  # noqa: NPY002  # old code moves this one on
    return kind, bytes(np.asarray(key).data), place, *rest, random.getstate()
