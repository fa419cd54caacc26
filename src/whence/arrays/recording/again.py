"""Undo the side effects of a run before a function runs again.

A run on traced arrays may reach an operation that cannot be traced; then the function runs again in another way. The
caller must not notice, so the objects that the function can reach are restored: counters, lists and random generators.
Output that was printed or written to files stays.
"""

from __future__ import annotations

import random
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from whence.arrays.linking.besides import LEAVES, Reading, attributes_of, is_of_program, reads_nothing

DEEP = 4  # levels of nested objects
MOST_ITEMS = 1 << 16  # in one container
MOST_CELLS = 1 << 12  # in one array


def undoing(function: Any, arguments: Mapping[str, Any], arrays: Iterable[Any] = ()) -> Callable[[], None]:
    """Return a function that restores all objects that code of `function` can reach to their present state.

    `arrays` are the arrays among the arguments; they are not restored.

    >>> seen = []
    >>> undo = undoing(lambda x: seen.append(x), {})
    >>> seen.append(1)
    >>> undo()
    >>> seen
    []
    """
    if reads_nothing(function, arguments):
        return lambda: None
    reading = Reading(lambda _: False)
    reading.function(function, dict(arguments))
    undo: list[Callable[[], None]] = []
    reached = {id(each) for each in arrays}
    for each in reading.functions:
        undo += _variables(each)
        for _, held in each.held:
            undo += _inside(held, reached, DEEP)
    for item in reading.objects.values():
        undo += _inside(item, reached, DEEP)
    if "random" in reading.named:
        undo.append(_setter(random.setstate, random.getstate()))
        undo.append(_setter(np.random.set_state, np.random.get_state()))  # noqa: NPY002  # programs use these, too

    def all_of_it() -> None:
        for each in undo:
            each()

    return all_of_it


def _setter(function: Callable[[Any], Any], state: Any) -> Callable[[], None]:
    return lambda: function(state) and None


def _variables(function: Any) -> Iterator[Callable[[], None]]:
    """Restore the globals that the code binds, and the variables of enclosing functions."""
    scope = function.scope
    for name in function.bound:
        yield _rebind(scope, name, scope[name]) if name in scope else _unbind(scope, name)
    for cell in function.cells:
        try:
            yield _refill(cell, cell.cell_contents)
        except ValueError:  # an empty cell
            continue


def _rebind(scope: dict[str, Any], name: str, value: Any) -> Callable[[], None]:
    return lambda: scope.__setitem__(name, value)


def _unbind(scope: dict[str, Any], name: str) -> Callable[[], None]:
    return lambda: scope.pop(name, None) and None


def _refill(cell: types.CellType, value: Any) -> Callable[[], None]:
    return lambda: setattr(cell, "cell_contents", value)


def _inside(item: Any, reached: set[int], depth: int) -> Iterator[Callable[[], None]]:
    """Restore the contents of an object, and of the objects in it."""
    if not depth or isinstance(item, (*LEAVES, float, types.FunctionType, types.ModuleType)) or id(item) in reached:
        return
    reached.add(id(item))
    parts: list[Any] = []
    if isinstance(item, np.ndarray):
        if item.size <= MOST_CELLS and item.flags.writeable and not item.dtype.hasobject:
            yield _fill(item, item.copy())
    elif isinstance(item, np.random.Generator):
        yield _setter(lambda state: setattr(item.bit_generator, "state", state), item.bit_generator.state)
    elif isinstance(item, np.random.RandomState):
        yield _setter(item.set_state, item.get_state())
    elif isinstance(item, random.Random):
        yield _setter(item.setstate, item.getstate())
    elif isinstance(item, (list, deque)) and len(item) <= MOST_ITEMS:
        parts = list(item)
        yield _extend(item, parts)
    elif isinstance(item, (dict, set)) and len(item) <= MOST_ITEMS:
        yield _update(item, item.copy())
        parts = list(item.values() if isinstance(item, dict) else item)
    elif isinstance(item, tuple):
        parts = list(item)
    elif isinstance(item, type) or is_of_program(type(item).__module__):
        own = dict(attributes_of(item, inherited=False))
        if not isinstance(item, type):
            yield _attributes(item, own)
        parts = list(own.values())
    for each in parts:
        yield from _inside(each, reached, depth - 1)


def _fill(array: Any, values: Any) -> Callable[[], None]:
    return lambda: np.copyto(array, values)


def _extend(items: Any, parts: list[Any]) -> Callable[[], None]:
    def undo() -> None:
        items.clear()
        items.extend(parts)

    return undo


def _update(item: Any, before: Any) -> Callable[[], None]:
    def undo() -> None:
        item.clear()
        item.update(before)

    return undo


def _attributes(item: Any, before: dict[str, Any]) -> Callable[[], None]:
    def undo() -> None:
        for key, _ in attributes_of(item, inherited=False):
            if key not in before:
                object.__delattr__(item, key)
        for key, each in before.items():
            object.__setattr__(item, key, each)

    return undo
