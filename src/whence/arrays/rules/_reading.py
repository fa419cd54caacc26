"""Which arguments of a call its rule does not read, so that lineage surely does not follow from them."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from whence.arrays.rules._rules import RULES, VALUES_MATTER, Function

NEVER = ("casting", "dtype", "order")
"""Options that change how values are held, and never where they came from."""


@lru_cache(maxsize=1 << 10)
def loaded(code: types.CodeType) -> frozenset[str]:
    """The local names that a function's code reads.

    >>> sorted(loaded((lambda a, b, c: a + c).__code__))
    ['a', 'c']
    """
    found = {each.argval for each in dis.get_instructions(code) if each.opname.startswith("LOAD_FAST")}
    pairs = {name for name in found if isinstance(name, tuple)}
    return frozenset(code.co_cellvars).union(found - pairs, *pairs)


def never_loaded(function: Function) -> frozenset[str]:
    """The parameters of a function that its own code never reads.

    A function that takes `*args` or `**kwargs` (a wrapper, say) may hand them to code that does.

    >>> never_loaded(lambda a, unit="m": a + 1)
    frozenset({'unit'})
    >>> never_loaded(lambda a, unit="m", **more: a + 1)
    frozenset()
    """
    if not isinstance(function, types.FunctionType):
        return frozenset()
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return frozenset()
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - loaded(code)


def unread(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> set[int | str]:
    """The positions and names of arguments that do not matter: the rule never looks at them.

    >>> unread(np.sort, (np.zeros(3), 0, "stable"), {"stable": None}) == {2, "stable"}
    True
    >>> unread(np.clip, (np.zeros(3), 0.25, 0.75), {})
    {1, 2}
    """
    own = {key for key in NEVER if key in kwargs and not (key == "order" and function in (np.reshape, np.ravel))}
    if isinstance(function, np.ufunc):
        return {*range(min(len(args), function.nin)), *own}
    rule = RULES.get(function)
    if not isinstance(rule, types.FunctionType):
        return set()
    reads = loaded(rule.__code__)
    parameters = list(inspect.signature(rule).parameters.values())
    rest = {each.kind: each.name for each in parameters}
    by_place = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    by_name = {each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    found: set[int | str] = set(own)
    for position, item in enumerate(args):
        name = by_place[position] if position < len(by_place) else rest.get(inspect.Parameter.VAR_POSITIONAL)
        if name not in reads or _a_number(function, item):
            found.add(position)
    for key, item in kwargs.items():
        name = key if key in by_name else rest.get(inspect.Parameter.VAR_KEYWORD)
        if name not in reads or _a_number(function, item):
            found.add(key)
    return found


def _a_number(function: Function, item: Any) -> bool:
    """No rule takes cells, axes or lengths from a number with a fraction, unless it goes by values anyway."""
    return type(item) is float and function not in VALUES_MATTER
