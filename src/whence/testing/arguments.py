"""Pass arrays to every parameter of NumPy's functions: the lineage must be recorded, or the call refused.

The calls of the survey are repeated with each parameter replaced by arrays of several shapes and types. Those that
NumPy accepts run with all arrays tracked; every cell that changes with the array must have it in its lineage.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.arrays.recording.calls import captured
from whence.arrays.recording.structures import is_followed, outputs_of
from whence.errors import WhenceError
from whence.testing import numpy_calls
from whence.testing.numpy_beyond import EVERYTHING
from whence.testing.numpy_calls import Call

STEP = 1e-4
MOST_CELLS = 12
TEXTS = frozenset(["dtype", "casting", "subok", "like", "device", "signature", "order", "kind", "mode", "method"])
"""Parameters that are not numbers in any function."""

ALIKE = tuple(f"polynomial.{name}." for name in ("legendre", "laguerre", "hermite", "hermite_e"))
"""Functions that are the same as in numpy.polynomial.chebyshev, for other polynomials."""

FINE = ("traced", "refused", "noted")

OF_MEMORY = (
    "byteswap", "dump", "dumps", "getfield", "resize", "setfield", "setflags", "to_device", "tobytes", "tofile", "view",
)  # fmt: skip
"""Methods that reinterpret memory, or write it to a file. They are refused by name."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome for one parameter and one array."""

    function: str
    parameter: str
    array: str
    outcome: str  # traced, refused, noted, or an error
    detail: str = ""

    @property
    def fine(self) -> bool:
        """Whether no lineage was lost silently."""
        return self.outcome in FINE


def calls(seed: int = 0) -> Iterator[tuple[str, Call]]:
    """Yield the calls of the survey, and calls of methods of arrays and ufuncs."""
    longest, numpy_calls.LONGEST = numpy_calls.LONGEST, 4
    try:
        for name, make in EVERYTHING.items():
            if name.startswith(ALIKE):
                continue
            yield name, make(np.random.default_rng(seed))
    finally:
        numpy_calls.LONGEST = longest
    rng = np.random.default_rng(seed)
    square = rng.random((3, 3)) + 0.1
    given: dict[str, tuple[Any, ...]] = {
        "choose": ([rng.random(3), rng.random(3)],), "clip": (0.2, 0.8), "compress": ([True, False, True],),
        "diagonal": (), "dot": (rng.random(3),), "partition": (1,), "argpartition": (1,), "put": ([0, 1], 0.5),
        "repeat": (2,), "reshape": (9,), "searchsorted": (0.4,), "swapaxes": (0, 1), "take": ([0, 1],),
        "transpose": (), "astype": ("f4",), "fill": (0.5,), "item": (0,),
    }  # fmt: skip
    for name in dir(np.ndarray):
        method = getattr(np.ndarray, name)
        if name.startswith("_") or not callable(method) or name in OF_MEMORY:
            continue
        own = rng.random(3) if name in ("searchsorted", "put") else square
        own = np.array([0, 1, 1]) if name == "choose" else np.sort(own) if name == "searchsorted" else own
        yield f"ndarray.{name}", Call(_method(name, method), (own, *given.get(name, ())), {})
    for ufunc in (np.add, np.maximum, np.multiply):
        for name, rest in (("reduce", ()), ("accumulate", ()), ("outer", (rng.random(2),)), ("reduceat", ([0, 1],))):
            yield f"{ufunc.__name__}.{name}", Call(getattr(ufunc, name), (square, *rest), {})


def _method(name: str, method: Any) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = getattr(self, name)(*args, **kwargs)
        return self if found is None else found

    setattr(call, "__signature__", inspect.signature(method))  # noqa: B010  # NumPy's signature
    return call


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function that may accept numbers."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    if isinstance(getattr(function, "__self__", None), np.ufunc) and function.__name__ == "reduce":
        found += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("keepdims", "initial", "where")]
    varied = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each for each in found if each.kind not in varied and each.name not in TEXTS]


def candidates(call: Call, given: Any) -> Iterator[Any]:
    """Arrays that a parameter might accept: its argument as an array, numbers, masks and indices, in likely shapes."""
    first = next((each for each in call.args if isinstance(each, np.ndarray)), np.ones(3))
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        yield np.array(given)
        yield np.array([given])
    elif isinstance(given, (list, tuple)) and all(isinstance(each, (int, float)) for each in given):
        yield np.array(given)
    yield np.array(0.5)
    yield np.array(1)
    yield np.array([0, 1])
    yield np.array([0.25, 0.75])
    yield np.full(first.shape, 0.5) + np.arange(first.size).reshape(first.shape) / 64
    yield np.arange(first.size).reshape(first.shape) % 2 == 0
    yield np.full((1, *first.shape[1:]), 0.5)
    if first.ndim:
        yield np.linspace(0.5, 1, first.shape[-1])
        yield np.arange(1, first.shape[0] + 1)


def _outs(call: Call) -> list[Any]:
    """An `out` array of the right shape. NumPy 2.4 crashes otherwise (np.ones((3, 3)).cumprod(out=np.array(1.0)))."""
    return [np.array(each.value) for each in outputs_of(call.function(*call.args, **call.kwargs), "f")[:1]]


def tried(name: str, call: Call) -> Iterator[Tried]:
    """Try every parameter of one function with every array that NumPy accepts for it."""
    names = [each.name for each in parameters(call.function)]
    places = [each.name for each in parameters(call.function) if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    for parameter in names:
        at = places.index(parameter) if parameter in places else None
        by_place = at is not None and at < len(call.args)
        given = call.args[at] if by_place and at is not None else call.kwargs.get(parameter)
        if isinstance(given, np.ndarray) or (isinstance(given, list) and any(isinstance(x, np.ndarray) for x in given)):
            continue  # an array already, which the survey itself covers
        for array in _outs(call) if parameter == "out" else candidates(call, given):

            def changed(item: Any, at: int | None = at, by_place: bool = by_place, key: str = parameter) -> Call:
                if by_place:
                    args = tuple(item if place == at else each for place, each in enumerate(call.args))
                    return Call(call.function, args, call.kwargs)
                return Call(call.function, call.args, {**call.kwargs, key: item})

            found = _tried(changed, array)
            if found is not None:
                yield Tried(name, parameter, f"{array.dtype}{array.shape}", *found)


def _own_copy(item: Any) -> Any:
    return item.copy() if isinstance(item, np.ndarray) else item


def _outputs_of(call: Call) -> list[Any]:
    copies = [_own_copy(each) for each in call.args]
    options = {key: _own_copy(each) for key, each in call.kwargs.items()}
    found = [np.array(each.value) for each in outputs_of(call.function(*copies, **options), "f")]
    written = [np.array(each) for each in (*copies, *options.values()) if isinstance(each, np.ndarray)]
    return [*found, *written]


def _tried(changed: Callable[[Any], Call], array: Any) -> tuple[str, str] | None:
    """Return the outcome; None if NumPy does not accept the array."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            before = _outputs_of(changed(array))
        except Exception:  # NumPy's own error, of any type
            return None
        if not before:
            return None
        verdicts = [_one_way(changed, array, before, how) for how in ("direct", "alone", "within")]
    return next((each for each in verdicts if each[0] not in FINE), verdicts[-1])


def _one_way(changed: Callable[[Any], Call], array: Any, before: list[Any], how: str) -> tuple[str, str]:
    """The verdict for the function itself, for one that calls it, or for one whose only input is this array."""
    call = changed(array)
    if how == "alone":
        whole = call

        def alone(p0: Any) -> Any:
            args = [
                p0 if each is array else each.copy() if isinstance(each, np.ndarray) else each for each in whole.args
            ]
            return whole.function(*args, **{k: p0 if each is array else each for k, each in whole.kwargs.items()})

        call = Call(alone, (array,), {})
    args = tuple(_own_copy(each) for each in call.args)
    kwargs = {key: _own_copy(each) for key, each in call.kwargs.items()}
    function = call.function if how == "direct" else (lambda *args, **kwargs: call.function(*args, **kwargs))
    labels = tuple(f"p{n}" for n in range(len(args)))
    which = next(n for n, each in enumerate((*args, *kwargs.values())) if _stands_for(call, n, array))
    label = labels[which] if which < len(labels) else list(kwargs)[which - len(labels)]
    try:
        found = captured(function, args, kwargs, labels, "f", selection=True)
    except WhenceError as error:
        return "refused", str(error)
    except Exception as error:
        if "must be an array" in str(error):  # NumPy's own code rejects out=
            return "refused", str(error)
        return f"raised {type(error).__name__}", str(error)
    if found.notes:  # numbers were read from the array, or Python code branched on it: the record notes both
        return "noted", ""
    given = changed(array)
    count = len(before) - sum(isinstance(each, np.ndarray) for each in (*given.args, *given.kwargs.values()))
    for old, new in zip(before[:count], found.outputs, strict=False):
        if np.shape(old) != np.shape(new.value) or old.tobytes() != np.array(new.value).tobytes():
            return "other values", f"{old} {new.value}"
    if not is_followed(array):  # complex numbers, strings, dates: every result may use all of the input
        return "noted", ""
    number = [each.label for each in found.inputs].index(label)
    said: dict[int, set[tuple[int, ...]]] = {}
    for edge in found.edges:
        try:
            tuples = edge.relation.to_array()
        except WhenceError as error:
            return "no relation", str(error)
        if edge.input == number:
            said.setdefault(edge.output, set()).update(map(tuple, tuples.tolist()))
    for at, cell in _influences(changed, array, before[:count]):
        if cell not in said.get(at, set()):
            return "left out", f"output {at}, {cell}"
    return "traced", ""


def _stands_for(call: Call, n: int, array: Any) -> bool:
    return (*call.args, *call.kwargs.values())[n] is array


def _influences(changed: Callable[[Any], Call], array: Any, before: list[Any]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the outputs, and pairs of their cells and cells of the array, that change with it."""
    cells = list(np.ndindex(array.shape))[:MOST_CELLS]
    steps: tuple[Any, ...] = (STEP, -STEP) if array.dtype.kind == "f" else (1, -1)
    for cell in cells:
        for step in steps:
            other = array.copy()
            other[cell] = not other[cell] if array.dtype == bool else other[cell] + step
            try:
                after = _outputs_of(changed(other))[: len(before)]
            except Exception:  # noqa: S112  # NumPy does not accept this one
                continue
            for at, (old, new) in enumerate(zip(before, after, strict=False)):
                if old.shape == new.shape:
                    both = (old == new) | ((old != old) & (new != new))
                    close = np.abs(np.subtract(old, new, dtype=complex)) < 1e-9 if old.dtype.kind in "fc" else False
                    for index in np.argwhere(~(both | close)):
                        yield at, (*map(int, index), *cell)
