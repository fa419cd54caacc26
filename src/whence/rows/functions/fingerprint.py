"""A hash of a function's code and data that is the same in every session."""

from __future__ import annotations

import dis
import functools
import hashlib
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from whence.rows.functions.values import is_plain

MOST = 10_000  # objects that are visited
LIBRARIES = frozenset({"numpy", "pandas", "pyarrow", "pyspark"})  # their version determines what they do
LONGEST = 10_000_000  # characters of all strings


class _Unknown(Exception):
    """The value of an object does not follow from its string."""


def code_of(function: object) -> str:
    """Return a hash of a function's code, constants, defaults, closure and globals; "" if one of them is unknown.

    >>> code_of(lambda x: x + 1) == code_of(lambda x: x + 1), code_of(lambda x: x + 1) == code_of(lambda x: x + 2)
    (True, False)
    """
    digest = hashlib.sha256(sys.version.split()[0].encode())
    length = 0
    try:
        for place, text in enumerate(_texts(function, set())):
            length += len(text)
            if place > MOST or length > LONGEST:
                return ""
            digest.update(text.encode(errors="surrogatepass") + b"\0")
    except _Unknown:
        return ""
    return digest.hexdigest()


def _texts(value: Any, seen: set[int]) -> Iterator[str]:
    kind = type(value)
    if is_plain(value):
        yield f"{kind.__name__} {value!r}"
    elif kind in (tuple, list):
        yield f"{kind.__name__} {len(value)}"
        for each in value:
            yield from _texts(each, seen)
    elif kind is dict:
        yield f"dict {len(value)}"
        for key, each in value.items():
            yield from _texts(key, seen)
            yield from _texts(each, seen)
    elif kind in (set, frozenset):
        if not all(is_plain(each) for each in value):
            raise _Unknown
        yield f"{kind.__name__} {sorted(map(repr, value))}"
    elif isinstance(value, types.ModuleType):
        top = value.__name__.partition(".")[0]
        if top not in LIBRARIES and top not in sys.stdlib_module_names:
            raise _Unknown
        yield f"module {value.__name__} {getattr(sys.modules.get(top), '__version__', '')}"
    elif kind is re.Pattern and type(value.pattern) is str:
        yield f"pattern {value.flags} {value.pattern}"
    elif kind is functools.partial:
        yield "partial"
        for each in (value.func, value.args, value.keywords):
            yield from _texts(each, seen)
    elif isinstance(value, types.BuiltinFunctionType | type) and value.__module__ in sys.stdlib_module_names:
        yield f"{value.__module__}.{value.__qualname__}"
    elif isinstance(value, types.FunctionType):
        yield from _function(value, seen)
    else:
        raise _Unknown


def _function(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:  # it calls itself
        yield f"again {function.__qualname__}"
        return
    seen.add(id(function))
    top = (function.__module__ or "").partition(".")[0]
    if top in sys.stdlib_module_names or top in LIBRARIES:
        yield f"{function.__module__}.{function.__qualname__} {getattr(sys.modules.get(top), '__version__', '')}"
        return
    yield from _code(function.__code__)
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:
            raise _Unknown from None
        yield from _texts(content, seen)
    yield from _texts(function.__defaults__, seen)
    yield from _texts(function.__kwdefaults__, seen)
    for name in sorted(_globals(function.__code__)):
        if name in function.__globals__:
            yield f"global {name}"
            yield from _texts(function.__globals__[name], seen)


def _code(code: types.CodeType) -> Iterator[str]:
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount, code.co_flags)
    yield f"code {code.co_code.hex()} {names!r}"
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _code(const)
        elif isinstance(const, frozenset):
            yield f"frozenset {sorted(map(repr, const))}"
        else:
            yield repr(const)


def _globals(code: types.CodeType) -> set[str]:
    found = {str(step.argval) for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found |= _globals(const)
    return found
