"""Follow plain `toPandas()` and `createDataFrame(...)` during a capture: rows keep their lineage through both.

`frame[...]` and `to_numpy()` of a known frame are followed, too. The log then has the columns of the dataset that they
are from, unless the frame was changed in between.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.linking.content import digest_of
from whence.arrays.linking.frames import array_behind, is_frame, table_digest
from whence.arrays.linking.places import UnknownOrigin, assigned_to, caller, variable_of
from whence.arrays.rules.shapes import reshaped
from whence.errors import WhenceError
from whence.relation.tables import chosen_columns
from whence.store.recording.tables import record_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from whence.store import Store

_lock = threading.RLock()
_stores: list[Store] = []
_replaced: list[tuple[Any, str, Any]] = []
_inside = threading.local()
_parts: dict[int, tuple[weakref.ref[Any], str, list[int], bytes]] = {}  # by id: frame, dataset, columns, digest


class Seen:
    """Records a log's hand-overs until it is stopped. If several are active, only the latest records."""

    def __init__(self, store: Store) -> None:
        import pandas as pd

        self._store = store
        with _lock:
            _stores.append(store)
            if len(_stores) == 1:
                if sys.modules.get("pyspark") is not None:  # pandas frames are followed in programs without Spark, too
                    from pyspark.sql import SparkSession
                    from pyspark.sql.classic.dataframe import DataFrame

                    _put(DataFrame, "toPandas", _to_pandas)
                    _put(SparkSession, "createDataFrame", _create)
                _put(pd.DataFrame, "__getitem__", _columns)
                _put(pd.DataFrame, "to_numpy", _to_numpy)
                _put(pd.Series, "to_numpy", _to_numpy)

    def stop(self) -> None:
        """Stop recording."""
        with _lock:
            _stores.remove(self._store)
            if not _stores:
                while _replaced:
                    owner, name, original = _replaced.pop()
                    setattr(owner, name, original)
                _parts.clear()


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


def _columns(original: Any) -> Any:
    def columns(self: Any, key: Any) -> Any:
        found = original(self, key)
        wanted = [key] if isinstance(key, str) else key
        if _quiet() or not is_frame(found) or not isinstance(wanted, list) or len(found) != len(self):
            return found
        with _Own():
            names = list(self.columns)
            known = _held_as(self)
            if known is not None and all(names.count(each) == 1 for each in wanted):
                name, places = known
                _parts[id(found)] = (
                    weakref.ref(found),
                    name,
                    [places[names.index(each)] for each in wanted],
                    _digest(found),
                )
        return found

    return columns


def _to_numpy(original: Any) -> Any:
    def to_numpy(self: Any, *args: Any, **options: Any) -> Any:
        found = original(self, *args, **options)
        if _quiet() or not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
            return found
        frame = caller()
        with _Own():
            known = _held_as(self)
            if known is not None:
                _record_array(found, *known, assigned_to(frame))
        return found

    return to_numpy


def _record_array(array: Any, name: str, places: list[int], variable: str | None) -> None:
    store = _stores[-1]
    rows, columns = store.reader.shapes([name])[name]
    relation = chosen_columns(rows, columns, places)
    if array.ndim == 1:
        relation = reshaped((rows, 1), (rows,)).compose(relation)
    record_value(store, variable or f"{name}_array", array, relation, name, "to_numpy", None)


def _held_as(frame: Any) -> tuple[str, list[int]] | None:
    """The dataset of a frame and the indices of its columns; None if it is not known or was changed."""
    store = _stores[-1]
    known = _parts.get(id(frame))
    if known is not None and known[0]() is frame and known[3] == _digest(frame):
        return known[1], known[2]
    with store.database.lock:
        name = store.tracker.links.table_called(frame)
    if name is None and frame.ndim == 2:
        name = store.tracker.linked_as(frame, "frame")
    return None if name is None or frame.ndim != 2 else (name, list(range(frame.shape[1])))


def _digest(frame: Any) -> bytes:
    array = array_behind(frame)
    return table_digest(frame) if array is None else digest_of(array)


def _quiet() -> bool:
    return getattr(_inside, "yes", False) or not _stores


class _Own:
    """A block in which whence itself calls these functions: they are not hand-overs."""

    def __enter__(self) -> None:
        _inside.yes = True

    def __exit__(self, *_: object) -> None:
        _inside.yes = False


def _warn(what: str, error: WhenceError) -> None:
    warnings.warn(f"{what} is not followed, so its rows are a new source: {error}", UnknownOrigin, stacklevel=3)
