"""Helpers that treat numbers, indices and memory as NumPy does."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from whence.arrays.tracing._tape import Shape

OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow, np.negative: operator.neg,
    np.absolute: operator.abs, np.left_shift: operator.lshift, np.right_shift: operator.rshift,
}  # fmt: skip


def numbers_of(inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the operands as plain numbers; None if there is an array among them."""
    if any(np.shape(each.value if hasattr(type(each), "_is_traced") else each) for each in inputs):
        return None
    plain = tuple(each.plain if hasattr(type(each), "_is_traced") else each for each in inputs)
    return plain if all(isinstance(each, (int, float, np.generic)) for each in plain) else None


def from_compiled_code() -> bool:
    """Whether the calling method was called by compiled code (or by name), and not by an assignment."""
    frame = sys._getframe(3)  # skip the method and its `refusing` wrapper
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")


def root(array: Any) -> Any:
    """Return the array, or other object, that owns the memory."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array


def as_number(index: Any) -> Any:
    """Return an index from an array as an integer."""
    return int(index) if isinstance(index, np.integer) else index


def as_bound(bound: Any) -> int | None:
    """Return a bound of a slice as an integer; a traced number is taken out of its array."""
    return None if bound is None else operator.index(bound)


def trimmed(shape: Shape, target: Shape) -> Shape:
    """Drop leading axes of length one, as assignment does, unlike broadcasting."""
    while len(shape) > len(target) and shape[0] == 1:
        shape = shape[1:]
    return shape
