"""Inspect the code of a function before it runs: the names in it, and whether it handles exceptions."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any


def handles_errors(function: Callable[..., Any]) -> bool:
    """Whether the code of a function, or of its helpers, has an except clause that catches something.

    >>> import os
    >>> handles_errors(lambda x: x + 1), handles_errors(os.makedirs)
    (False, True)
    """
    return any(isinstance(each, types.CodeType) and _handles(each) for each in mentioned(function))


READERS = frozenset(
    (
        "Decimal", "Fraction", "astype", "complex", "double", "eval", "exec", "float", "float32", "float64", "fromhex",
        "fromiter", "fromisoformat", "fromstring", "genfromtxt", "int", "int32", "int64", "literal_eval", "load",
        "loads", "loadtxt", "read_csv", "strptime", "to_numeric", "unpack",
    )
)  # fmt: skip
"""Names of functions that make numbers of text."""


def reads_text(function: Callable[..., Any]) -> bool:
    """Whether the code of a function, or of its helpers, names something that makes numbers of text.

    >>> reads_text(lambda x: print(f"{x:.2f}")), reads_text(lambda x: float(f"{x:.2f}"))
    (False, True)
    """
    return any(isinstance(each, str) and each in READERS for each in mentioned(function))


def code_reads_text(code: types.CodeType) -> bool:
    """Whether this code names something that makes numbers of text."""
    return any(not READERS.isdisjoint(each.co_names) for each in _codes(code))


@lru_cache(maxsize=1 << 10)
def _handles(code: types.CodeType) -> bool:
    """Whether the code handles exceptions somewhere with an except clause."""
    names = [(each.offset, each.opname) for each in dis.get_instructions(code)]
    handling = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH", "POP_EXCEPT")
    for target in _targets(code):
        handler = [name for offset, name in names if offset >= target]
        until = handler.index("RERAISE") if "RERAISE" in handler else len(handler)
        if handler[0] == "COPY":
            continue  # cleanup code that Python adds after a handler
        if any(name in handling for name in handler[:until]):
            return True
    return False


def _targets(code: types.CodeType) -> list[int]:
    """Return the offsets of the exception handlers, from the exception table."""
    found = []
    data = iter(code.co_exceptiontable)
    while _varint(data) is not None:
        _, target, _ = _varint(data), _varint(data), _varint(data)
        found.append((target or 0) * 2)
    return found


def _varint(data: Any) -> int | None:
    first = next(data, None)
    if first is None:
        return None
    value = first & 63
    while first & 64:
        first = next(data)
        value = value << 6 | first & 63
    return int(value)


def mentioned(function: Any) -> Iterator[Any]:
    """Yield the code of a function and its helpers, the names in it, and the objects that these and its closure refer
    to.
    """
    return _mentioned(function, set())


def _mentioned(function: Any, seen: set[int]) -> Iterator[Any]:
    """Yield the code and names of a function, and the objects that these names and its closure refer to."""
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType) or id(function) in seen:
        return
    # NumPy's own functions may read flags and strides, but do not branch on values.
    if (function.__module__ or "").split(".")[0] == "numpy":
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
