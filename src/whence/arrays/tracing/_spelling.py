"""The arguments of one operation: as NumPy takes them, and as a key by which operations are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whence import _tracked
from whence.arrays.tracing._finished import Finished
from whence.arrays.tracing._tape import SMALL, Shape
from whence.errors import BadType

PLAIN_ARRAYS = (np.ndarray, np.memmap)
NUMBERS = (float, int, bool, complex)


class Spelled:
    """Arguments taken apart: `key` describes them completely, except for the values in arrays.

    `arrays` are the arrays among them, in order. `mine` says for each whether its lineage is followed: that of traced
    arrays, or of all arrays if they are inputs.
    """

    __slots__ = ("_inputs", "_run", "arrays", "complete", "key", "mine")

    def __init__(self, run: Any = None) -> None:
        self._run = run
        self._inputs = run is None  # then every array is an input
        self.key: list[Any] = []
        self.arrays: list[Any] = []
        self.mine: list[bool] = []
        self.complete = True  # whether every argument is described by the key

    def operands(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return operands of a ufunc as NumPy takes them. The key notes that an operand is a number, but not its
        value.
        """
        made = []
        for each in given:
            kind = type(each)
            if kind in NUMBERS or issubclass(kind, np.generic):  # not isinstance: a traced number passes it
                self.key.append("1")
                made.append(each)
            else:
                made.append(self.spell(each))
        return tuple(made)

    def check(self, traced: Any) -> None:
        """Raise an error if the array belongs to another run."""
        if traced._run is not self._run:
            raise BadType("arrays of two captures cannot be mixed: read both in one, or pass the plain result")

    def spell(self, item: Any) -> Any:
        """Return an argument as NumPy takes it, and add it to the key."""
        kind = type(item)
        key = self.key
        if hasattr(kind, "_is_traced"):
            value = item.value
            if item._run is not self._run:
                self.check(item)
            key.append(("#", value.shape, value.dtype))
            self.arrays.append(item)
            self.mine.append(True)
            return value
        if kind is int:
            key.append(item)
        elif item is None or kind is bool:
            key.append(str(item))
        elif kind is tuple or kind is list:
            key.append(kind.__name__)
            made = kind(map(self.spell, item))
            key.append(")")
            return made
        elif kind is dict:
            key.append("{")
            found = {}
            for name, each in item.items():
                key.append(("s", name))
                found[name] = self.spell(each)
            key.append("}")
            return found
        elif kind is str:
            key.append(("s", item))
        elif kind is float or kind is complex:
            key.append(("f", repr(item)))
        elif kind is slice:
            key.append("slice")
            return slice(self.spell(item.start), self.spell(item.stop), self.spell(item.step))
        else:
            return self._rarer(item)
        return item

    def _rarer(self, item: Any) -> Any:
        kind, key = type(item), self.key
        if kind is Finished:
            return self.spell(item.value)
        if kind in PLAIN_ARRAYS:
            key.append(("#" if self._inputs else "@", item.shape, item.dtype))
            self.arrays.append(item)
            self.mine.append(self._inputs)
            self.complete &= item.dtype.kind not in "OV"
            if not self._inputs and item.dtype.kind == "f":
                self._run.meets(item)
        elif isinstance(item, _tracked.Held):
            raise BadType(
                "a tracked array cannot be mixed with arrays of a traced run: pass its numbers, whence.arrays.values(x)"
            )
        elif isinstance(item, np.generic):
            key.append(("g", item.dtype.str, repr(item.item())))
        elif isinstance(item, tuple) and hasattr(item, "_fields"):
            return self.spell(tuple(item))
        elif isinstance(item, (type, np.dtype)):
            key.append(("t", str(item)))
        elif item is Ellipsis or item is np._NoValue:
            key.append(repr(item))
        elif kind is range:
            key.append(("r", repr(item)))
        else:
            self.complete = False
        return item


def text_of(key: tuple[Any, ...]) -> tuple[str, Shape]:
    """Return the key as a string, the same in every process, and its integers that may be lengths.

    >>> text_of((2, 7, ("s", "edge"), ("@", (5, 2), np.dtype(int))))
    ("2 n ('s', 'edge') @2<i8", (7, 5, 2))
    """
    words: list[str] = []
    given: list[int] = []
    for piece in key:
        if type(piece) is int:
            words.append(str(piece) if -SMALL < piece < SMALL else "n" if piece > 0 else "-n")
            if not -SMALL < piece < SMALL:
                given.append(abs(piece))
        elif type(piece) is tuple and piece[0] == "#":  # its lengths were put on the tape when it was made
            words.append(f"#{piece[2].str}")
        elif type(piece) is tuple and piece[0] == "@":
            words.append(f"@{len(piece[1])}{piece[2].str}")
            given += piece[1]
        else:
            words.append(piece if type(piece) is str else repr(piece))
    return " ".join(words), tuple(given)


def with_stand_ins(item: Any, stand_in: Callable[[Any], Any]) -> Any:
    """Return the arguments with each array replaced by a stand-in, in order."""
    if type(item) in PLAIN_ARRAYS:
        return stand_in(item)
    if type(item) in (list, tuple):
        return type(item)(with_stand_ins(each, stand_in) for each in item)
    if type(item) is dict:
        return {name: with_stand_ins(each, stand_in) for name, each in item.items()}
    return item
