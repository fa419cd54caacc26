"""Arrays that outlive their run, because the function stored them in an object, a global or a closure.

When a run ends, such an array is replaced by a plain one where it is stored. If that is not possible (in the frame of a
generator, in a set), the traced array itself changes its class and behaves like its plain array.
"""

from __future__ import annotations

import gc
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from traceback import clear_frames
from typing import Any

from numpy.lib.mixins import NDArrayOperatorsMixin

from whence.errors import NoRule

ROUNDS = 8
"""How many levels of containers are replaced: tuples by new tuples, then the objects that contain them."""


class Body:
    """The slots of traced and of finished arrays: they are the same, so that a traced array can change its class."""

    __slots__ = ("__weakref__", "_buffer", "_cached", "_decided", "_number_in_run", "_run", "_sized", "_view", "value")


class Finished(NDArrayOperatorsMixin, Body):
    """An array of a run that has ended: it behaves like its plain array."""

    __slots__ = ()
    value: Any

    @property  # type: ignore[misc]  # type checkers assume that a class does not change
    def __class__(self) -> Any:
        return type(self._plain_value)

    @property
    def _plain_value(self) -> Any:
        return self.value[()] if not self.value.shape and self.value.base is None else self.value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        return np.array(self.value, dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*plain(inputs), **plain(kwargs))

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return function(*plain(args), **plain(kwargs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain_value, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.value, name, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._plain_value.__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self._plain_value.__copy__()

    def __deepcopy__(self, memo: Any) -> Any:
        return self._plain_value.__deepcopy__(memo)


def _delegating(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return getattr(self._plain_value, name)(*plain(args))

    method.__name__ = name
    return method


for _name in (
    "__bool__", "__complex__", "__contains__", "__delitem__", "__float__", "__format__", "__getitem__", "__hash__",
    "__index__", "__int__", "__iter__", "__len__", "__repr__", "__round__", "__setitem__", "__str__",
):  # fmt: skip
    setattr(Finished, _name, _delegating(_name))


def __hash__(self: Any) -> int:
    return hash(self._plain_value)  # raises TypeError for an array, as in NumPy


setattr(Finished, "__hash__", __hash__)  # noqa: B010  # a class that defines __eq__ has no hash unless it is set


def plain(item: Any) -> Any:
    """Return the same structure with finished arrays replaced by plain ones."""
    if type(item) is Finished:
        return item._plain_value
    if isinstance(item, (list, tuple)) and not hasattr(item, "_fields"):
        return type(item)(map(plain, item))
    if isinstance(item, dict):
        return {key: plain(each) for key, each in item.items()}
    return item


def finish(arrays: Iterable[Any], recorded: Mapping[int, Any]) -> None:
    """Make the traced arrays plain that are still referenced after their run.

    `recorded` has the plain values that were recorded: a single number must be the same object, by which it is
    recognised.
    """
    left = list(arrays)
    become = object.__dict__["__class__"].__set__
    for each in left:
        become(each, Finished)
    replace({id(each): recorded.get(id(each.value), each._plain_value) for each in left}, left)


@contextmanager
def letting_go() -> Iterator[None]:
    """If the block is refused, clear the local variables of the frames that the error refers to.

    They refer to arrays of the run; to replace these, whence would search all objects of the process. An error that
    the caller handles keeps its variables.
    """
    seen = {id(sys.exception())}
    try:
        yield
    except NoRule as refused:
        error: BaseException | None = refused
        while error is not None and id(error) not in seen:  # an error that is raised again may be its own cause
            seen.add(id(error))
            clear_frames(error.__traceback__)
            error = error.__cause__ or error.__context__
        raise


def replace(new: dict[int, Any], old: list[Any]) -> None:
    """Replace the old objects by new ones in every list, dict, attribute and closure that contains them.

    `new` maps the id of each old object to its replacement. A tuple that contains one is replaced in the next round.
    """
    for _ in range(ROUNDS):
        tuples: dict[int, Any] = {}
        holders: list[Any] = []
        for holder in gc.get_referrers(*old) if old else ():
            if holder is old or holder is holders:
                continue
            if isinstance(holder, tuple):
                made = tuple(new.get(id(each), each) for each in holder)
                kind: Any = type(holder)
                tuples[id(holder)] = kind(*made) if hasattr(holder, "_fields") else made
                holders.append(holder)
            else:
                _replaced_in(holder, new)
        if not tuples:
            return
        new, old = tuples, holders


def _replaced_in(holder: Any, new: dict[int, Any]) -> None:
    if isinstance(holder, dict):
        for key, item in list(holder.items()):
            if id(item) in new:
                holder[key] = new[id(item)]
    elif isinstance(holder, (list, deque)):
        for at, item in enumerate(list(holder)):
            if id(item) in new:
                holder[at] = new[id(item)]
    elif isinstance(holder, types.CellType):
        if id(holder.cell_contents) in new:
            holder.cell_contents = new[id(holder.cell_contents)]
    elif not isinstance(holder, (types.FrameType, type)):
        attributes = getattr(holder, "__dict__", None)
        if isinstance(attributes, dict):
            _replaced_in(attributes, new)
        for name in (name for kind in type(holder).__mro__ for name in _slots(kind)):
            item = getattr(holder, name, None)
            if id(item) in new:
                object.__setattr__(holder, name, new[id(item)])


def _slots(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)
