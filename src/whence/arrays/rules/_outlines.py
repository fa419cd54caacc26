"""Does the lineage of a call follow from the numbers in its arrays, or from their shapes alone? The rule is watched.

A rule takes what the function takes, and an array may be given where an axis, an index or a length is meant:
`np.take(a, indices)`, `np.roll(a, shifts)`. What followed from such numbers holds for no other call of these shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np


class Asked(Exception):
    """A rule wants to know the numbers of an array."""


class Outline:
    """An array without its numbers."""

    __slots__ = ("dtype", "itemsize", "ndim", "shape", "size", "strides")

    def __init__(self, array: Any) -> None:
        self.shape, self.ndim, self.size = array.shape, array.ndim, array.size
        self.dtype, self.itemsize, self.strides = array.dtype, array.itemsize, array.strides

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


def outlined(call: Any, arrays: Mapping[int, Any]) -> tuple[Any, dict[int, Any]]:
    """The arguments with outlines in the place of these arrays (by identity); and the arrays, by their outlines'."""
    back: dict[int, Any] = {}
    made: dict[int, Outline] = {}

    def drawn(item: Any) -> Any:
        if id(item) in arrays and isinstance(item, np.ndarray):
            if id(item) not in made:
                made[id(item)] = Outline(item)
                back[id(made[id(item)])] = item
            return made[id(item)]
        if isinstance(item, (list, tuple)) and not hasattr(item, "_fields"):
            return type(item)(drawn(each) for each in item)
        if isinstance(item, dict):
            return {key: drawn(each) for key, each in item.items()}
        return item

    found = drawn(call)
    return found, {**back, 0: made}  # the outlines live as long as their identities are of use
