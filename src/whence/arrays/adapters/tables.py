"""pandas: refuse to put traced numbers into tables.

pandas treats unknown types as objects: a traced NaN would not be missing, and a column of traced numbers would have
another type. So functions that make or change tables are replaced. Without traced numbers they behave as before;
with traced numbers they raise an error, and the run is not followed.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from whence.arrays.dtype.arrays import is_tracked
from whence.arrays.linking.frames import is_frame
from whence.errors import NoRule

TABLES = ("DataFrame", "Series")
MAKING = ("__init__", "__setitem__", "insert", "fillna", "where", "mask", "replace", "clip", "isin", "reindex", "shift")
INDEXERS = ("_LocationIndexer", "_ScalarAccessIndexer")  # df.loc[...] and df.at[...]

_lock = threading.Lock()
_runs = 0
_done = False


@contextmanager
def guarded() -> Iterator[None]:
    """Mark a run on traced arrays or tracked cells. The count is global, because the run may start threads."""
    global _runs
    with _lock:
        _runs += 1
    try:
        yield
    finally:
        with _lock:
            _runs -= 1


def install() -> None:
    """Replace the functions that make or change tables, once."""
    global _done
    pandas = sys.modules["pandas"]
    indexing = sys.modules.get("pandas.core.indexing")
    if _done or not all(hasattr(pandas, name) for name in TABLES):  # pandas is being imported
        return
    _done = True
    for kind in (getattr(pandas, name) for name in TABLES):
        for name in MAKING:
            if hasattr(kind, name):
                setattr(kind, name, _watched(kind.__name__, getattr(kind, name)))
    for kind in (getattr(indexing, name, None) for name in INDEXERS):
        if kind is not None:
            kind.__setitem__ = _watched("loc", kind.__setitem__)


def _watched(what: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _runs:
            # Iterators become lists, so that their items can be inspected.
            args = tuple(list(each) if hasattr(each, "__next__") else each for each in args)
            refuse_traced(f"pandas ({what}.{original.__name__})", (*args, *kwargs.values()))
        return original(self, *args, **kwargs)

    return called


def refuse_traced(what: str, given: Iterable[Any]) -> None:
    """Raise NoRule if an argument contains traced numbers."""
    found = next((each for item in given if (each := _traced_within(item)) is not None), None)
    if found is None:
        return
    error = NoRule(f"{what} treats traced numbers as objects, and computes differently with objects")
    if hasattr(type(found), "_is_traced"):
        found._run.refuse(error)
    raise error


def _traced_within(item: Any) -> Any:
    """Return a traced array or tracked cell inside lists, dicts and arrays of objects, or None."""
    if hasattr(type(item), "_is_traced") or (not is_frame(item) and is_tracked(item)):
        return item
    if isinstance(item, dict):
        item = item.values()
    elif isinstance(item, np.ndarray) and item.dtype == object:
        item = item.ravel().tolist()
    elif not isinstance(item, (list, tuple, set, frozenset)):
        return None
    return next((found for each in item if (found := _traced_within(each)) is not None), None)
