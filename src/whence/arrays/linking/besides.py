"""Find the data that a function reads in addition to its arguments: globals, closures, defaults and attributes.

Arrays, tables and computed numbers count as data, whether they are in a variable, a list or dict, an attribute of an
object, or a module of the program. Only objects that the code names are inspected. Code is followed through helpers,
methods and modules of the program, but not into installed packages.
"""

from __future__ import annotations

import dis
import functools
import inspect
import os
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from whence.arrays.linking.content import is_computed
from whence.arrays.linking.frames import is_frame
from whence.arrays.linking.places import INSTALLED, OWN

MOST_PARTS = 16  # the most parts of a container or an estimator that are listed one by one
MOST_LOOKED = 1000  # the most items of a container that are inspected
DEEP = 3  # levels of nested objects
LEAVES = (str, bytes, bool, int, complex, type(None), np.ufunc, types.BuiltinFunctionType)

PACKAGE = os.path.dirname(sys.modules[OWN].__file__ or "")
LIBRARIES = (*INSTALLED, *(os.path.join(PACKAGE, each) for each in ("arrays", "log", "store", "relation", "selection")))
"""Directories of code that is not inspected: installed packages, and the packages of whence that run tracked
functions.
"""

Wanted = Callable[[Any], bool]


def read_besides(function: Any, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the data that the code of a function and of its helpers refers to, by name.

    >>> weights = np.ones(3)
    >>> list(read_besides(lambda x: x * weights))
    ['weights']
    >>> model = types.SimpleNamespace(weights=[weights, 1], bias=np.zeros(3), name="m")
    >>> list(read_besides(lambda x, model: x * model.weights[0], {"model": model}))
    ['model.weights[0]']
    """
    return surroundings(function, arguments)[0]


def surroundings(
    function: Any, arguments: Mapping[str, Any] | None = None, wanted: Wanted | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the same, and the names of estimators whose learned state is in no array (such as trees)."""
    if reads_nothing(function, arguments or {}):
        return {}, ()
    reading = Reading(wanted or is_data)
    reading.function(function, dict(arguments or {}))
    found, closed = reading.found, []
    for name, item in reading.objects.items():
        own = dict(reading.inside(name, item, DEEP))
        found.update(own)
        if not own and is_estimator(item) and any(map(_is_learned, vars(item))):
            closed.append(name)
    return found, tuple(closed)


def reads_nothing(function: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether a function clearly reads only arrays that it is passed, modules and constants, and binds no globals.

    >>> reads_nothing(lambda x: np.sqrt(x), {"x": np.ones(3)}), reads_nothing(lambda x: x, {"x": [1]})
    (True, False)
    """
    if not isinstance(function, types.FunctionType) or function.__closure__ or _bound_globals(function.__code__):
        return False
    if function.__defaults__ or function.__kwdefaults__ or "random" in _names_in_code(function.__code__):
        return False
    held = map(function.__globals__.get, _global_names(function.__code__))
    return all(isinstance(each, (*LEAVES, np.ndarray)) for each in arguments.values()) and all(
        isinstance(each, LEAVES) or (isinstance(each, types.ModuleType) and not is_of_program(each.__name__))
        for each in held
    )


def is_data(item: Any) -> bool:
    """Whether it is an array, a table, or a number that was computed and not written in the code.

    >>> is_data(np.ones(2)), is_data(0.1), is_data(2 / 3), is_data(np.float64(0.1))
    (True, False, True, True)
    """
    if isinstance(item, np.ndarray):
        return item.dtype.kind in "biufcMm" and bool(item.size)
    if isinstance(item, float):
        return type(item) is not float or is_computed(item)
    return isinstance(item, np.inexact) or is_frame(item)


class Code:
    """A function of the program: the objects that its code refers to, and the variables that it can bind."""

    def __init__(self, function: types.FunctionType) -> None:
        self.scope = function.__globals__
        self.bound = _bound_globals(function.__code__)
        self.cells = function.__closure__ or ()
        self.held = [*_held_by_function(function), *_defaults(function)]


class Reading:
    """Collects the data, other objects and attribute names that code refers to."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.found: dict[str, Any] = {}
        self.objects: dict[str, Any] = {}
        self.named: set[str] = set()  # names of attributes and globals in the code
        self.functions: list[Code] = []
        self._seen: set[int] = set()

    def function(self, function: Any, arguments: dict[str, Any]) -> None:
        """Collect what a function refers to when it is called with these arguments."""
        while isinstance(function, functools.partial):
            for n, item in enumerate(function.args):
                self._held(f"argument {n}", item)
            for name, item in function.keywords.items():
                if name not in arguments:
                    self._held(name, item)
            function = function.func
        if isinstance(function, types.MethodType):
            self.objects["self"] = function.__self__
        elif not isinstance(function, types.FunctionType) and _is_program(type(function)):
            self.objects["self"] = function
        self.objects.update((k, v) for k, v in arguments.items() if not isinstance(v, LEAVES) and not is_data(v))
        self._code(getattr(function, "__func__", function), arguments)
        for _ in range(DEEP):  # methods may name other methods
            before = len(self.named)
            for item in list(self.objects.values()):
                self._methods(item, DEEP)
            if len(self.named) == before:
                return

    def _code(self, function: Any, arguments: Mapping[str, Any] | None = None) -> None:
        if not isinstance(function, types.FunctionType) or id(function) in self._seen:
            return
        self._seen.add(id(function))
        if function.__code__.co_filename.startswith(LIBRARIES):
            return
        self.named.update(_names_in_code(function.__code__))
        code = Code(function)
        self.functions.append(code)
        for name, held in code.held:
            if arguments is None or name not in arguments:
                self._held(name, held)

    def _held(self, name: str, item: Any) -> None:
        if isinstance(item, LEAVES):
            return
        if self.wanted(item):
            self.found.setdefault(name, item)
        elif isinstance(item, types.FunctionType):
            self._code(item)
        elif isinstance(item, functools.partial):
            self.function(item, {})
        elif isinstance(item, types.MethodType):
            self.objects.setdefault(f"{name}.__self__", item.__self__)
            self._code(item.__func__)
        elif isinstance(inner := _within(item), types.FunctionType):
            self._code(inner)
        else:
            self.objects.setdefault(name, item)

    def _methods(self, item: Any, depth: int) -> None:
        """Follow the code of the methods that are named, or that operators call."""
        if not depth or isinstance(item, (*LEAVES, float, np.ndarray)):
            return
        if isinstance(item, types.ModuleType):
            if is_of_program(item.__name__):
                for name in self.named & vars(item).keys():
                    self._code(vars(item)[name])
            return
        for each in _elements(item):
            self._called(each, depth)
        kind = item if isinstance(item, type) else type(item)
        if not _is_program(kind):
            return
        for owner in kind.__mro__:
            for name, own in vars(owner).items():
                called = name in self.named or (name.startswith("__") and name.endswith("__") and name not in _MADE_BY)
                if called and owner is not object:
                    inner = getattr(own, "fget", None) or getattr(own, "func", None) or getattr(own, "__func__", own)
                    self._code(getattr(inner, "function", inner))
        for name, each in attributes_of(item):
            if name in self.named:
                self._called(each, depth)

    def _called(self, item: Any, depth: int) -> None:
        """Follow a part of an object that is code, or has methods."""
        if isinstance(item, (types.FunctionType, types.MethodType, functools.partial)):
            self._held(f"{id(item)}", item)
        else:
            self._methods(item, depth - 1)

    def inside(self, label: str, item: Any, depth: int) -> Iterator[tuple[str, Any]]:
        """Yield the data in an object and in its parts, if the code names them."""
        if not depth or isinstance(item, (*LEAVES, float, types.FunctionType, np.ndarray)) or is_frame(item):
            return
        if is_estimator(item):  # its methods read learned attributes, whose names are not in the code
            yield from _learned(label, item, depth, self.wanted)
        if isinstance(item, types.ModuleType) and not is_of_program(item.__name__):
            return
        many = [each for each in _elements(item) if self.wanted(each)]
        if len(many) > MOST_PARTS and self.wanted is is_data:
            yield label, _joined(many)
            return
        for key, each in _items(item):
            if self.wanted(each):
                yield f"{label}[{key!r}]", each
            else:
                yield from self.inside(f"{label}[{key!r}]", each, depth - 1)
        every = not isinstance(item, (type, types.ModuleType, types.SimpleNamespace)) and not _is_program(type(item))
        for key, each in attributes_of(item):
            if every and self.wanted(each):  # methods of a library's object may read any of its data
                yield f"{label}.{key}", each
            elif key in self.named:
                if self.wanted(each):
                    yield f"{label}.{key}", each
                else:
                    yield from self.inside(f"{label}.{key}", each, depth - 1)


_MADE_BY = frozenset([
    "__init__", "__new__", "__post_init__", "__repr__", "__str__", "__reduce__", "__del__", "__eq__", "__ne__",
    "__hash__", "__lt__", "__le__", "__gt__", "__ge__", "__setattr__", "__delattr__", "__replace__",
])  # fmt: skip
"""Methods that a computation with an object does not call, or that dataclasses generate."""


def _within(item: Any) -> Any:
    """Return the function inside a tracked function or inside `functools.lru_cache`."""
    if isinstance(item, functools._lru_cache_wrapper):
        return item.__wrapped__
    return getattr(item, "function", None) if _top(type(item).__module__) == OWN else None


def _items(item: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the items of a container with their keys."""
    if isinstance(item, dict):
        yield from list(item.items())[:MOST_LOOKED]
    elif isinstance(item, (list, tuple, deque, set, frozenset)):
        yield from enumerate(list(item)[:MOST_LOOKED])


def _elements(item: Any) -> list[Any]:
    return [each for _, each in _items(item) if not isinstance(each, LEAVES)]


def _joined(many: list[Any]) -> Any:
    """Concatenate many arrays, tables and numbers into one array, which is recognised only by its content."""
    return np.concatenate([np.asarray(each).ravel() for each in many])


def attributes_of(item: Any, *, inherited: bool = True) -> list[tuple[str, Any]]:
    """Return the attributes of an object, a class or a module: its own, those in slots and, if `inherited`, its
    class's.
    """
    found = dict(getattr(item, "__dict__", {}))
    if not isinstance(item, (type, types.ModuleType)) and _is_program(type(item)):
        for owner in type(item).__mro__[:-1]:
            for key, each in vars(owner).items():
                if isinstance(each, types.MemberDescriptorType):
                    if hasattr(item, key):
                        found.setdefault(key, getattr(item, key))
                elif inherited and not callable(each) and not isinstance(each, types.GetSetDescriptorType):
                    found.setdefault(key, each)
    return list(found.items())


def _is_program(kind: type) -> bool:
    return is_of_program(kind.__module__)


@functools.lru_cache(1024)
def is_of_program(module: str) -> bool:
    """Whether a module belongs to the program, and not to an installed package."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return module == "__main__" or (file is not None and not file.startswith(LIBRARIES))


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _is_learned(key: str) -> bool:
    return key.endswith("_") and not key.startswith("_")


def is_estimator(item: Any) -> bool:
    """Whether it is an estimator in the sense of scikit-learn."""
    kind = type(item)
    return not isinstance(item, type) and hasattr(kind, "get_params") and hasattr(kind, "fit")


def learned_by(item: Any) -> list[tuple[str, Any]]:
    """Return the learned attributes of an estimator and the estimators inside it; nothing for other objects."""
    if not is_estimator(item):
        return []
    found = []
    for key, each in vars(item).items():
        if _is_learned(key) and _holds_learned(each):
            found.append((key, each))
        elif key == "steps":
            found += [(name, part) for name, part in each if is_estimator(part)]
    return found


def _holds_learned(item: Any) -> bool:
    if isinstance(item, (list, tuple)):
        return 0 < len(item) <= MOST_PARTS and all(map(_holds_learned, item))
    return is_estimator(item) or isinstance(item, float) or (isinstance(item, np.ndarray) and item.dtype.kind in "biuf")


def _learned(label: str, item: Any, depth: int, wanted: Wanted) -> Iterator[tuple[str, Any]]:
    for key, each in learned_by(item) if depth else ():
        parts = [(f"{label}.{key}", each)]
        if isinstance(each, (list, tuple)):
            parts = [(f"{label}.{key}[{n}]", one) for n, one in enumerate(each)]
        for name, part in parts:
            if isinstance(part, np.ndarray) and wanted(part):
                yield name, part
            elif is_estimator(part):
                yield from _learned(name, part, depth - 1, wanted)


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    if function.__defaults__ or function.__kwdefaults__:
        for name, each in inspect.signature(function).parameters.items():
            if each.default is not each.empty:
                yield name, each.default


def _held_by_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name in _global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # an empty cell
            continue


@functools.lru_cache(1024)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    """Return the names that code, and code nested in it, looks up in the globals."""
    own = [each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    inner = [name for each in code.co_consts if isinstance(each, types.CodeType) for name in _global_names(each)]
    return tuple(dict.fromkeys((*own, *inner)))


@functools.lru_cache(1024)
def _bound_globals(code: types.CodeType) -> tuple[str, ...]:
    """Return the globals that code, and code nested in it, binds."""
    own = [str(each.argval) for each in dis.get_instructions(code) if each.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")]
    inner = [name for each in code.co_consts if isinstance(each, types.CodeType) for name in _bound_globals(each)]
    return tuple(dict.fromkeys((*own, *inner)))


@functools.lru_cache(1024)
def _names_in_code(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of globals and attributes in code, and in code nested in it."""
    inner = [name for each in code.co_consts if isinstance(each, types.CodeType) for name in _names_in_code(each)]
    return tuple(dict.fromkeys((*code.co_names, *inner)))
