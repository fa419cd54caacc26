"""The tracked arrays that lineage ends at: each has a name, and a range of the numbers of all tracked cells."""

from __future__ import annotations

import threading
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence import _tracked
from whence.errors import NoLineage, TooLarge, UnknownName

Shape = tuple[int, ...]
Parent = tuple[str, tuple[int, ...]]

PARENTS_LIMIT = 1 << 22
"""The most parents that are listed one by one."""


@dataclass(frozen=True, slots=True)
class Source:
    """A tracked input: its cells have the numbers first, first + 1, ..., in C order."""

    name: str
    shape: Shape
    first: int
    size: int

    @property
    def end(self) -> int:
        """The number after that of its last cell."""
        return self.first + self.size


_lock = threading.Lock()
_sources: list[Source] = []  # sorted by their first number


def add(source: Source) -> None:
    """Add a source."""
    with _lock:
        _sources.insert(bisect_right(_sources, source.first, key=lambda each: each.first), source)


def named(name: str) -> list[Source]:
    """Return the sources of that name, the latest last."""
    with _lock:
        found = [each for each in _sources if each.name == name]
        known = list(dict.fromkeys(each.name for each in reversed(_sources)))
    if not found:
        listed = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
        raise UnknownName(f"no tracked array is named {name!r}; there are {listed or 'none'}")
    return found


def every() -> list[Source]:
    """Return all sources, sorted by their first number."""
    with _lock:
        return list(_sources)


def at(cell: int) -> Source:
    """Return the source that a cell number belongs to."""
    with _lock:
        place = bisect_right(_sources, cell, key=lambda each: each.first) - 1
        source = _sources[place] if place >= 0 else None
    if source is None or cell >= source.end:
        raise NoLineage("this tracked array was made before whence.arrays.forget(); track its inputs again")
    return source


def parents(intervals: NDArray[np.int64]) -> list[Parent]:
    """Return names and indices of cells, given as ranges of numbers."""
    if (count := int((intervals[:, 1] - intervals[:, 0]).sum())) > PARENTS_LIMIT:
        raise TooLarge(f"{count:,} parents are too many to list; whence.relation_of(array, name) holds them as boxes")
    found: list[Parent] = []
    for start, end in intervals.tolist():
        source = at(start)  # no interval spans two sources
        flat = np.arange(start - source.first, end - source.first)
        found += [(source.name, index) for index in _unravelled(flat, source.shape)]
    return found


def _unravelled(flat: NDArray[np.int64], shape: Shape) -> list[tuple[int, ...]]:
    if not shape:
        return [()] * len(flat)
    return list(zip(*(axis.tolist() for axis in np.unravel_index(flat, shape)), strict=True))


def forget() -> None:
    """Forget all tracked arrays of this process and free what their lineage takes.

    Tracked arrays that still exist keep their numbers, and raise `NoLineage` when they are asked for parents. No other
    thread may be computing with tracked arrays meanwhile.
    """
    with _lock:
        _tracked.forget()
        _sources.clear()


_tracked.set_naming(parents)
