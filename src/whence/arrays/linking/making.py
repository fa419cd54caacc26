"""Whether the statement that made an array used no other array of the program.

`rng.random(5)` and `np.load(path)` use no array of the program, so that no link can have been lost there. The bytecode
of the statement shows which names it uses: each must be a module, a number, a string, a random generator, or a function
that itself uses nothing else.
"""

from __future__ import annotations

import builtins
import dis
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from whence.arrays.linking.places import INSTALLED, OWN

DEEP = 3  # levels of functions that call functions
LOADING = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FAST_CHECK")
ENDING = ("STORE_NAME", "STORE_FAST", "STORE_GLOBAL", "STORE_DEREF", "STORE_SUBSCR", "STORE_ATTR", "POP_TOP",
          "RETURN_VALUE", "RESUME")  # fmt: skip

Statement = tuple[tuple[str, str], ...]  # instructions: the operation and its name


@functools.lru_cache(256)
def _statements(code: types.CodeType) -> tuple[tuple[int, int, Statement], ...]:
    """Return the code between one store and the next: first and last offset, and instructions."""
    found, own, start = [], list[tuple[str, str]](), 0
    for each in dis.get_instructions(code):
        own.append((each.opname, str(each.argval)))
        if isinstance(each.argval, types.CodeType):  # a comprehension, a lambda
            own += [("LOAD_GLOBAL", name) for name in _from_outside(each.argval)]
        if each.opname in ENDING:
            found.append((start, each.offset, tuple(own)))
            own, start = [], each.offset + 1
    return tuple(found)


def _from_outside(code: types.CodeType) -> Iterator[str]:
    yield from code.co_freevars
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(each.argval)
        if isinstance(each.argval, types.CodeType):
            yield from _from_outside(each.argval)


def made_from_nothing(
    frame: types.FrameType | None, variable: str | None, something: Callable[[Any], bool] = lambda _: False
) -> bool:
    """Whether the array or number that is passed to a call, perhaps in that variable, was made without known data.

    `something` returns True for numbers that are known.
    """
    if frame is None:
        return False
    scope = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    if variable is None:
        now = [each for start, end, each in _statements(frame.f_code) if start <= frame.f_lasti <= end]
        return bool(now) and all(_uses_nothing(each, scope, something) for each in now)
    makers = []
    for _, _, each in _statements(frame.f_code):
        kind, name = each[-1]
        if kind.startswith("STORE_") and kind not in ("STORE_SUBSCR", "STORE_ATTR") and name == variable:
            makers.append(each)
        elif kind == "STORE_SUBSCR" and any(own == variable for op, own in each if op in LOADING):
            return False  # the variable was written to
    return bool(makers) and all(_uses_nothing(each, scope, something) for each in makers)


def _uses_nothing(statement: Statement, scope: Mapping[str, Any], something: Callable[[Any], bool]) -> bool:
    names = {name for kind, name in statement if kind in LOADING}
    stepwise = any("JUMP" in kind or "FOR_ITER" in kind for kind, _ in statement)  # the statement has branches or loops
    used = [scope.get(name, statement) for name in names]  # undefined names count as unknown data
    return not stepwise and all(
        each is not statement and not something(each) and _is_nothing(each, DEEP) for each in used
    )


def _is_nothing(item: Any, depth: int) -> bool:
    """Whether it contains no array, and calling it uses no arrays but its arguments."""
    if item is None or isinstance(item, (bool, int, float, complex, str, bytes, types.ModuleType, np.random.Generator)):
        return not isinstance(item, np.generic)
    if isinstance(item, (tuple, list)):
        return all(_is_nothing(each, depth) for each in item[:64])
    if isinstance(item, types.FunctionType) and not item.__code__.co_filename.startswith(INSTALLED):
        return (
            depth > 0 and item.__closure__ is None and all(_is_nothing(each, depth - 1) for each in _globals_of(item))
        )
    if isinstance(item, (types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, np.random.RandomState)):
        return not isinstance(getattr(item, "__self__", None), np.ndarray)
    return type(item).__module__.partition(".")[0] == OWN and callable(item)  # a tracked function


def _globals_of(function: types.FunctionType) -> Iterator[Any]:
    names = {**vars(builtins), **function.__globals__}
    for name in _from_outside(function.__code__):
        yield names.get(name, np.zeros(1))  # undefined names count as unknown data
