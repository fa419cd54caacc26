"""Work on the parts of a relation with several threads: reading and searching a part releases Python's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 8
"""The most threads: each holds a part, with tens of MB for a million rows."""

AHEAD = 2
"""The results for each thread that may wait until they are taken."""


def processors() -> int:
    """Return how many threads may work at the same time on this machine."""
    return min(MOST, getattr(os, "process_cpu_count", os.cpu_count)() or 1)


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Generator[Result, None, None]:
    """Yield the result of each item, in their order. An error of one ends the work on the others.

    >>> list(in_threads(lambda x: x * x, range(5), 2))
    [0, 1, 4, 9, 16]
    """
    rest = iter(items)
    first = list(islice(rest, 2))
    if threads <= 1 or len(first) <= 1:
        yield from map(work, chain(first, rest))
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="whence-parts") as pool:
        try:
            for item in chain(first, rest):
                waiting.append(pool.submit(work, item))
                if len(waiting) > AHEAD * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # also if the caller takes no more
            pool.shutdown(wait=False, cancel_futures=True)
