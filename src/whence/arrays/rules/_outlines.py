"""Find out whether the lineage of a call depends on the values of its arrays, or only on their shapes.

A rule takes the same arguments as the function, and an array may be passed as an axis, an index or a length:
`np.take(a, indices)`, `np.roll(a, shifts)`. If the lineage depends on such values, it is not valid for other calls with
the same shapes. So the rule is called with outlines, which raise `Asked` if their values are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np


class Asked(Exception):
    """A rule tried to read the values of an array."""


class Outline:
    """An array without its values."""

    __slots__ = ("_array", "dtype", "itemsize", "laid_out", "ndim", "shape", "size")

    def __init__(self, array: Any) -> None:
        self.shape, self.ndim, self.size = array.shape, array.ndim, array.size
        self.dtype, self.itemsize = array.dtype, array.itemsize
        self.laid_out = False  # whether the rule read its memory layout
        self._array = array

    @property
    def strides(self) -> Any:
        """The strides in bytes."""
        self.laid_out = True
        return self._array.strides

    @property
    def flags(self) -> Any:
        """The flags of the memory layout."""
        self.laid_out = True
        return self._array.flags

    @property  # type: ignore[misc]  # type checkers assume that a class does not change
    def __class__(self) -> Any:
        """The class of an array, so that isinstance() in rules is true."""
        return np.ndarray

    def __len__(self) -> int:
        return int(self.shape[0])

    def _asked(self, *_: Any, **__: Any) -> NoReturn:
        raise Asked

    __hash__ = object.__hash__
    __array__ = __bool__ = __complex__ = __contains__ = __float__ = __getitem__ = __index__ = __int__ = _asked
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __iter__ = __reversed__ = _asked


def separated(call: Any, arrays: Mapping[int, Any], make: Callable[[Any], Any]) -> tuple[Any, dict[int, Any]]:
    """Replace each occurrence of these arrays (by id) in the arguments by a separate object.

    An array that is passed twice is two operands. The second result maps the ids of the new objects to the arrays; the
    first result keeps these objects referenced.
    """
    back: dict[int, Any] = {}
    return _drawn(call, arrays, make, back), back


def _drawn(item: Any, arrays: Mapping[int, Any], make: Callable[[Any], Any], back: dict[int, Any]) -> Any:
    if id(item) in arrays and isinstance(item, np.ndarray):
        made = make(item)
        back[id(made)] = item
        return made
    if isinstance(item, (list, tuple)) and not hasattr(item, "_fields"):
        return type(item)(_drawn(each, arrays, make, back) for each in item)
    if isinstance(item, dict):
        return {key: _drawn(each, arrays, make, back) for key, each in item.items()}
    return item


def occurrences(item: Any, arrays: Mapping[int, Any]) -> Iterator[Any]:
    """Yield the occurrences of these objects (by id) among the arguments."""
    if id(item) in arrays:
        yield item
    elif isinstance(item, (list, tuple)):
        for each in item:
            yield from occurrences(each, arrays)
    elif isinstance(item, dict):
        for each in item.values():
            yield from occurrences(each, arrays)
