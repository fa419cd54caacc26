"""Whether a Python function always returns the same value for the same arguments, according to its code."""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from whence.rows.determinism.names import CHANGING, CLOCKS, METHODS, MUTATING, NAMED, READERS, SEEDS, SHARED, TASKS
from whence.rows.determinism.shared import Given, Shared, changes_argument

# Libraries whose code is not searched: `names` lists what is known about them.
TRUSTED = frozenset(
    {"numpy", "pandas", "pyarrow", "pyspark", "scipy", "sklearn", "dateutil", "pytz", "torch", "tensorflow", "polars"}
)
MOST = 500  # functions that are searched for one
ROOTS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
STORES = frozenset({"STORE_SUBSCR", "STORE_ATTR", "DELETE_SUBSCR", "DELETE_ATTR", "STORE_SLICE"})
PADDING = frozenset({"EXTENDED_ARG", "CACHE", "NOP", "RESUME"})
UNKNOWN = object()  # a value that only a call would show
NONE: Mapping[str, str] = {}


def varies(function: object) -> str | None:
    """Say why a function may return another value for the same arguments; None if its code shows no reason.

    >>> import uuid
    >>> varies(lambda key: f"{key}-{uuid.uuid4()}")
    'it calls uuid.uuid4'
    >>> varies(lambda key: key.upper()) is None
    True
    """
    return _FunctionSearch().of(function)


class _FunctionSearch:
    """The search through one function and everything that it uses."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()
        self._held: list[object] = []  # keep seen objects alive, so that their ids are not reused
        self._waiting: deque[tuple[object, str]] = deque()

    def of(self, function: object) -> str | None:
        self._waiting.append((function, ""))
        while self._waiting and len(self._seen) < MOST:
            for reason in self._object(*self._waiting.popleft()):
                return reason
        return None

    def _object(self, value: object, path: str) -> Iterator[str]:
        """Yield reasons in an object that the function uses."""
        # Each access to a method creates a new object, of the same function and instance.
        key = (id(value.__func__), id(value.__self__)) if isinstance(value, types.MethodType) else (id(value), 0)
        if key in self._seen:
            return
        self._seen.add(key)
        self._held.append(value)
        if isinstance(value, functools.partial):
            for each in (value.func, *value.args, *value.keywords.values()):
                self._waiting.append((each, path))
        elif isinstance(value, types.MethodType):
            if isinstance(value.__func__, types.FunctionType) and _looked_through(value.__func__):
                yield from self._function(value.__func__, value.__self__)
        elif isinstance(value, types.FunctionType):
            yield from _judged(value, path)
            if _looked_through(value):
                yield from self._function(value)
            else:  # pandas API on Spark wraps the user's functions
                self._waiting.extend((_content_of_cell(cell), path) for cell in value.__closure__ or ())
        elif isinstance(value, staticmethod | classmethod):
            self._waiting.append((value.__func__, path))
        elif isinstance(value, types.BuiltinMethodType | types.BuiltinFunctionType):
            yield from _judged(value, path)
        elif isinstance(value, type):
            if _looked_through(value):
                for each in vars(value).values():
                    if isinstance(each, types.FunctionType | staticmethod | classmethod):
                        self._waiting.append((each, path))
        elif "__wrapped__" in getattr(value, "__dict__", ()):  # functools.lru_cache
            self._waiting.append((vars(value)["__wrapped__"], path))
        elif isinstance(value, dict | list | tuple | set | frozenset):
            inside = list(value.values()) if isinstance(value, dict) else list(value)
            self._waiting.extend((each, path) for each in inside[:MOST] if callable(each) or _state(each))
            yield from (reason for each in inside[:MOST] for reason in _of_state(each, path))
        else:
            yield from _of_state(value, path)
            if not _looked_through(type(value)):  # numpy.vectorize(f) contains f
                self._waiting.extend((each, path) for each in getattr(value, "__dict__", {}).values() if callable(each))
                return
            call = inspect.getattr_static(type(value), "__call__", None)
            if isinstance(call, types.FunctionType):
                yield from self._function(call, value)

    def _given(self, given: Given) -> Iterator[str]:
        """Yield reasons in a function that gets an object which later calls see."""
        callee, owner = given.callee, UNKNOWN
        if isinstance(callee, types.MethodType):
            owner, callee = callee.__self__, callee.__func__
        if isinstance(callee, types.FunctionType) and _looked_through(callee):
            named = given.parameter(_parameters(callee.__code__)[0 if owner is UNKNOWN else 1 :])
            key = (id(callee), hash((given.path, named)))
            if key not in self._seen and len(self._seen) < MOST:
                self._seen.add(key)
                self._held.append(callee)
                yield from self._function(callee, owner, dict.fromkeys(named, given.path))
        elif changes_argument(callee, given.keywords):
            yield f"it changes {given.path!r}, which later calls see"

    def _function(
        self, function: types.FunctionType, owner: object = UNKNOWN, given: Mapping[str, str] = NONE
    ) -> Iterator[str]:
        """`given` maps parameters to the name of the shared object that they are, or are a part of."""
        code = function.__code__
        known = dict(zip(code.co_freevars, map(_content_of_cell, function.__closure__ or ()), strict=False))
        arguments = _parameters(code)
        defaults = function.__defaults__ or ()
        known.update(zip(arguments[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=False))
        known.update(function.__kwdefaults__ or {})
        if owner is not UNKNOWN and arguments:
            known[arguments[0]] = owner
        held = Shared(code, {each: path for each, path in given.items() if each not in known})
        yield from self._code(code, known, function.__globals__, frozenset(code.co_freevars), held)

    def _code(
        self,
        code: types.CodeType,
        known: Mapping[str, object],
        names: Mapping[str, Any],
        outside: frozenset[str],
        held: Shared,
    ) -> Iterator[str]:
        """`known` has variables with the same object in every call; `outside` has variables of enclosing functions."""
        known = dict(known)
        whole = [step for step in dis.get_instructions(code) if step.opname not in PADDING]
        starts: dict[tuple[int | None, int | None], str] = {}  # positions where expressions begin with a shared object
        seeded = any(_names_seed(const) for const in code.co_consts) or any(_names_seed(i.argval) for i in whole)
        if CLOCKS.intersection(code.co_names) and any(each in ("now", "today") for each in code.co_consts):
            yield "it reads the current time"
        value: object = UNKNOWN
        path, shared = "", False
        for index, step in enumerate(whole):
            name, at = step.opname, _start(step)
            for given in held.follow(step):
                yield from self._given(given)
            if name in ROOTS or name.startswith("LOAD_FAST"):
                value, path, shared = self._root(step, known, names, outside)
                if value is UNKNOWN and path in held.parts:
                    shared, starts[at] = True, held.parts[path]
                    held.load(step, held.parts[path])
                elif shared and path and _changeable(value):
                    starts[at] = path
                    if value is not UNKNOWN and _instance(value):
                        held.load(step, path, inside=type(value).__module__.partition(".")[0] not in READERS)
                held.called(step, value, path)
                yield from self._used(value, path, final=not _goes_on(whole, index))
            elif name in ATTRIBUTES:
                attribute = str(step.argval)
                begun = held.begins(step)
                if attribute in MUTATING and ((shared and _mutable(value)) or (value is UNKNOWN and begun)):
                    yield f"it changes {begun or path!r}, which later calls see"
                if (
                    attribute in METHODS
                    and _is_method(step)
                    and _instance(value)
                    and not (seeded and attribute == "sample")
                ):
                    yield f"it calls {attribute}()"
                if shared and (getter := _getter(value, attribute)) is not None:
                    self._waiting.append((types.MethodType(getter, value), f"{path}.{attribute}"))
                owner, value, path = value, _attribute(value, attribute), f"{path}.{attribute}" if path else attribute
                yield from _of_module(owner, attribute)
                if isinstance(value, types.FunctionType) and shared and not isinstance(owner, type | types.ModuleType):
                    value = types.MethodType(value, owner)
                held.called(step, value, attribute)
                yield from self._used(value, path, seeded, final=not _goes_on(whole, index))
            elif name == "IMPORT_NAME":
                value, path, shared = sys.modules.get(str(step.argval), UNKNOWN), str(step.argval), False
                root = path.partition(".")[0]
                for each in (root, path):
                    if each in CHANGING and not CHANGING[each]:
                        yield f"it uses the module {each}"
                if not _imports_from(whole, index):
                    value, path = sys.modules.get(root, UNKNOWN), root
            elif name == "IMPORT_FROM":
                attribute, module, around = str(step.argval), value, path
                yield from _of_module(module, attribute)
                value, path = _attribute(module, attribute), f"{around}.{attribute}"
                yield from self._used(value, path, seeded, final=True)
                if index + 1 < len(whole) and whole[index + 1].opname == "STORE_FAST":
                    known[str(whole[index + 1].argval)] = value
                value, path = module, around
            elif name == "STORE_FAST":
                if value is not UNKNOWN:
                    known[str(step.argval)] = value
                value, path, shared = UNKNOWN, "", False
            elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                if not _accumulates(names.get(str(step.argval))):
                    yield f"it changes the global variable {step.argval!r}"
                value, path, shared = UNKNOWN, "", False
            elif name in ("STORE_DEREF", "DELETE_DEREF"):
                if step.argval in outside and not _accumulates(known.get(str(step.argval))):
                    yield f"it changes {step.argval!r}, a variable of the function around it"
                if value is not UNKNOWN:
                    known[str(step.argval)] = value
                value, path, shared = UNKNOWN, "", False
            else:
                if name in STORES and at in starts:
                    yield f"it changes {starts[at]!r}, which later calls see"
                if name not in ("PUSH_NULL", "PRECALL", "COPY"):
                    value, path, shared = UNKNOWN, "", False
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                inner = {each: known[each] for each in const.co_freevars if each in known}
                inside = Shared(const, {each: held.parts[each] for each in const.co_freevars if each in held.parts})
                yield from self._code(const, inner, names, outside & frozenset(const.co_freevars), inside)

    def _root(
        self, step: dis.Instruction, known: Mapping[str, object], names: Mapping[str, Any], outside: frozenset[str]
    ) -> tuple[object, str, bool]:
        """The value of a variable, its name, and whether other calls have the same object."""
        found = step.argval[-1] if isinstance(step.argval, tuple) else str(step.argval)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            if found in names:
                return names[found], found, True
            return getattr(builtins, found, UNKNOWN), found, False
        value = known.get(found, UNKNOWN)
        return value, found, value is not UNKNOWN or (found in outside and found not in known)

    def _used(self, value: object, path: str, seeded: bool = False, *, final: bool) -> Iterator[str]:
        if value is UNKNOWN:
            return
        yield from _judged(value, path)
        yield from _of_state(value, path)
        if final and isinstance(value, types.ModuleType) and value.__name__ in CHANGING:
            yield f"it uses the module {value.__name__}"
        if final:
            if not seeded and _takes_seed(value):
                yield f"it calls {path} without a seed"
            self._waiting.append((value, path))


def _parameters(code: types.CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _content_of_cell(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return UNKNOWN


def _start(step: dis.Instruction) -> tuple[int | None, int | None]:
    """The position where its expression begins in the source: `a`, `a.b` and `a.b[0]` begin at the same one."""
    place = step.positions
    return (None, step.offset) if place is None or place.lineno is None else (place.lineno, place.col_offset)


def _is_method(step: dis.Instruction) -> bool:
    """Whether the attribute is called, not only read: a column may have any name."""
    return step.opname == "LOAD_METHOD" or (sys.version_info >= (3, 12) and bool((step.arg or 0) & 1))


def _instance(value: object) -> bool:
    return not isinstance(value, type | types.ModuleType | types.FunctionType | types.BuiltinFunctionType)


def _goes_on(steps: list[dis.Instruction], index: int) -> bool:
    return index + 1 < len(steps) and steps[index + 1].opname in ATTRIBUTES


def _imports_from(steps: list[dis.Instruction], index: int) -> bool:
    return index + 1 < len(steps) and steps[index + 1].opname == "IMPORT_FROM"


def _names_seed(const: object) -> bool:
    return isinstance(const, tuple) and any(isinstance(each, str) and each in SEEDS for each in const)


def _attribute(owner: object, name: str) -> object:
    """Get an attribute without running the user's code; properties stay unknown."""
    if owner is UNKNOWN:
        return UNKNOWN
    if isinstance(owner, types.ModuleType):
        return getattr(owner, name, UNKNOWN)
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        return UNKNOWN
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, classmethod):
        return types.MethodType(found.__func__, owner if isinstance(owner, type) else type(owner))
    return UNKNOWN if isinstance(found, property | types.GetSetDescriptorType | types.MemberDescriptorType) else found


def _getter(owner: object, name: str) -> types.FunctionType | None:
    """The user's function that is called when an attribute is read."""
    if owner is UNKNOWN or not _instance(owner) or not _looked_through(type(owner)):
        return None
    found = inspect.getattr_static(type(owner), name, None)
    getter = found.fget if isinstance(found, property) else None
    return getter if isinstance(getter, types.FunctionType) else None


def _of_module(owner: object, name: str) -> Iterator[str]:
    """Say why a name in a module, or a method of a class such as datetime, is not deterministic."""
    if isinstance(owner, types.ModuleType):
        exceptions = CHANGING.get(owner.__name__)
        if (exceptions is not None and name not in exceptions) or f"{owner.__name__}.{name}" in NAMED:
            yield f"it calls {owner.__name__}.{name}"
    elif isinstance(owner, type) and name in ("now", "utcnow", "today", "cwd", "home"):
        yield f"it calls {owner.__name__}.{name}"


def _judged(value: object, path: str) -> Iterator[str]:
    """Say why a function or class is not deterministic, by its full name."""
    if not isinstance(value, types.FunctionType | types.BuiltinFunctionType | type | types.MethodType):
        return
    owner = getattr(value, "__self__", None)
    if isinstance(value, types.BuiltinFunctionType) and owner is not None and not isinstance(owner, types.ModuleType):
        yield from _of_state(owner, path)
        if isinstance(owner, type):
            yield from _of_module(owner, value.__name__)
    module = str(getattr(value, "__module__", None) or getattr(owner, "__name__", ""))
    full = f"{module}.{getattr(value, '__qualname__', path)}"
    reads = module.partition(".")[0] in READERS and str(getattr(value, "__name__", "")).startswith("read_")
    if full in NAMED or reads or full.startswith(TASKS):
        yield f"it calls {full.removeprefix('builtins.').replace('_io.', '')}"
    exceptions = CHANGING.get(module)
    if exceptions is None and module.partition(".")[0] in CHANGING:
        exceptions = CHANGING[module.partition(".")[0]] or frozenset()
    if exceptions is None and module.startswith("numpy.random"):
        exceptions = frozenset()
    if exceptions is not None and getattr(value, "__name__", "") not in exceptions:
        yield f"it calls {full}"


def _of_state(value: object, path: str) -> Iterator[str]:
    """Say why an object that the function contains returns another value each time."""
    kind = type(value)
    if _state(value):
        yield f"it draws from {path or 'an object'!r}, a {kind.__module__}.{kind.__qualname__}"


def _state(value: object) -> bool:
    kind = type(value)
    if isinstance(value, type | types.ModuleType | types.FunctionType):
        return False
    if kind.__module__.partition(".")[0] in ("random", "faker", "queue", "_queue", "_contextvars"):
        return True
    if kind.__module__.startswith("numpy.random"):
        return True
    return hasattr(kind, "__next__")  # an iterator, which each call advances


def _mutable(value: object) -> bool:
    if isinstance(value, SHARED):
        return True
    known = value is not UNKNOWN and _instance(value) and not _accumulates(value)
    return known and type(value).__module__ not in ("builtins", "logging")


def _changeable(value: object) -> bool:
    """Whether something can be stored in it."""
    plain = isinstance(value, str | bytes | int | float | complex | tuple | frozenset | types.NoneType)
    return not plain and not _accumulates(value)


def _accumulates(value: object) -> bool:
    """Whether it is a Spark accumulator: a function can add to it, but not read it."""
    return type(value).__module__ in ("pyspark.accumulators", "pyspark.core.accumulators")


def _takes_seed(value: object) -> bool:
    if not isinstance(value, type | types.FunctionType) or getattr(value, "__module__", "") == "builtins":
        return False
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return False
    return any(each in parameters and parameters[each].default is None for each in ("random_state",))


def _looked_through(value: Callable[..., Any]) -> bool:
    """Whether it is the user's code, which is searched."""
    module = str(getattr(value, "__module__", None) or "")
    top = module.partition(".")[0]
    if top in TRUSTED:
        return False
    return top == "__main__" or top not in sys.stdlib_module_names
