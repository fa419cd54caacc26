"""Whether the lineage of a call depends on the numbers in its arrays, or only on their shapes: the rule is observed.

A rule takes what the function takes, and an array may be given where an axis, an index or a length is meant:
`np.take(a, indices)`, `np.roll(a, shifts)`. Lineage that depends on such numbers does not hold for other calls with
these shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np


class Asked(Exception):
    """A rule wants to know the numbers of an array."""


class Outline:
    """An array without its numbers."""

    __slots__ = ("_array", "dtype", "itemsize", "laid_out", "ndim", "shape", "size")

    def __init__(self, array: Any) -> None:
        self.shape, self.ndim, self.size = array.shape, array.ndim, array.size
        self.dtype, self.itemsize = array.dtype, array.itemsize
        self.laid_out = False  # whether the rule asked how it lies in memory
        self._array = array

    @property
    def strides(self) -> Any:
        """The steps in memory."""
        self.laid_out = True
        return self._array.strides

    @property
    def flags(self) -> Any:
        """The order in memory."""
        self.laid_out = True
        return self._array.flags

    @property  # type: ignore[misc]  # as typing sees it, a class does not change
    def __class__(self) -> Any:
        """Rules must not take it for anything else."""
        return np.ndarray

    def __len__(self) -> int:
        return int(self.shape[0])

    def _asked(self, *_: Any, **__: Any) -> NoReturn:
        raise Asked

    __hash__ = object.__hash__
    __array__ = __bool__ = __complex__ = __contains__ = __float__ = __getitem__ = __index__ = __int__ = _asked
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __iter__ = __reversed__ = _asked


def separated(call: Any, arrays: Mapping[int, Any], make: Callable[[Any], Any]) -> tuple[Any, dict[int, Any]]:
    """The arguments with something of its own in the place of each occurrence of these arrays (by identity).

    An array that is given twice is two operands. The second result has the arrays by the identity of what stands for
    them; what stands for them lives as long as the first one.
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
    """The objects among arguments that are these, by identity."""
    if id(item) in arrays:
        yield item
    elif isinstance(item, (list, tuple)):
        for each in item:
            yield from occurrences(each, arrays)
    elif isinstance(item, dict):
        for each in item.values():
            yield from occurrences(each, arrays)
