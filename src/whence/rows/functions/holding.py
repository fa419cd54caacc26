"""Find collections and tables in a function's closure and globals."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

MOST = 8  # names in the result
DEEPEST = 8  # nesting of functions
COLLECTIONS = (dict, list, set, frozenset, tuple)
TABLES = frozenset({"DataFrame", "Series", "ndarray", "Table", "Broadcast", "Index"})


def held_by(function: object) -> tuple[str, ...]:
    """Describe the data that a function contains, because no plan shows where this data came from.

    >>> rates = {"eur": 1.0, "nok": 0.09}
    >>> held_by(lambda currency: rates.get(currency))
    ('rates (a dict of 2)',)
    """
    found = dict.fromkeys(_held(function, set(), 0))
    return tuple(found)[:MOST]


def _held(function: object, seen: set[int], depth: int) -> Iterator[str]:
    if id(function) in seen or depth > DEEPEST:
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        yield from _held(function.func, seen, depth + 1)
        for place, each in enumerate(function.args):
            yield from _described(f"argument {place + 1}", each)
        return
    if isinstance(function, types.MethodType):
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        return
    own = not str(function.__module__).startswith("pyspark.")
    for name, value in _variables(function):
        if isinstance(value, types.FunctionType | types.MethodType | functools.partial):
            yield from _held(value, seen, depth + 1)
        elif own:
            yield from _described(name, value)


def _variables(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _described(name: str, value: object) -> Iterator[str]:
    kind = type(value)
    if kind in COLLECTIONS and len(value):  # type: ignore[arg-type]  # one of these
        yield f"{name} (a {kind.__name__} of {len(value)})"  # type: ignore[arg-type]  # one of these
    elif kind.__name__ in TABLES and kind.__module__.partition(".")[0] in ("pandas", "numpy", "pyarrow", "pyspark"):
        shape = getattr(value, "shape", None)
        size = " x ".join(map(str, shape)) if isinstance(shape, tuple) else ""
        yield f"{name} (a {kind.__name__}{' of ' + size if size else ''})"
