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
    """The operands as the numbers that they are without a trace, if there is no array among them."""
    if any(np.shape(each.value if hasattr(type(each), "_is_traced") else each) for each in inputs):
        return None
    plain = tuple(each.plain if hasattr(type(each), "_is_traced") else each for each in inputs)
    return plain if all(isinstance(each, (int, float, np.generic)) for each in plain) else None


def from_compiled_code() -> bool:
    """Whether the method that asks was called by compiled code (or by its name), and not by an assignment."""
    frame = sys._getframe(3)  # beyond the method, and what notes its refusals
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")


def root(array: Any) -> Any:
    """The array that owns the memory, or the object that does."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array


def as_number(index: Any) -> Any:
    """An index out of an array, as the integer that it is."""
    return int(index) if isinstance(index, np.integer) else index


def as_bound(bound: Any) -> int | None:
    """A bound of a slice as an integer; a traced number is taken out of its array."""
    return None if bound is None else operator.index(bound)


def trimmed(shape: Shape, target: Shape) -> Shape:
    """Assignment, unlike broadcasting, drops leading axes of length one."""
    while len(shape) > len(target) and shape[0] == 1:
        shape = shape[1:]
    return shape
