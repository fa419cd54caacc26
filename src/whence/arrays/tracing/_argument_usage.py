"""What a function's code does with its arguments, as far as the code itself tells.

Numbers that were given as arguments notice comparisons (`_sizes.py`) wherever Python code makes them, and in NumPy's
functions. Other compiled code looks at them unnoticed, so a function that names any is not vouched for.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable
from typing import Any

import numpy as np

BUILTINS = frozenset(
    each.__name__
    for each in (
        abs, all, any, bool, dict, enumerate, filter, float, format, frozenset, int, isinstance, iter, len, list, map,
        max, min, next, print, range, reversed, round, set, slice, sorted, str, sum, tuple, type, zip,
    )
)  # fmt: skip


def vouched(function: Callable[..., Any]) -> bool:
    """Whether nothing but Python code and NumPy gets to see the function's arguments.

    >>> vouched(lambda a, by: np.sort(a) * by), vouched(lambda a, by: a * __import__("math").sqrt(by))
    (True, False)
    """
    return isinstance(function, types.FunctionType) and _seen_through(function, set())


def _seen_through(function: types.FunctionType, seen: set[int]) -> bool:
    if id(function) in seen:
        return True
    seen.add(id(function))
    cells = [each.cell_contents for each in function.__closure__ or ()]
    held = [function.__globals__.get(name, getattr(builtins, name, None)) for name in _globals(function.__code__)]
    return not _imports(function.__code__) and all(_harmless(each, seen) for each in (*cells, *held))


def _harmless(item: Any, seen: set[int]) -> bool:
    if isinstance(item, types.FunctionType):
        return _seen_through(item, seen)
    if isinstance(inner := getattr(item, "function", None), types.FunctionType):  # a tracked function
        return _seen_through(inner, seen)
    if item is np or isinstance(item, (bool, int, float, complex, str, bytes, type(None), np.ndarray)):
        return True
    if isinstance(item, (list, tuple, set, frozenset, dict)):
        return all(_harmless(each, seen) for each in (item.values() if isinstance(item, dict) else item))
    if isinstance(item, type) and issubclass(item, BaseException):
        return True
    module, name = getattr(item, "__module__", None), getattr(item, "__name__", "")
    return (module == "builtins" and name in BUILTINS) or (module or "").split(".")[0] == "numpy"


def _globals(code: types.CodeType) -> set[str]:
    found = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_globals(each) for each in code.co_consts if isinstance(each, types.CodeType)))


def _imports(code: types.CodeType) -> bool:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return any(each.opname == "IMPORT_NAME" for each in dis.get_instructions(code)) or any(map(_imports, inner))
