"""Arrays that a function reads besides its arguments: globals, and variables of the functions around it."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np


def read_besides(function: Any) -> dict[str, Any]:
    """The arrays that the code of a function, and of its helpers in the same module, refers to, by name.

    >>> weights = np.ones(3)
    >>> list(read_besides(lambda x: x * weights))
    ['weights']
    """
    found: dict[str, Any] = {}
    _read(getattr(function, "__func__", function), found, set())
    return found


def _read(function: Any, found: dict[str, Any], seen: set[int]) -> None:
    if not isinstance(function, types.FunctionType) or id(function) in seen or _is_numpy(function):
        return
    seen.add(id(function))
    for name, held in _held(function):
        if isinstance(held, np.ndarray) and held.dtype.kind in "biuf" and held.size:
            found.setdefault(name, held)
        elif isinstance(held, types.FunctionType) and held.__module__ == function.__module__:
            _read(held, found, seen)


def _is_numpy(function: types.FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] == "numpy"


def _held(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not there yet
            continue


@functools.lru_cache(1024)
def _names(code: types.CodeType) -> tuple[str, ...]:
    """The names that code, and code within it, may look up among the globals."""
    inner = [name for each in code.co_consts if isinstance(each, types.CodeType) for name in _names(each)]
    return tuple(dict.fromkeys((*code.co_names, *inner)))
