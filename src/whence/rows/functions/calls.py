"""Calls inside of a function: Python's own, methods, functions of the user's."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import types
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

from whence.rows.expressions import FALSE, TRUE, Call, Compare, Expr, Literal
from whence.rows.functions import numbers, texts
from whence.rows.functions.numbers import Raised
from whence.rows.functions.patterns import PORTABLE, spelled
from whence.rows.functions.refusal import ITEMS, Refusal
from whence.rows.functions.values import (
    Alternative,
    Bool,
    Const,
    Date,
    Float,
    Int,
    Item,
    Items,
    Match,
    Method,
    Split,
    Str,
    Value,
    as_type,
    both,
    const,
    constant,
    either,
    is_plain,
    lifted,
    long,
    merged,
    negated,
    only,
    text,
)

if TYPE_CHECKING:
    from whence.rows.functions.looking import Looking

KINDS: dict[type, tuple[type, ...]] = {str: (Str,), int: (Int, Bool), float: (Float,), bool: (Bool,), date: (Date,)}
MISSING = frozenset({"isna", "isnull"})


def call(node: ast.Call, at: Looking) -> Value:
    """What a call gives."""
    from whence.rows.functions import expressions as e

    function = e.evaluate(node.func, at)
    if len(function) != 1:
        return e.each(function, lambda item: _called(item, node, at), at)
    return _called(function[0].item, node, at)


def _called(function: Item, node: ast.Call, at: Looking) -> Value:
    from whence.rows.functions import expressions as e

    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(each.arg is None for each in node.keywords):
        raise Refusal("a call with * or **")
    args = [e.evaluate(arg, at) for arg in node.args]
    kwargs = {str(each.arg): e.evaluate(each.value, at) for each in node.keywords}
    if isinstance(function, Method):
        if kwargs:
            raise Refusal(f"{function.name}() with arguments by name")
        return e.each(function.owner, lambda item: _method(item, function.name, args, at), at)
    if not isinstance(function, Const):
        raise Refusal("it calls something unknown")
    return called(function.value, args, kwargs, at)


def called(function: object, args: list[Value], kwargs: dict[str, Value], at: Looking) -> Value:
    """A call of a known object."""
    from whence.rows.functions.looking import look

    if isinstance(function, functools.partial):
        given = [const(arg) for arg in function.args]
        named = {name: const(value) for name, value in function.keywords.items()} | kwargs
        return called(function.func, given + args, named, at)
    if isinstance(function, types.FunctionType):
        known = _library(function)
        if known is not None:
            return known(args, at)
        if "__wrapped__" in vars(function):
            raise Refusal(f"{function.__name__}() is inside of a decorator")
        return look(function, args, kwargs, at)
    if kwargs:
        raise Refusal("a call of one of Python's functions with arguments by name")
    made = _BUILTINS.get(_name(function))
    if made is None:
        raise Refusal(f"it calls {_name(function)}")
    return made(args, at)


def _name(function: object) -> str:
    """The full name of one of Python's own functions; of anything else what it is."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if isinstance(name, str) and getattr(builtins, name, None) is function:
        return name
    if isinstance(name, str) and module == "math" and getattr(math, name, None) is function:
        return f"math.{name}"
    return f"{module}.{name}" if name else f"an object of type {type(function).__name__}"


def _library(function: types.FunctionType) -> Callable[[list[Value], Looking], Value] | None:
    """Functions of libraries whose meaning is known."""
    module = function.__module__ or ""
    if module.startswith("pandas.") and function.__name__ in MISSING:
        return _missing
    if module in ("re",) and function.__name__ in ("search", "match", "fullmatch"):
        return functools.partial(_regular, function.__name__)
    top = module.partition(".")[0]
    if top in ("pandas", "numpy", "re", "pyspark", "random", "os", "json"):
        raise Refusal(f"it calls {module}.{function.__name__}")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise Refusal(f"{function.__name__}() is a generator or a coroutine")
    return None


# --- methods


def _method(item: Item, name: str, args: list[Value], at: Looking) -> Item | Value:
    if isinstance(item, Const) and type(item.value) is dict:
        if name == "get" and 1 <= len(args) <= 2:
            default = args[1] if len(args) == 2 else const(None)
            table = item.value
            from whence.rows.functions import expressions as e

            return e.each(args[0], lambda key: looked_up(table, key, default, at), at)
        raise Refusal(f"the method {name}() of a dictionary")
    if isinstance(item, Const) and type(item.value) is str and name == "join" and len(args) == 1:
        return _joined(item.value, args[0], at)
    if isinstance(item, Match):
        raise Refusal(f"the method {name}() of a match is not translated")
    item = lifted(item)
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
            raise Refusal(f"the method {name}() with an argument that may be several things")
        return texts.METHODS[name](item.expr, [arg[0].item for arg in args], at)
    raise Refusal(f"the method {name}() is not translated")


def _joined(by: str, value: Value, at: Looking) -> Value:
    from whence.rows.functions import expressions as e
    from whence.rows.functions.looking import items_of

    items = items_of(value)
    if items is None:
        raise Refusal("it joins texts that are no list of known length")
    result = const("")
    for index, item in enumerate(items):
        for one in item:
            if not isinstance(lifted(one.item), Str):
                with at.under(one.guard):
                    at.fails(TRUE, TypeError)
        only_text = tuple(one for one in item if isinstance(lifted(one.item), Str))
        piece = e.binary(ast.Add(), const(by), only_text, at) if index else only_text
        result = e.binary(ast.Add(), result, piece, at)
    return result


def looked_up(table: dict[object, object], key: Item, default: Value | None, at: Looking) -> Value:
    """`table[key]`, or `table.get(key, default)`."""
    from whence.rows.functions import expressions as e

    if len(table) > ITEMS:
        raise Refusal(f"it looks something up among {len(table)} keys")
    if not all(is_plain(each) for each in table) or not all(is_plain(each) for each in table.values()):
        raise Refusal("it looks something up among objects")
    if isinstance(key, Items | Split | Match | Method) or (isinstance(key, Const) and not is_plain(key.value)):
        raise Refusal("it looks up something that is no plain value")
    groups: dict[tuple[type, object], list[object]] = {}
    for each, value in table.items():  # keys of one value together
        groups.setdefault((type(value), repr(value)), []).append(each)
    tests = [(e.one_of(key, keys, at), table[keys[0]]) for keys in groups.values()]
    tests = [(test, value) for test, value in tests if test != FALSE]
    if default is None:
        there = either(FALSE, *(test for test, _ in tests))
        if there == FALSE:
            raise Raised(KeyError)
        at.fails(negated(there), KeyError)
    result: Value = default or ()
    for test, value in reversed(tests):
        result = merged(test, const(value), result) if result else const(value)
    return result


# --- Python's own functions

Builtin = Callable[[list[Value], "Looking"], Value]


def _one(change: Callable[[Item, Looking], Item | Value]) -> Builtin:
    def make(args: list[Value], at: Looking) -> Value:
        from whence.rows.functions import expressions as e

        if len(args) != 1:
            raise Refusal("one of Python's functions with another number of arguments")
        return e.each(args[0], lambda item: change(item, at), at)

    return make


def _len(item: Item, at: Looking) -> Item:
    if isinstance(item, Const) and type(item.value) in (str, list, tuple, dict, set, frozenset):
        return Const(len(item.value))  # type: ignore[arg-type]  # one of these
    if isinstance(item, Items):
        return Const(len(item.items))
    item = lifted(item)
    if isinstance(item, Str):
        return texts.length(item.expr)
    if isinstance(item, Split):
        return texts.parts(item)
    if isinstance(item, Int | Float | Bool | Date) or (isinstance(item, Const) and item.value is None):
        raise Raised(TypeError)
    raise Refusal("the length of something that is no text")


def _int(item: Item, at: Looking) -> Item:
    item = lifted(item)
    if isinstance(item, Str):
        return texts.parsed(item.expr, False, at)
    if isinstance(item, Float):
        return numbers.truncated(item, at)
    found = numbers.number(item)
    if found is None:
        raise Raised(TypeError)
    return found


def _float(item: Item, at: Looking) -> Item:
    item = lifted(item)
    if isinstance(item, Str):
        return texts.parsed(item.expr, True, at)
    found = numbers.number(item)
    if found is None:
        raise Raised(TypeError)
    return Float(numbers.as_float(found, at))


def _round(item: Item, at: Looking) -> Item:
    item = lifted(item)
    if isinstance(item, Float):
        return numbers.rounded(item, at)
    found = numbers.number(item)
    if found is None:
        raise Raised(TypeError)
    return found


def _bool(item: Item, at: Looking) -> Item:
    from whence.rows.functions import expressions as e

    return Bool(e.truth(only(item)))


def _is_nan(item: Item, at: Looking) -> Item:
    found = numbers.number(item)
    if found is None:
        raise Raised(TypeError)
    return Bool(numbers.is_nan(found.expr)) if isinstance(found, Float) else Const(False)


def _is_infinite(item: Item, at: Looking) -> Item:
    found = _number(item)
    if isinstance(found, Int):
        return Const(False)
    ends = (Literal(end, "double") for end in (math.inf, -math.inf))
    return Bool(either(*(Compare("=", found.expr, end) for end in ends)))


def _floor(item: Item, at: Looking) -> Item:
    found = numbers.number(item)
    if found is None:
        raise Raised(TypeError)
    if isinstance(found, Int):
        return found
    whole = numbers.truncated(found, at)
    assert isinstance(whole, Int)
    above = numbers.compared(">", whole, found, at)
    return Int(
        Call(
            "CaseWhen",
            (above, Call("Subtract", (whole.expr, long(1)), "long", numbers.NEVER), whole.expr),
            "long",
        ),
        whole.low - 1,
        whole.high,
    )


def _missing(args: list[Value], at: Looking) -> Value:
    """`pandas.isna`."""

    def one(item: Item, at: Looking) -> Item:
        item = lifted(item)
        if isinstance(item, Float):
            return Bool(numbers.is_nan(item.expr))
        if isinstance(item, Str | Int | Bool | Date):
            return Const(False)
        if isinstance(item, Const) and item.value is None:
            return Const(True)
        raise Refusal("it asks whether something of an unknown kind is missing")

    return _one(one)(args, at)


def _isinstance(args: list[Value], at: Looking) -> Value:
    from whence.rows.functions import expressions as e

    kinds = constant(args[1]) if len(args) == 2 else None
    listed: Any = () if kinds is None else kinds.value if isinstance(kinds.value, tuple) else (kinds.value,)
    if not listed or any(kind not in KINDS for kind in listed):
        raise Refusal("isinstance of a type that is not translated")

    def one(item: Item) -> Item:
        item = lifted(item)
        if isinstance(item, Const) and item.value is not None:
            raise Refusal("isinstance of an object")
        return Const(any(isinstance(item, KINDS[kind]) for kind in listed))

    return e.each(args[0], one, at)


def _extreme(op: str) -> Builtin:
    """`min` and `max`: the first of those that are equal, and what Python's comparisons make of NaN."""

    def make(args: list[Value], at: Looking) -> Value:
        from whence.rows.functions import expressions as e
        from whence.rows.functions.looking import items_of

        values = items_of(args[0]) if len(args) == 1 else tuple(args)
        if not values:
            raise Refusal("the least or greatest of something that is no list of known length")
        best = values[0]
        for other in values[1:]:

            def better(a: Item, b: Item) -> Value:
                return merged(numbers.compared(op, a, b, at), only(a), only(b))

            best = e.pairs(other, best, better, at)
        return best

    return make


def _fold(start: object, join: Callable[..., Expr]) -> Builtin:
    """`any` and `all`."""

    def make(args: list[Value], at: Looking) -> Value:
        from whence.rows.functions import expressions as e
        from whence.rows.functions.looking import items_of

        values = items_of(args[0]) if len(args) == 1 else None
        if values is None:
            raise Refusal("any or all of something that is no list of known length")
        found = join(TRUE if start else FALSE, *(e.truth(value) for value in values))
        return const(found == TRUE) if found in (TRUE, FALSE) else only(Bool(found))

    return make


def _sum(args: list[Value], at: Looking) -> Value:
    from whence.rows.functions import expressions as e
    from whence.rows.functions.looking import items_of

    values = items_of(args[0]) if len(args) == 1 else None
    if values is None:
        raise Refusal("the sum of something that is no list of known length")
    result = const(0)
    for index, value in enumerate(values):
        if index and any(isinstance(lifted(one.item), Float) for one in (*result, *value)) and len(values) > 2:
            raise Refusal("a sum of floats: newer versions of Python add them more exactly")
        result = e.binary(ast.Add(), result, value, at)
    return result


def _range(args: list[Value], at: Looking) -> Value:
    known = [constant(arg) for arg in args]
    numbers_ = [each.value for each in known if each is not None and type(each.value) is int]
    if len(numbers_) != len(args) or not 1 <= len(args) <= 3:
        raise Refusal("a range whose ends are no constants")
    return const(range(*numbers_))


def _str(item: Item, at: Looking) -> Item:
    return Str(texts.written(item))


_BUILTINS: dict[str, Builtin] = {
    "len": _one(_len),
    "int": _one(_int),
    "float": _one(_float),
    "str": _one(_str),
    "bool": _one(_bool),
    "abs": _one(numbers.absolute),
    "round": _one(_round),
    "min": _extreme("<"),
    "max": _extreme(">"),
    "any": _fold(False, either),
    "all": _fold(True, both),
    "sum": _sum,
    "range": _range,
    "isinstance": _isinstance,
    "math.isnan": _one(_is_nan),
    "math.isinf": _one(_is_infinite),
    "math.floor": _one(_floor),
    "math.trunc": _one(_int),
    "math.fabs": _one(
        lambda item, at: Float(Call("Abs", (numbers.as_float(_number(item), at),), "double", "failOnError=false"))
    ),
}


def _number(item: Item) -> Int | Float:
    found = numbers.number(item)
    if found is None:
        raise Raised(TypeError)
    return found


# --- regular expressions


def _regular(name: str, args: list[Value], at: Looking) -> Value:
    """`re.search` and its kin: whether there is a match, and nothing else of it."""
    from whence.rows.functions import expressions as e

    pattern = constant(args[0]) if len(args) == 2 else None
    if pattern is None or type(pattern.value) is not str:
        raise Refusal("a regular expression that is no constant, or with flags")
    spelled_ = spelled(pattern.value, name)

    def one(item: Item) -> Value:
        item = lifted(item)
        if not isinstance(item, Str):
            raise Raised(TypeError)
        texts.ascii_only(item.expr, at)
        there = Call("RLike", (item.expr, text(spelled_)), "boolean", PORTABLE)
        return (Alternative(there, Match()), Alternative(negated(there), Const(None)))

    return e.each(args[1], one, at)
