"""Notice the files that plain code reads arrays from and writes arrays to.

While a block is open, functions of NumPy and pandas are replaced by functions that also report what they read and
wrote. They are replaced in their own packages, and in modules of the program that imported them by name. Only files
that are given as a path are reported. An array of an archive (`.npz`) is read when the program takes it out.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from whence.arrays.linking.places import INSTALLED

READERS = {
    "numpy": ("load", "loadtxt", "genfromtxt", "fromfile"),
    "pandas": (
        "read_csv", "read_excel", "read_feather", "read_fwf", "read_hdf", "read_json", "read_orc", "read_parquet",
        "read_pickle", "read_table",
    ),
}  # fmt: skip
WRITERS = {"numpy": ("save", "savetxt", "savez", "savez_compressed")}  # the path, then the array, or several
ENDINGS = {"np.save": ".npy", "np.savez": ".npz", "np.savez_compressed": ".npz"}  # suffixes that NumPy adds
METHODS = ("to_csv", "to_excel", "to_feather", "to_hdf", "to_json", "to_orc", "to_parquet", "to_pickle")


class Watcher(Protocol):
    """An object that is notified of files that are read and written."""

    def read_file(self, function: str, path: str, value: Any, part: str = "") -> None: ...
    def wrote_file(self, function: str, path: str, values: Sequence[Any]) -> None: ...


_watchers: list[Watcher] = []
_replaced: list[tuple[Any, str, Any]] = []
_lock = threading.RLock()
_inside = threading.local()


def watch(watcher: Watcher) -> None:
    """Notify a watcher of files until `unwatch`. If there are several, only the latest is notified."""
    with _lock:
        _watchers.append(watcher)
        if len(_watchers) == 1:
            _replace()


def unwatch(watcher: Watcher) -> None:
    """Stop notifying it."""
    with _lock:
        _watchers.remove(watcher)
        if not _watchers:
            while _replaced:
                place, name, original = _replaced.pop()
                setattr(place, name, original)


def _replace() -> None:
    for module, names in READERS.items():
        for name in names:
            _put(sys.modules.get(module), name, _reading)
    for module, names in WRITERS.items():
        for name in names:
            _put(sys.modules.get(module), name, functools.partial(_noting_write, first="path"))
    _put(np.lib.npyio.NpzFile, "__getitem__", _reading_part)
    _put_where_imported({id(original): getattr(place, name) for place, name, original in _replaced})
    pandas = sys.modules.get("pandas")
    for kind in ("DataFrame", "Series") if pandas is not None else ():
        for name in METHODS:
            _put(getattr(pandas, kind, None), name, functools.partial(_noting_write, first="value"))


def _put(place: Any, name: str, wrapped: Callable[..., Any]) -> None:
    original = None if place is None else place.__dict__.get(name, getattr(place, name, None))
    if original is not None:
        owner = "np" if place is np else "pd" if place is sys.modules.get("pandas") else place.__name__
        _replaced.append((place, name, getattr(place, name)))
        setattr(place, name, wrapped(original, f"{owner}.{name}"))


def _put_where_imported(made: dict[int, Any]) -> None:
    """Replace them in modules of the program, too: `from numpy import load`."""
    for module in _modules_of_the_program():
        for name, item in list(vars(module).items()):
            if id(item) in made and callable(item):
                _replaced.append((module, name, item))
                setattr(module, name, made[id(item)])


def _modules_of_the_program() -> list[Any]:
    """Return the modules that belong to neither Python nor an installed package."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    return [
        module
        for name, module in list(sys.modules.items())
        if name == "__main__"
        or ((file := getattr(module, "__file__", None)) is not None and not file.startswith((*INSTALLED, own)))
    ]


def _reading_part(original: Callable[..., Any], called: str) -> Callable[..., Any]:
    """Wrap the function that reads an array from an archive."""

    @functools.wraps(original)
    def read(self: Any, key: Any) -> Any:
        with _Once() as outermost:
            found = original(self, key)
        path = _path(getattr(self.zip, "filename", None))
        if outermost and path is not None and _watchers:
            _watchers[-1].read_file("np.load", path, found, str(key).removesuffix(".npy"))
        return found

    return read


def _reading(original: Callable[..., Any], called: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def read(*args: Any, **kwargs: Any) -> Any:
        with _Once() as outermost:
            found = original(*args, **kwargs)
        path = _path(args[0] if args else next(iter(kwargs.values()), None))
        if outermost and path is not None and _watchers:
            _watchers[-1].read_file(called, path, found)
        return found

    return read


def _noting_write(original: Callable[..., Any], called: str, *, first: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def write(*args: Any, **kwargs: Any) -> Any:
        with _Once() as outermost:
            done = original(*args, **kwargs)
        given = (*args, *kwargs.values())
        if outermost and len(given) > 1 and _watchers:
            path, values = (given[0], given[1:]) if first == "path" else (given[1], given[:1])
            found = _path(path, ENDINGS.get(called, ""))
            if found is not None:
                _watchers[-1].wrote_file(called, found, values if called.startswith("np.savez") else values[:1])
        return done

    return write


class _Once:
    """Finds the outermost of nested calls, so that functions that call each other report once."""

    def __enter__(self) -> bool:
        depth = getattr(_inside, "depth", 0)
        _inside.depth = depth + 1
        return depth == 0

    def __exit__(self, *_: object) -> None:
        _inside.depth -= 1


def _path(given: Any, ending: str = "") -> str | None:
    """Return the path of an existing file."""
    if not isinstance(given, (str, os.PathLike)):
        return None
    path = os.fspath(given)
    if not isinstance(path, str):
        return None
    return next((each for each in (path, path + ending) if os.path.isfile(each)), None)
