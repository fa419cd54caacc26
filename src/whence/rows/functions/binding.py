"""Bind the arguments of a call to the parameters of a function."""

from __future__ import annotations

import types

from whence.rows.functions.refusal import Refusal
from whence.rows.functions.source import Definition
from whence.rows.functions.values import Value, const


def bound(
    function: types.FunctionType, node: Definition, args: list[Value], kwargs: dict[str, Value]
) -> dict[str, Value]:
    """Map the parameters of a function to the values of a call."""
    wanted = node.args
    flags = function.__code__.co_flags
    if flags & 0x2A0:  # generators and coroutines
        raise Refusal("it is a generator or a coroutine")
    names = [each.arg for each in (*wanted.posonlyargs, *wanted.args)]
    if wanted.vararg or wanted.kwarg:
        raise Refusal("it takes any number of arguments")
    if len(args) > len(names):
        raise Refusal("it is called with too many arguments")
    found = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in found:
            raise Refusal(f"it is called with {name!r} twice")
        found[name] = value
    defaults = function.__defaults__ or ()
    for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        found.setdefault(name, const(value))
    for name, value in (function.__kwdefaults__ or {}).items():
        found.setdefault(name, const(value))
    missing = {*names, *(each.arg for each in wanted.kwonlyargs)} - set(found)
    unknown = set(found) - {*names, *(each.arg for each in wanted.kwonlyargs)}
    if missing or unknown:
        raise Refusal("it is called with the wrong arguments")
    return found
