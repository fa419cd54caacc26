"""Match the arguments of a call with NumPy's parameters, and list those that only say where cells go."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from whence.arrays.rules._rules import Function

SAYS_WHERE = frozenset(
    [
        "axis", "axes", "axis1", "axis2", "axisa", "axisb", "axisc", "condition", "deg", "destination", "indices",
        "indices_or_sections", "k", "kth", "m", "minlength", "n", "N", "new_shape", "newshape", "num", "obj", "offset",
        "pad_width", "repeats", "reps", "s", "shape", "shift", "sorter", "source", "start", "strides", "window_shape",
    ]
)  # fmt: skip
"""Parameters that are indices, axes and lengths: an array passed for one is selection lineage, not value lineage."""

VALUES_BY_THAT_NAME = {np.linalg.matrix_power}
"""Functions that compute with such a parameter: the exponent n."""


@lru_cache(maxsize=1 << 10)
def _signature(function: Function) -> tuple[tuple[str, Any], ...]:
    try:
        return tuple((each.name, each.kind) for each in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some builtins have no signature
        return ()


@lru_cache(maxsize=1 << 10)
def _places(function: Function) -> tuple[tuple[str, ...], str]:
    """Return the names of the positional parameters, and the name for further arguments."""
    parameters = _signature(function)
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    rest = [name for name, kind in parameters if kind is inspect.Parameter.VAR_POSITIONAL]
    return tuple(name for name, kind in parameters if kind in by_place), (rest or ["argument"])[0]


def named(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each argument with the name of NumPy's parameter.

    >>> dict(named(np.sum, ("x", 0), {"keepdims": True}))
    {'a': 'x', 'axis': 0, 'keepdims': True}
    """
    names, rest = _places(function)
    for position, item in enumerate(args):
        yield names[position] if position < len(names) else rest, item
    yield from kwargs.items()


def argument(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], name: str) -> Any:
    """Return one argument, passed by position or by name, or None.

    >>> argument(np.sum, (1, 0, None, "here"), {}, "out")
    'here'
    """
    if name in kwargs:
        return kwargs[name]
    names, _ = _places(function)
    at = names.index(name) if name in names else len(args)
    return args[at] if at < len(args) else None


def spelled_out(
    function: Function, rule: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the call with those arguments by name that the rule does not take by position: they differ between
    functions.

    >>> spelled_out(np.sum, lambda a, axis=None, *_, **more: None, (1, 0, None, None, True), {})
    ((1, 0), {'dtype': None, 'out': None, 'keepdims': True})
    """
    own, _ = _places(rule)
    names, _ = _places(function)
    beyond = min(len(own), len(args))
    if beyond == len(args) or len(args) > len(names):
        return args, dict(kwargs)
    return args[:beyond], {**dict(zip(names[beyond:], args[beyond:], strict=False)), **kwargs}


def says_where(function: Function, name: str) -> bool:
    """Whether an array passed for this parameter can only be selection lineage."""
    return name in SAYS_WHERE and function not in VALUES_BY_THAT_NAME
