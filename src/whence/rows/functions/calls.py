"""Calls inside a function: methods, built-in functions, and the user's functions."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import re
import types
from collections.abc import Callable
from typing import TYPE_CHECKING

from whence.rows.expressions import TRUE, Call
from whence.rows.functions import numbers, texts
from whence.rows.functions.alternatives import each, items_of
from whence.rows.functions.known import BUILTINS, missing, not_missing, regular
from whence.rows.functions.operators import binary
from whence.rows.functions.parts import day_of, looked_up
from whence.rows.functions.refusal import Refusal
from whence.rows.functions.values import (
    Const,
    Date,
    Int,
    Item,
    Match,
    Method,
    Stamp,
    Str,
    Value,
    as_type,
    const,
    lifted,
)

if TYPE_CHECKING:
    from whence.rows.functions.looking import Looking

MISSING = frozenset({"isna", "isnull", "notna", "notnull"})


def call(node: ast.Call, at: Looking) -> Value:
    """Return the symbolic result of a call."""
    from whence.rows.functions.expressions import evaluate

    function = evaluate(node.func, at)
    if len(function) != 1:
        return each(function, lambda item: _call_value(item, node, at), at)
    return _call_value(function[0].item, node, at)


def _consumes(function: Item) -> bool:
    """Whether a function takes all elements of a generator, or stops where the others do not change the result."""
    if isinstance(function, Method):
        return function.name == "join"
    return isinstance(function, Const) and any(function.value is each for each in (any, all, sum, min, max))


def _call_value(function: Item, node: ast.Call, at: Looking) -> Value:
    from whence.rows.functions.expressions import evaluate, generated

    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(word.arg is None for word in node.keywords):
        raise Refusal("a call with * or **")
    args = [
        generated(arg, at) if isinstance(arg, ast.GeneratorExp) and _consumes(function) else evaluate(arg, at)
        for arg in node.args
    ]
    kwargs = {str(word.arg): evaluate(word.value, at) for word in node.keywords}
    if isinstance(function, Method):
        if kwargs:
            raise Refusal(f"{function.name}() with arguments by name")
        return each(function.owner, lambda item: _method(item, function.name, args, at), at)
    if not isinstance(function, Const):
        raise Refusal("it calls an unknown function")
    return called(function.value, args, kwargs, at)


def called(function: object, args: list[Value], kwargs: dict[str, Value], at: Looking) -> Value:
    """Return the symbolic result of calling a known object."""
    from whence.rows.functions.looking import look

    if isinstance(function, functools.partial):
        given = [const(arg) for arg in function.args]
        named = {name: const(value) for name, value in function.keywords.items()} | kwargs
        return called(function.func, given + args, named, at)
    if isinstance(function, types.FunctionType):
        known = _library(function)
        if known is not None:
            if set(kwargs) == {"flags"} and function.__module__ == "re" and len(args) == 2:
                return known([*args, kwargs["flags"]], at)
            if kwargs:
                raise Refusal(f"{function.__name__}() with arguments by name")
            return known(args, at)
        if "__wrapped__" in vars(function):
            raise Refusal(f"{function.__name__}() has a decorator")
        return look(function, args, kwargs, at)
    if kwargs:
        raise Refusal("a call of a built-in function with keyword arguments")
    made = BUILTINS.get(_name(function))
    if made is None:
        raise Refusal(f"it calls {_name(function)}")
    return made(args, at)


def _name(function: object) -> str:
    """The full name of a built-in or standard function; a description of any other object."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if isinstance(name, str) and getattr(builtins, name, None) is function:
        return name
    if isinstance(name, str) and module == "math" and getattr(math, name, None) is function:
        return f"math.{name}"
    return f"{module}.{name}" if name else f"an object of type {type(function).__name__}"


def _library(function: types.FunctionType) -> Callable[[list[Value], Looking], Value] | None:
    """Return the translation of a library function, if there is one."""
    module = function.__module__ or ""
    if module.startswith("pandas.") and function.__name__ in MISSING:
        return missing if function.__name__.startswith("is") else not_missing
    if module in ("re",) and function.__name__ in ("search", "match", "fullmatch"):
        return functools.partial(regular, function.__name__)
    top = module.partition(".")[0]
    if top in ("pandas", "numpy", "re", "pyspark", "random", "os", "json"):
        raise Refusal(f"it calls {module}.{function.__name__}")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise Refusal(f"{function.__name__}() is a generator or a coroutine")
    return None


def _method(item: Item, name: str, args: list[Value], at: Looking) -> Item | Value:
    if isinstance(item, Const) and type(item.value) is dict:
        if name == "get" and 1 <= len(args) <= 2:
            default = args[1] if len(args) == 2 else const(None)
            table = item.value
            return each(args[0], lambda key: looked_up(table, key, default, at), at)
        if name in ("keys", "values", "items") and not args:
            return Const(getattr(item.value, name)())
        raise Refusal(f"the method {name}() of a dictionary")
    if isinstance(item, Const) and isinstance(item.value, re.Pattern):
        if len(args) != 1:
            raise Refusal(f"{name}() of a regular expression between places")
        return regular(name, [const(item.value.pattern), args[0], const(item.value.flags)], at)
    if isinstance(item, Const) and type(item.value) is str and name == "join" and len(args) == 1:
        return _joined(item.value, args[0], at)
    if isinstance(item, Match):
        raise Refusal(f"the method {name}() of a match is not translated")
    item = lifted(item)
    if isinstance(item, Stamp) and name in ("date", "weekday", "isoweekday") and not args:
        item = day_of(item)
        if name == "date":
            return item
    if isinstance(item, Date) and not args:
        if name in ("weekday", "isoweekday"):
            day = Int(as_type(Call("WeekDay", (item.expr,), "integer"), "long"), 0, 6)
            return day if name == "weekday" else numbers.add(day, Const(1), at)
        if name == "isoformat":
            return Str(texts.written(item))
    if isinstance(item, Str):
        if name not in texts.METHODS:
            raise Refusal(f"the method {name}() of a text is not translated")
        if any(len(arg) != 1 for arg in args):
            raise Refusal(f"the method {name}() with an argument that has several possible values")
        return texts.METHODS[name](item.expr, [arg[0].item for arg in args], at)
    raise Refusal(f"the method {name}() is not translated")


def _joined(by: str, value: Value, at: Looking) -> Value:
    items = items_of(value)
    if items is None:
        raise Refusal("it joins strings that are not a list of known length")
    result = const("")
    for index, item in enumerate(items):
        for one in item:
            if not isinstance(lifted(one.item), Str):
                with at.under(one.guard):
                    at.fails(TRUE, TypeError)
        only_text = tuple(one for one in item if isinstance(lifted(one.item), Str))
        piece = binary(ast.Add(), const(by), only_text, at) if index else only_text
        result = binary(ast.Add(), result, piece, at)
    return result
