"""Run a function with NumPy's constructors replaced, so that arrays it creates and fills are traced from the start.

`np.zeros(n)` gives the function memory to write to. If that memory were plain, values written to it would lose their
lineage, so such writes are refused. The function runs with a copy of its globals in which NumPy is replaced.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.adapters import load
from whence.arrays.adapters.foreign import importing, stand_in
from whence.errors import NoRule

if TYPE_CHECKING:
    from whence.arrays.tracing._run import Run

MAKING = ("arange", "empty", "eye", "full", "identity", "linspace", "ones", "zeros")
READING = ("array", "asanyarray", "asarray", "ascontiguousarray", "asarray_chkfinite", "asfortranarray", "require")
AS_STRIDED = np.lib.stride_tricks.as_strided


class Module:
    """A module with some of its names replaced."""

    def __init__(self, real: types.ModuleType, names: dict[str, Any]) -> None:
        self._real = real
        self._names = names

    def __getattr__(self, name: str) -> Any:
        return self._names[name] if name in self._names else getattr(self._real, name)


def _as_strided(run: Run, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Replace as_strided, because NumPy's version needs the memory of an array, which a traced array does not
    expose.
    """
    from whence.arrays.tracing._traced import Traced

    if isinstance(x, Traced) and not run.finished:
        return x.__array_function__(AS_STRIDED, (), (x, *args), kwargs)
    return AS_STRIDED(x, *args, **kwargs)


class Numpy:
    """NumPy with the functions replaced that make arrays from nothing or from other objects."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __getattr__(self, name: str) -> Any:
        real = getattr(np, name)
        if self._run.finished:
            return real
        if name == "lib":
            return self._lib()
        if name in MAKING:
            return partial(_make, self._run, real)
        if name in READING:
            return partial(_read_array, self._run, real)
        if name == "vectorize":
            return partial(_vectorized, self._run)
        return real

    def _stride_tricks(self) -> Module:
        """numpy.lib.stride_tricks with as_strided replaced."""
        return Module(np.lib.stride_tricks, {"as_strided": partial(_as_strided, self._run)})

    def _lib(self) -> Module:
        """numpy.lib with stride_tricks replaced."""
        return Module(np.lib, {"stride_tricks": self._stride_tricks()})


def _value_of(item: Any) -> Any:
    from whence.arrays.tracing._traced import Traced

    return item.value if isinstance(item, Traced) else item


def _make(run: Run, real: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if _holds_traced([*args, *kwargs.values()]):
        if real is not np.full:
            return real(*args, **kwargs)  # NumPy calls the traced array's methods
        filled = args[1] if len(args) > 1 else kwargs["fill_value"]
        made = run.fresh(real(*map(_value_of, args), **{key: _value_of(each) for key, each in kwargs.items()}))
        made[...] = filled
        return made
    made = real(*args, **kwargs)
    return run.fresh(made) if isinstance(made, np.ndarray) else made


def _read_array(run: Run, real: Callable[..., Any], object: Any, *args: Any, **kwargs: Any) -> Any:
    from whence.arrays.tracing._traced import Traced

    if isinstance(object, Traced):
        return object.held_as(real(object.value, *args, **kwargs))
    if _holds_traced(object):
        if _is_of_objects(*args, **kwargs):
            error = NoRule("an array of objects that holds traced arrays")
            run.refuse(error)
            raise error
        # An array that NumPy makes of a list is in C order, whatever the order of its items.
        stacked = np.copy(np.stack([_read_array(run, np.asarray, each) for each in object]), order="C")
        return _read_array(run, real, stacked, *args, **kwargs)
    return run.fresh(real(object, *args, **kwargs))


def _is_of_objects(dtype: Any = None, *_: Any, **__: Any) -> bool:
    return dtype is not None and np.dtype(dtype).hasobject


def _vectorized(run: Run, pyfunc: Callable[..., Any], *options: Any, **named: Any) -> Callable[..., Any]:
    """Replace np.vectorize: the function is called for every cell, of a traced array with a traced number."""
    real = np.vectorize(pyfunc, *options, **named)

    def each_cell(*args: Any, **kwargs: Any) -> Any:
        if not _holds_traced([*args, *kwargs.values()]):
            return real(*args, **kwargs)
        if kwargs or options or set(named) - {"otypes"}:
            raise NoRule("np.vectorize of traced arrays takes arrays by position, and only the option otypes")
        arrays = np.broadcast_arrays(*(each if _holds_traced(each) else np.asarray(each) for each in args))
        cells = [pyfunc(*(each[at] for each in arrays)) for at in np.ndindex(arrays[0].shape)]
        if not cells or any(isinstance(each, tuple) for each in cells):
            raise NoRule(
                "np.vectorize of traced arrays needs at least one cell, and a function that returns one number"
            )
        made = np.reshape(_read_array(run, np.asarray, cells), arrays[0].shape)
        return made.astype(named["otypes"][0]) if "otypes" in named else made

    return each_cell


class _KindOfType(type):
    def __call__(cls, item: Any, *more: Any, **options: Any) -> Any:
        from whence.arrays.tracing._traced import Traced

        if more or options:
            return type(item, *more, **options)
        return type(item.plain if isinstance(item, Traced) else item)

    def __instancecheck__(cls, item: Any) -> bool:
        return isinstance(item, type)


class _Type(metaclass=_KindOfType):
    """The built-in `type`, except that a traced array has NumPy's class."""


def _holds_traced(item: Any) -> bool:
    from whence.arrays.tracing._traced import Traced

    return isinstance(item, Traced) or (isinstance(item, (list, tuple)) and any(map(_holds_traced, item)))


def rebound(function: Callable[..., Any], run: Any) -> Callable[..., Any]:
    """Return the same function with NumPy replaced; a function that cannot be rebuilt is returned unchanged.

    `run` is a run, or another object that makes the arrays which the function creates.
    """
    if not isinstance(function, types.FunctionType) or _sets_globals(function.__code__):
        return function
    load()
    made: dict[types.FunctionType, types.FunctionType] = {}
    return _rebound_function(function, Numpy(run), made)


def _rebound_function(
    function: types.FunctionType, numpy: Numpy, made: dict[types.FunctionType, types.FunctionType]
) -> types.FunctionType:
    if function in made:
        return made[function]
    names: dict[str, Any] = dict(function.__globals__)
    if _imports(function.__code__):
        names["__builtins__"] = {**vars(builtins), "__import__": importing(numpy._run, numpy)}
    run = numpy._run
    defaults = function.__defaults__ and tuple(stand_in(run, each) for each in function.__defaults__)
    closure = function.__closure__ and tuple(_cell(run, each) for each in function.__closure__)
    copy = types.FunctionType(function.__code__, names, function.__name__, defaults, closure)
    by_name = function.__kwdefaults__
    copy.__kwdefaults__ = by_name and {key: stand_in(run, each) for key, each in by_name.items()}
    copy.__annotations__ = function.__annotations__
    copy.__doc__, copy.__qualname__ = function.__doc__, function.__qualname__
    copy.__dict__ = function.__dict__  # shared, because code may read and set attributes of the function
    made[function] = copy
    names.setdefault("type", _Type)
    for name in _named_in(function.__code__):
        item = names.get(name)
        if item is np:
            names[name] = numpy
        elif item is np.lib:
            names[name] = numpy._lib()
        elif item is np.lib.stride_tricks:
            names[name] = numpy._stride_tricks()
        elif item is AS_STRIDED:
            names[name] = partial(_as_strided, numpy._run)
        elif isinstance(item, types.FunctionType) and item.__module__ == function.__module__:
            if not _sets_globals(item.__code__):
                names[name] = _rebound_function(item, numpy, made)
        elif callable(item) and getattr(item, "__module__", None) == "numpy" and hasattr(item, "__name__"):
            names[name] = getattr(numpy, item.__name__, item) if item.__name__ in MAKING + READING else item
        elif isinstance(item, (types.FunctionType, types.ModuleType)):
            names[name] = stand_in(run, item)
    return copy


def _cell(run: Run, cell: types.CellType) -> types.CellType:
    """Return the cell of an enclosing variable; a new one if it contains a function that has a stand-in."""
    try:
        held = cell.cell_contents
    except ValueError:  # an empty cell
        return cell
    made = stand_in(run, held)
    return cell if made is held else types.CellType(made)


@lru_cache(maxsize=1 << 12)
def _named_in(code: types.CodeType) -> frozenset[str]:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(code.co_names).union(*(_named_in(each) for each in inner))


@lru_cache(maxsize=1 << 12)
def _sets_globals(code: types.CodeType) -> bool:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return any(each.opname == "STORE_GLOBAL" for each in dis.get_instructions(code)) or any(map(_sets_globals, inner))


@lru_cache(maxsize=1 << 12)
def _imports(code: types.CodeType) -> bool:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return any(each.opname == "IMPORT_NAME" for each in dis.get_instructions(code)) or any(map(_imports, inner))
