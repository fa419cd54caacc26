"""Arrays that a function reads besides its arguments: globals, variables of functions around it, and attributes."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

DEEP = 3  # objects within objects whose attributes are looked at


def read_besides(function: Any, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The arrays that the code of a function, and of its helpers in the same module, refers to, by name.

    These are globals and variables of functions around it, and attributes that its code names: of such variables, of
    the arguments, and of the object whose method it is.

    >>> weights = np.ones(3)
    >>> list(read_besides(lambda x: x * weights))
    ['weights']
    >>> model = types.SimpleNamespace(weights=weights, bias=np.zeros(3), name="m")
    >>> list(read_besides(lambda x, model: x * model.weights, {"model": model}))
    ['model.weights']
    """
    found: dict[str, Any] = {}
    own = getattr(function, "__func__", function)
    named: set[str] = set()
    objects = dict(arguments or {})
    if own is not function:
        objects["self"] = function.__self__
    _add_read(own, found, objects, named, set())
    for name, item in objects.items():
        found.update(_arrays_of_attributes(name, item, named, DEEP))
    return found


def _add_read(function: Any, found: dict[str, Any], objects: dict[str, Any], named: set[str], seen: set[int]) -> None:
    if not isinstance(function, types.FunctionType) or id(function) in seen or _is_numpy(function):
        return
    seen.add(id(function))
    named.update(_names_in_code(function.__code__))
    for name, held in _held_by_function(function):
        if _is_data(held):
            found.setdefault(name, held)
        elif isinstance(held, types.FunctionType):
            if held.__module__ == function.__module__:
                _add_read(held, found, objects, named, seen)
        else:
            objects.setdefault(name, held)


def _is_data(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype.kind in "biuf" and bool(item.size)


def _arrays_of_attributes(label: str, item: Any, named: set[str], depth: int) -> Iterator[tuple[str, Any]]:
    """The arrays among the attributes that the code names, of an object and of its parts."""
    if not depth or isinstance(item, (type, types.ModuleType, types.FunctionType, np.ndarray)):
        return
    for key, each in getattr(item, "__dict__", {}).items():
        if key in named:
            if _is_data(each):
                yield f"{label}.{key}", each
            else:
                yield from _arrays_of_attributes(f"{label}.{key}", each, named, depth - 1)


def _is_numpy(function: types.FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] == "numpy"


def _held_by_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not there yet
            continue


@functools.lru_cache(1024)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    """The names that code, and code within it, looks up among the globals."""
    own = [each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    inner = [name for each in code.co_consts if isinstance(each, types.CodeType) for name in _global_names(each)]
    return tuple(dict.fromkeys((*own, *inner)))


@functools.lru_cache(1024)
def _names_in_code(code: types.CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in code, and in code within it."""
    inner = [name for each in code.co_consts if isinstance(each, types.CodeType) for name in _names_in_code(each)]
    return tuple(dict.fromkeys((*code.co_names, *inner)))
