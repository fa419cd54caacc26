"""Pickling of tracked functions: another process imports them by name, or creates them again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whence.errors import BadType

if TYPE_CHECKING:
    from whence.arrays.recording.track import Tracked


def reduced(tracked: Tracked) -> Any:
    """Return what `__reduce_ex__` returns for a tracked function.

    A tracked function that can be imported by its own name is pickled as that name, as functions are. The function
    inside cannot be, because its name leads to the tracked one. cloudpickle, which joblib uses, pickles functions of a
    script by value.
    """
    function = tracked.function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<lambda>")
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    by_value = _by_value()
    if found is tracked and not (by_value and module == "__main__"):
        return _at, (module, name)
    if found is not function and not by_value:
        raise BadType(
            f"{name} cannot be imported by its name, so another process cannot load it: define it with def at the top "
            "of a module, or let joblib pass it on"
        )
    opened, where = tracked._recorder.address
    return _again, (opened, where, function, tracked._options)


def _by_value() -> bool:
    """Whether the pickler is cloudpickle, which pickles functions of a script by value."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if "cloudpickle" in str(frame.f_globals.get("__name__")):
            return True
        frame = frame.f_back
    return False


def _at(module: str, name: str) -> Any:
    from importlib import import_module

    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _again(opened: Any, where: Any, function: Any, options: dict[str, Any]) -> Any:
    from whence.arrays.recording.track import track

    return track(opened(*where), function, **options)
