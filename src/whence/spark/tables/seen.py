"""Plain `toPandas()` and `createDataFrame(...)`, seen while a capture is open: rows keep their lineage through both."""

from __future__ import annotations

import functools
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.linking.frames import is_frame
from whence.arrays.linking.places import UnknownOrigin, assigned_to, caller, variable_of
from whence.errors import WhenceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from whence.store import Store

_lock = threading.RLock()
_stores: list[Store] = []
_replaced: list[tuple[Any, str, Any]] = []
_inside = threading.local()


class Seen:
    """Watches a log's hand-overs until it is stopped. Of several, only the latest is told."""

    def __init__(self, store: Store) -> None:
        from pyspark.sql import SparkSession
        from pyspark.sql.classic.dataframe import DataFrame

        self._store = store
        with _lock:
            _stores.append(store)
            if len(_stores) == 1:
                _put(DataFrame, "toPandas", _to_pandas)
                _put(SparkSession, "createDataFrame", _create)

    def stop(self) -> None:
        """Watch no more."""
        with _lock:
            _stores.remove(self._store)
            if not _stores:
                while _replaced:
                    owner, name, original = _replaced.pop()
                    setattr(owner, name, original)


def _put(owner: Any, name: str, wrapped: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    _replaced.append((owner, name, original))
    setattr(owner, name, functools.wraps(original)(wrapped(original)))


def _to_pandas(original: Any) -> Any:
    def to_pandas(self: Any, *args: Any, **options: Any) -> Any:
        if getattr(_inside, "yes", False) or not _stores or args or options:
            return original(self, *args, **options)
        from whence.spark.pipeline import Pipeline

        frame = caller()
        name = variable_of(frame, self) or "frame"
        with _Own():
            try:
                return Pipeline(self, name, store=_stores[-1]).to_pandas(assigned_to(frame))
            except WhenceError as error:
                _warn("toPandas()", error)
                return original(self)

    return to_pandas


def _create(original: Any) -> Any:
    def create(self: Any, data: Any, *args: Any, **options: Any) -> Any:
        known = is_frame(data) or isinstance(data, np.ndarray)
        if getattr(_inside, "yes", False) or not _stores or args or options or not known:
            return original(self, data, *args, **options)
        from whence.spark.tables.back import to_spark

        with _Own():
            try:
                return to_spark(_stores[-1], data, self, assigned_to(caller()), None)
            except WhenceError as error:
                _warn("createDataFrame(...)", error)
                return original(self, data)

    return create


class _Own:
    """What whence itself calls meanwhile is no hand-over."""

    def __enter__(self) -> None:
        _inside.yes = True

    def __exit__(self, *_: object) -> None:
        _inside.yes = False


def _warn(what: str, error: WhenceError) -> None:
    warnings.warn(f"{what} is not followed, and its rows start here: {error}", UnknownOrigin, stacklevel=3)
