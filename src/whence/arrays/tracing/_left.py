"""Replace tracked arrays that a function stored during a run on the tracked dtype by plain ones."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from whence import _tracked
from whence.arrays.dtype import sources
from whence.arrays.dtype.arrays import values
from whence.arrays.tracing._code import mentioned
from whence.arrays.tracing._finished import replace
from whence.arrays.tracing._tracked_array import TrackedArray
from whence.errors import NoLineage

UNSEEN = frozenset(["array", "asarray", "ascontiguousarray", "asfortranarray", "as_strided", "require", "view"])
"""Functions that may return an array without the subclass, so that RunArray does not see it."""

_running = threading.local()


class RunArray(TrackedArray):
    """A tracked array of one run; each new one is added to the run's list."""

    def __array_finalize__(self, _: Any) -> None:
        made = getattr(_running, "made", None)
        if made is not None:
            key = id(self)
            made[key] = weakref.ref(self, lambda _: made.pop(key, None))


@contextmanager
def plain_afterwards(function: Callable[..., Any], names: Iterable[str]) -> Iterator[None]:
    """When the block ends, make tracked arrays and cells plain that are still stored and come from these sources
    alone.
    """
    outer, _running.made = getattr(_running, "made", None), {}
    cells = _tracked.live_cells()
    unseen = not UNSEEN.isdisjoint(each for each in mentioned(function) if isinstance(each, str))
    try:
        yield
    finally:
        made, _running.made = _running.made, outer
        if unseen or made or _tracked.live_cells() > cells:
            _make_plain(set(names))


def _make_plain(names: set[str]) -> None:
    every = sources.every()
    ranges = [(each.first, each.end) for each in every if each.name in names]
    alone = len(ranges) == len(every)  # then arrays without lineage belong to the run as well
    left = [each for each in _tracked.stored(gc.get_objects()) if _comes_from(each, ranges, alone)]
    if left:
        replace({id(each): _plain_numbers(each) for each in left}, left)


def _comes_from(item: Any, ranges: list[tuple[int, int]], alone: bool) -> bool:
    """Whether the cells come from these ranges of cell numbers alone."""
    handles = np.unique(_tracked.handles(np.asarray(item)))
    if not handles.any():
        return alone
    try:
        return all(
            any(low <= start and end <= high for low, high in ranges)
            for handle in handles.tolist()
            for start, end in _tracked.intervals(handle).tolist()
        )
    except NoLineage:  # it is from before whence.arrays.forget(), and so not of this run
        return False


def _plain_numbers(item: Any) -> Any:
    return values(item).copy(order="K") if isinstance(item, np.ndarray) else np.float64(item.value)
