"""What a function reads besides its arguments, and whether that is still the same.

A known lineage may be used for another call only if the function would do the same again. Its code, the code of every
helper it calls, and every global, closure variable, default and attribute that this code can reach are part of the
function's fingerprint. Whatever cannot be compared (an open file, an object of compiled code, a module with state)
leaves the function without a fingerprint, and then each of its calls is traced.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import operator
import sys
import types
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from whence.arrays.recording.randomness import GENERATORS, WORDS

PLAIN = (bool, int, float, str, bytes, type(None), complex, type(Ellipsis), np.generic, np.dtype)
STATELESS_MODULES = frozenset(
    ["math", "cmath", "operator", "numbers", "itertools", "functools", "typing", "__future__"]
)
BUILTINS = frozenset(
    each.__name__
    for each in (
        abs, all, any, bool, bytes, callable, complex, dict, divmod, enumerate, filter, float, format, frozenset, int,
        isinstance, issubclass, iter, len, list, map, max, min, next, object, pow, print, range, repr, reversed, round,
        set, slice, sorted, str, sum, super, tuple, type, zip,
    )
)  # fmt: skip
MOST_FUNCTIONS = 200
MOST_ITEMS = 10_000
MOST_BYTES = 1 << 24

_MISSING: Any = object()


class Incomparable(Exception):
    """The function reads something that cannot be compared with what it was at an earlier call."""


class Surroundings:
    """The fingerprint of a function, computed anew when something that it reads was replaced.

    >>> scale = 2
    >>> near = Surroundings(lambda x: x * scale, None)
    >>> before = near.fingerprint()
    >>> near.fingerprint() == before
    True
    >>> near = Surroundings(lambda x: x * len(open("factor.txt").read()), None)
    >>> near.fingerprint(), near.reason
    (None, 'it uses open')
    """

    def __init__(self, function: Callable[..., Any], mode: Hashable) -> None:
        self.function = function
        self.reason = ""  # why there is no fingerprint
        self._mode = mode
        self._last: _Walk | None = None
        self._fingerprint: str | None = None

    def fingerprint(self) -> str | None:
        """A hash of the code and of all that it reads; None if something cannot be compared."""
        if self._last is None or not self._last.still_holds():
            self._last = _Walk()
            self._fingerprint, self.reason = self._computed(self._last)
        if self._fingerprint is None:
            return None
        # NumPy's error handling decides whether a value raises an exception, which no code of the function shows.
        return self._fingerprint if np.geterr() == _DEFAULT_ERRORS else None

    def _computed(self, walk: _Walk) -> tuple[str | None, str]:
        digest = hashlib.sha256(f"{np.__version__} {sys.version_info[:2]} {self._mode}\n".encode())
        try:
            for piece in walk.pieces(self.function):
                digest.update(piece.encode("utf-8", "backslashreplace") + b"\0")
        except Incomparable as error:
            return None, str(error)
        return digest.hexdigest()[:32], ""


_DEFAULT_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


class _Walk:
    """One walk over a function and all that it reads, and how to notice cheaply that a walk would differ."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}  # held, so that no id is used again during the walk
        self._functions = 0
        self._items = 0
        self._mutable = False  # contents were read that can change in place
        self._guards: list[tuple[Callable[[Any, Any], Any], Any, Any, Any]] = []

    def still_holds(self) -> bool:
        """Whether every name still refers to the same object, none of which can change in place."""
        return not self._mutable and all(get(holder, name) is item for get, holder, name, item in self._guards)

    def _guard(self, get: Callable[[Any, Any], Any], holder: Any, name: Any, item: Any) -> Any:
        self._guards.append((get, holder, name, item))
        return item

    # --- objects

    def pieces(self, item: Any) -> Iterator[str]:
        """The object as text: equal texts mean that code which reads it does the same."""
        self._items += 1
        if self._items > MOST_ITEMS:
            raise Incomparable(f"it reads more than {MOST_ITEMS:,} objects")
        if isinstance(item, PLAIN):
            yield f"{type(item).__name__} {item!r}"
            return
        if id(item) in self._seen:
            yield "seen"
            return
        self._seen[id(item)] = item
        yield from self._object(item)

    def _object(self, item: Any) -> Iterator[str]:
        if isinstance(item, GENERATORS):
            raise Incomparable("it draws random numbers")
        if isinstance(item, types.FunctionType):
            yield from self._function(item)
        elif isinstance(item, types.MethodType):
            yield from self.pieces(item.__func__)
            yield from self.pieces(item.__self__)
        elif isinstance(item, functools.partial):
            yield "partial"
            yield from self._contents([item.func, item.args, item.keywords])
        elif _is_tracked(item):
            yield from self.pieces(item.function)
        elif isinstance(item, np.ndarray):
            yield self._array(item)
        elif type(item) in (list, tuple, set, frozenset, dict, slice, range):
            yield from self._container(item)
        elif type(item) is types.SimpleNamespace:
            yield from self.pieces(vars(item))
        elif _is_stateless(item):
            yield f"{getattr(item, '__module__', '')}.{getattr(item, '__qualname__', item)}"
        elif isinstance(item, type):
            yield from self._class(item)
        else:
            yield from self._instance(item)

    def _container(self, item: Any) -> Iterator[str]:
        yield f"{type(item).__name__} {len(item) if hasattr(item, '__len__') else ''}"
        self._mutable |= isinstance(item, (list, set, dict))
        if isinstance(item, slice):
            yield from self._contents([item.start, item.stop, item.step])
        elif isinstance(item, range):
            yield repr(item)
        elif isinstance(item, (set, frozenset)):
            if not all(isinstance(each, PLAIN) for each in item):
                raise Incomparable("it reads a set of objects")
            yield repr(sorted(map(repr, item)))
        elif isinstance(item, dict):
            for key, each in list(item.items()):
                yield from self.pieces(key)
                yield from self.pieces(each)
        else:
            yield from self._contents(item)

    def _contents(self, items: Any) -> Iterator[str]:
        for each in items:
            yield from self.pieces(each)

    def _array(self, item: Any) -> str:
        if type(item) is not np.ndarray or item.dtype.hasobject or item.nbytes > MOST_BYTES:
            raise Incomparable(f"it reads an array of {item.dtype}, {item.nbytes:,} bytes")
        self._mutable = True
        content = hashlib.blake2b(np.ascontiguousarray(item).tobytes(), digest_size=16).hexdigest()
        return f"{item.shape} {item.strides} {item.dtype} {content}"

    # --- code

    def _function(self, item: types.FunctionType) -> Iterator[str]:
        if _of_numpy(item):
            yield f"{item.__module__}.{item.__qualname__}"
            return
        self._functions += 1
        if self._functions > MOST_FUNCTIONS:
            raise Incomparable(f"it calls more than {MOST_FUNCTIONS} functions")
        code = self._guard(getattr, item, "__code__", item.__code__)
        yield f"{item.__module__}.{item.__qualname__}"
        yield from _code_pieces(code)
        for name in ("__defaults__", "__kwdefaults__"):
            yield from self.pieces(self._guard(getattr, item, name, getattr(item, name)))
        if item.__dict__:
            self._mutable = True
            yield from self.pieces(dict(item.__dict__))
        cells = dict(zip(code.co_freevars, item.__closure__ or (), strict=True))
        for each in _codes(code):
            _refuse_state(each, cells)
            for root, name, attributes in _reads(each):
                yield name
                if root == "global":
                    yield from self._global(item.__globals__, name, attributes)
                elif name in cells:
                    yield from self._cell(cells[name], attributes)

    def _cell(self, cell: types.CellType, attributes: tuple[str, ...]) -> Iterator[str]:
        try:
            held = cell.cell_contents
        except ValueError:  # not filled yet
            raise Incomparable("a variable of the enclosing function has no value yet") from None
        self._guard(getattr, cell, "cell_contents", held)
        yield from self._resolved(held, attributes)

    def _global(self, names: dict[str, Any], name: str, attributes: tuple[str, ...]) -> Iterator[str]:
        held = self._guard(_item, names, name, names.get(name, _MISSING))
        if held is _MISSING:
            held = getattr(builtins, name, _MISSING)
            if held is not _MISSING and name not in BUILTINS and not _is_exception(held):
                raise Incomparable(f"it uses {name}")
        if held is not _MISSING:
            yield from self._resolved(held, attributes)

    def _resolved(self, held: Any, attributes: tuple[str, ...]) -> Iterator[str]:
        """An object, or the attribute of a module that the code asks for."""
        for number, name in enumerate(attributes):
            if not isinstance(held, types.ModuleType) or _is_stateless(held):
                if _is_tracked(held):
                    raise Incomparable(f"it reads the attribute {name!r} of a tracked function")
                break
            yield ".".join(attributes[: number + 1])
            held = self._guard(_item, vars(held), name, vars(held).get(name, _MISSING))
            if held is _MISSING:
                raise Incomparable(f"the attribute {name!r} of a module is computed when it is asked for")
        if isinstance(held, types.ModuleType) and not _is_stateless(held):
            raise Incomparable(f"it uses the module {held.__name__}")
        yield from self.pieces(held)

    # --- classes and their instances

    def _class(self, item: type) -> Iterator[str]:
        if _is_exception(item):
            yield item.__qualname__
            return
        if type(item) is not type:
            raise Incomparable(f"it uses the class {item.__qualname__}, which a metaclass made")
        for each in item.__mro__:
            if each is object:
                continue
            if each.__module__ == "builtins":
                raise Incomparable(f"it uses the class {item.__qualname__}, which extends {each.__qualname__}")
            self._mutable = True  # attributes of a class can be set anew
            yield f"class {each.__module__}.{each.__qualname__}"
            for name, member in list(vars(each).items()):
                if name in _OF_EVERY_CLASS:
                    continue
                yield name
                yield from self._member(member)

    def _member(self, member: Any) -> Iterator[str]:
        if isinstance(member, (staticmethod, classmethod)):
            yield from self.pieces(member.__func__)
        elif isinstance(member, property):
            yield from self._contents([member.fget, member.fset, member.fdel])
        elif isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType)):
            yield "slot"
        else:
            yield from self.pieces(member)

    def _instance(self, item: Any) -> Iterator[str]:
        kind = type(item)
        if kind.__module__ == "builtins" or _is_stateless(kind):  # compiled: its state is out of sight
            raise Incomparable(f"it reads an object of the class {kind.__module__}.{kind.__qualname__}")
        slots = [name for each in kind.__mro__ for name in _slots(each)]
        self._mutable = True
        yield from self.pieces(kind)
        yield from self.pieces(dict(getattr(item, "__dict__", {})))
        yield from self._contents([getattr(item, name, None) for name in slots])


_OF_EVERY_CLASS = frozenset(
    ["__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__firstlineno__", "__static_attributes__"]
)


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [each for each in slots if each not in ("__dict__", "__weakref__")]


def _item(names: dict[str, Any], name: str) -> Any:
    return names.get(name, _MISSING)


def _is_tracked(item: Any) -> bool:
    return callable(item) and isinstance(vars(type(item)).get("last"), property) and hasattr(item, "function")


def _is_exception(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseException) and item.__module__ == "builtins"


def _of_numpy(item: Any) -> bool:
    """Whether this is NumPy's own function, and not one made with NumPy (np.frompyfunc, np.vectorize)."""
    module = getattr(item, "__module__", None) or ("numpy" if isinstance(item, np.ufunc) else "")
    if module.split(".")[0] != "numpy" or getattr(item, "__name__", "") in WORDS:
        return False
    name = getattr(item, "__qualname__", "") or getattr(item, "__name__", "")
    try:
        return operator.attrgetter(name)(sys.modules[module]) is item
    except (AttributeError, KeyError):
        return False


def _is_stateless(item: Any) -> bool:
    """NumPy, the builtins and the modules without state that everybody uses."""
    if isinstance(item, types.ModuleType):
        root = item.__name__.split(".")[0]
        return (root == "numpy" and item.__name__ != "numpy.random") or item.__name__ in STATELESS_MODULES
    module, name = getattr(item, "__module__", None), getattr(item, "__name__", "")
    if module == "builtins" and (isinstance(item, type) or callable(item)):
        return name in BUILTINS and getattr(builtins, name, None) is item
    if isinstance(item, (types.BuiltinFunctionType, type)) and module in STATELESS_MODULES:
        return True
    return _of_numpy(item)


# --- reading code objects


def _code_pieces(code: types.CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_kwonlyargcount))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_pieces(constant)
        else:
            yield repr(sorted(constant, key=repr)) if isinstance(constant, frozenset) else repr(constant)


@functools.lru_cache(maxsize=1 << 12)
def _codes(code: types.CodeType) -> tuple[types.CodeType, ...]:
    """The code object and those of the functions, classes and comprehensions inside it."""
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return (code, *(found for each in inner for found in _codes(each)))


@functools.lru_cache(maxsize=1 << 12)
def _reads(code: types.CodeType) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """The globals and closure variables that code reads, each with the attributes it asks for directly.

    >>> _reads((lambda x: np.linalg.inv(x) + scale).__code__)
    (('global', 'np', ('linalg', 'inv')), ('global', 'scale', ()))
    """
    found: dict[tuple[str, str, tuple[str, ...]], None] = {}
    root: tuple[str, str] | None = None
    attributes: list[str] = []
    for each in (*dis.get_instructions(code), None):
        if root and each is not None and each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.append(each.argval)
            continue
        if root:
            found[(*root, tuple(attributes))] = None
        root, attributes = None, []
        if each is not None and each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            root = ("global", each.argval)
        elif each is not None and each.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            root = ("closure", each.argval)
    return tuple(found)


def _refuse_state(code: types.CodeType, cells: dict[str, Any]) -> None:
    """Code that changes its surroundings, imports, or names a source of randomness, time or files, is never reused."""
    for each in dis.get_instructions(code):
        if each.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            raise Incomparable(f"it assigns the global variable {each.argval}")
        if each.opname in ("STORE_DEREF", "DELETE_DEREF") and each.argval in cells:
            raise Incomparable(f"it assigns {each.argval}, a variable of the enclosing function")
        if each.opname == "IMPORT_NAME" and each.argval.split(".")[0] not in {"numpy", *STATELESS_MODULES}:
            raise Incomparable(f"it imports {each.argval}")
    if words := WORDS.intersection(code.co_names):
        raise Incomparable(f"it uses {min(words)}")
