"""Values that decide through exceptions and warnings: `try: inv(x) except LinAlgError`, `np.errstate(all="raise")`.

Whether a call of NumPy raises may be up to the values of its arrays. Where the code under trace handles that, values
have decided, also in a run in which nothing was raised.
"""

from __future__ import annotations

import dis
import sys
import types
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from whence.arrays.recording.randomness import mentioned

RAISING = {
    np.asarray_chkfinite, np.bincount, np.choose, np.digitize, np.histogram, np.histogram2d, np.histogram_bin_edges,
    np.histogramdd, np.interp, np.nanargmax, np.nanargmin, np.percentile, np.polyfit, np.power, np.float_power,
    np.quantile, np.nanpercentile, np.nanquantile, np.repeat, np.take, np.take_along_axis, np.vander, np.cov,
    np.corrcoef, np.average, np.polydiv, np.roots, np.put, np.put_along_axis,
}  # fmt: skip
"""Functions that raise because of values, besides those of numpy.linalg."""

LISTENERS = frozenset(["catch_warnings", "errstate", "seterr", "seterrcall", "showwarning", "simplefilter"])

HEARD = ("raise", "call", "print", "log")


class Listening:
    """How warnings and floating-point errors are handled where the run began."""

    def __init__(self) -> None:
        self._shown = _ways_to_show()
        self._errors: dict[str, str] = {key: str(how) for key, how in np.geterr().items()}

    def heard(self, outermost: types.CodeType | None) -> bool:
        """Whether the code between here and the outermost function would know of a warning or an error."""
        if _ways_to_show() != self._shown:  # warnings are collected
            return True
        now: dict[str, str] = {key: str(how) for key, how in np.geterr().items()}
        if now != self._errors and any(now[key] in HEARD and now[key] != self._errors[key] for key in now):
            return True
        return ("raise" in now.values() or _warnings_raise()) and caught(outermost)


def _warnings_raise() -> bool:
    """Whether a warning of NumPy's about numbers would be raised as an error."""
    for action, message, category, module, _ in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None:
                return False
    return False


def _ways_to_show() -> tuple[int, ...]:
    names = ("showwarning", "_showwarnmsg_impl")
    return tuple(id(getattr(warnings, name, None)) for name in names)


def may_raise(function: Callable[..., Any]) -> bool:
    """Whether the function raises for some values: a matrix that has no inverse, an index that is out of bounds."""
    return function in RAISING or (getattr(function, "__module__", None) or "").startswith("numpy.linalg")


def caught(outermost: types.CodeType | None) -> bool:
    """Whether the code that called handles exceptions at the place where it is, up to the outermost function."""
    frame: types.FrameType | None = sys._getframe(1)
    if outermost is None:  # a block of code, whose lineage is used for no other
        return False
    while frame is not None and frame.f_code is not outermost:
        if frame.f_lasti >= 0 and _covered(frame.f_code, frame.f_lasti) and not _ours(frame):
            return True
        frame = frame.f_back
    return False


def _ours(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("whence.")


def _covered(code: types.CodeType, at: int) -> bool:
    return any(start <= at < end for start, end in _handled(code))


@lru_cache(maxsize=1 << 10)
def _handled(code: types.CodeType, with_too: bool = True) -> tuple[tuple[int, int], ...]:
    """The parts of the code in which exceptions are handled: by except, and by with, which may suppress them."""
    names = [(each.offset, each.opname) for each in dis.get_instructions(code)]
    handling = ("CHECK_EXC_MATCH", "CHECK_EG_MATCH", "POP_EXCEPT", *(["WITH_EXCEPT_START"] if with_too else []))
    found = []
    for start, end, target in _entries(code):
        handler = [name for offset, name in names if offset >= target]
        until = handler.index("RERAISE") if "RERAISE" in handler else len(handler)
        if handler[0] == "COPY":
            continue  # what Python itself puts behind a handler
        if any(name in handling for name in handler[:until]):
            found.append((start, end))
    return tuple(found)


def _entries(code: types.CodeType) -> list[tuple[int, int, int]]:
    """The exception table of the code: from where, to where, and where the handler is."""
    found = []
    data = iter(code.co_exceptiontable)
    while (start := _varint(data)) is not None:
        length, target, _ = _varint(data), _varint(data), _varint(data)
        found.append((start * 2, (start + (length or 0)) * 2, (target or 0) * 2))
    return found


def _varint(data: Any) -> int | None:
    first = next(data, None)
    if first is None:
        return None
    value = first & 63
    while first & 64:
        first = next(data)
        value = value << 6 | first & 63
    return int(value)


def handles_errors(function: Callable[..., Any], *, with_too: bool = True) -> bool:
    """Whether the code of a function, or of its helpers, handles exceptions or collects warnings anywhere.

    Without `with_too` only whether it has an except that catches something.

    >>> handles_errors(lambda x: x + 1), handles_errors(Listening.heard)
    (False, False)
    """
    return any(
        with_too and each in LISTENERS
        if isinstance(each, str)
        else isinstance(each, types.CodeType) and bool(_handled(each, with_too))
        for each in mentioned(function)
    )
