"""Find and replace arrays in the arguments and results of a call: in lists, dicts, tuples and dataclasses."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence import _tracked
from whence.arrays.adapters.labelled import changed, is_labelled, parts
from whence.arrays.linking.besides import learned_by, surroundings
from whence.arrays.linking.frames import is_frame
from whence.arrays.tracing import Traced
from whence.errors import BadType

Shape = tuple[int, ...]
Function = Callable[..., Any]
Pairs = list[tuple[Any, Any]]
"""Containers among the arguments of a call, each with the copy that the function gets in its place."""


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a call took or returned, with its label, such as the name of the parameter."""

    label: str
    value: Any

    @property
    def shape(self) -> Shape:
        """The shape; a number is an array without axes."""
        return np.shape(self.value)


def parameters_of(function: Function) -> tuple[str, ...]:
    """The names of a function's parameters."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins have no signature
        return ("a", "b", "c")


def named(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments by parameter; those beyond the last parameter are numbered.

    >>> named(("a", "more"), (1, 2, 3), {"axis": 0})
    {'a': 1, 'more': 2, 'more2': 3, 'axis': 0}
    """
    last = names[-1] if names else "a"
    found = {names[i] if i < len(names) else f"{last}{i}": item for i, item in enumerate(args)}
    return {**found, **kwargs}


def is_followed(item: Any) -> bool:
    """Whether `item` is an array whose lineage is followed: a plain array of real numbers. Masked arrays and matrices
    compute differently, so they are not followed.

    >>> is_followed(np.arange(3)), is_followed(np.array(["a"])), is_followed(np.ma.masked_less([1, 2], 2))
    (True, False, False)
    """
    if isinstance(item, Traced):
        return True
    plain = type(item) in (np.ndarray, np.memmap) or isinstance(item, _tracked.Held)
    return plain and item.dtype.kind not in "cUSOMm" and item.dtype.names is None


def arrays_in(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Array]:
    """Yield the arrays among the arguments, also those inside lists, each with the parameter it was passed for."""
    for label, item in named(names, args, kwargs).items():
        yield from _arrays(label, item)


def _arrays(label: str, item: Any) -> Iterator[Array]:
    if is_followed(item):
        yield Array(label, item)
    elif inspect.isgenerator(item) or inspect.iscoroutine(item):
        raise BadType(f"{label!r} is a {type(item).__name__}, which can be read only once: give a list of arrays")
    elif isinstance(item, (list, tuple)):
        for number, each in enumerate(item):
            yield from _arrays(f"{label}[{number}]", each)
    elif isinstance(item, dict):
        for key, each in item.items():
            yield from _arrays(f"{label}[{key!r}]", each)
    elif is_labelled(item):
        for key, each in parts(item):
            yield from _arrays(f"{label}.{key}" if key else label, each)
    else:
        for key, each in _fields(item):
            yield from _arrays(f"{label}.{key}", each)


def _fields(item: Any) -> list[tuple[str, Any]]:
    """Return the fields of a dataclass instance; nothing for other objects."""
    if isinstance(item, type) or not dataclasses.is_dataclass(type(item)):
        return []
    return [(each.name, getattr(item, each.name)) for each in dataclasses.fields(item) if hasattr(item, each.name)]


def replaced(item: Any, change: Callable[[Any], Any], pairs: Pairs | None = None) -> Any:
    """Return the same structure with every array changed; a container is copied only if something in it changes.

    `pairs` collects the containers that were replaced, each with its replacement.
    """

    def inner(each: Any) -> Any:
        return replaced(each, change, pairs)

    if is_followed(item):
        return change(item)
    if is_labelled(item):
        return changed(item, lambda each: change(each) if is_followed(each) else each)
    if isinstance(item, (list, tuple)):
        parts = [inner(each) for each in item]
        if all(a is b for a, b in zip(item, parts, strict=True)):
            return item
        if isinstance(item, tuple):
            return type(item)(*parts) if hasattr(item, "_fields") else type(item)(parts)
        own: Any = copy.copy(item)
        own[:] = parts
    elif isinstance(item, dict):
        values = {key: inner(each) for key, each in item.items()}
        if all(item[key] is each for key, each in values.items()):
            return item
        own = copy.copy(item)
        own.update(values)
    else:
        own = replaced_fields(item, inner)
    if pairs is not None and own is not item:
        pairs.append((item, own))
    return own


def replaced_fields(item: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of a dataclass instance with changed fields; anything else is returned unchanged."""
    own = [(key, each, change(each)) for key, each in _fields(item)]
    if any(before is not after for _, before, after in own):
        item = copy.copy(item)
        for key, _, after in own:
            object.__setattr__(item, key, after)  # frozen dataclasses, too: no other code has the copy yet
    return item


def write_back(pairs: Pairs, change: Callable[[Any], Any]) -> None:
    """Apply changes that a function made to copies of the caller's containers to the caller's containers.

    `change` returns the caller's array for an array of the run.
    """
    given = {id(own): item for item, own in pairs}

    def back(each: Any) -> Any:
        return given[id(each)] if id(each) in given else change(each)

    for item, own in pairs:
        if isinstance(item, list):
            parts = [back(each) for each in own]
            if len(parts) != len(item) or any(a is not b for a, b in zip(item, parts, strict=True)):
                item[:] = parts
        elif isinstance(item, dict):
            values = {key: back(each) for key, each in own.items()}
            if list(values) != list(item) or any(item[key] is not each for key, each in values.items()):
                item.clear()
                item.update(values)
        else:
            kept = dict(_attributes(own))
            for key, each in kept.items():
                if getattr(item, key, kept) is not (after := back(each)):
                    object.__setattr__(item, key, after)
            for key in [key for key, _ in _attributes(item) if key not in kept]:
                object.__delattr__(item, key)


def _attributes(item: Any) -> list[tuple[str, Any]]:
    """Return all attributes of a dataclass instance."""
    return list({**getattr(item, "__dict__", {}), **dict(_fields(item))}.items())


def outputs_of(result: Any, label: str) -> list[Array]:
    """Return the arrays in the result of a function: one, or those in a tuple, list, dict or dataclass.

    Single numbers and pandas tables count as arrays; an estimator of scikit-learn counts as its learned attributes.
    """
    if inspect.isgenerator(result) or inspect.isasyncgen(result) or inspect.iscoroutine(result):
        raise BadType(
            f"{label} returned a {type(result).__name__}: whence records lineage of arrays; return a list of arrays"
        )
    if isinstance(result, (np.ndarray, Traced, np.number, np.bool_)) or type(result) is float or is_frame(result):
        return [Array(label, result)]
    found: list[Array] = []
    if is_labelled(result):
        return [one for key, each in parts(result) for one in outputs_of(each, f"{label}.{key}" if key else label)]
    if isinstance(result, dict):
        for key, each in result.items():
            found += outputs_of(each, f"{label}.{key}")
    elif isinstance(result, (list, tuple)):
        names = getattr(result, "_fields", range(len(result)))
        for key, each in zip(names, result, strict=True):
            found += outputs_of(each, f"{label}.{key}")
    for key, each in (*_fields(result), *learned_by(result)):
        found += outputs_of(each, f"{label}.{key}")
    return found


def stored_by(
    function: Function, arguments: dict[str, Any], label: str, is_result: Callable[[Any], bool]
) -> list[Array]:
    """Return the results that a function stored instead of returning: in its object, a list, or an enclosing
    variable.
    """
    found = surroundings(function, arguments, is_result)[0]
    once = {id(each): (name, each) for name, each in found.items()}
    return [Array(f"{label}.{name.removeprefix('self.')}", each) for name, each in once.values()]
