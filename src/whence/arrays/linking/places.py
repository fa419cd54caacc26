"""Find the line of the user's program that is running, and the variables there."""

from __future__ import annotations

import dis
import functools
import itertools
import os
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

OWN = __name__.partition(".")[0]
MOST_FRAMES = 32
INSTALLED = tuple({*(each for each in sys.path if "-packages" in each), os.path.dirname(os.__file__), "<frozen"})
"""Directories of code that does not belong to the program."""


class UnknownOrigin(UserWarning):
    """An array of unknown origin is used, though it may have been computed from known ones."""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a program."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


def caller() -> types.FrameType | None:
    """Return the frame of the program that called whence, perhaps through an installed package (joblib)."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    nearest = frame
    for _ in range(MOST_FRAMES):
        if frame is None:
            return nearest
        if not frame.f_code.co_filename.startswith(INSTALLED) and not _is_own(frame):
            return frame
        frame = frame.f_back
    return nearest


def _is_own(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == OWN


def place_of(frame: types.FrameType | None) -> CodeLine:
    """Return the file and line of a frame."""
    return CodeLine("an unknown place", 0) if frame is None else CodeLine(frame.f_code.co_filename, frame.f_lineno)


def variable_of(frame: types.FrameType | None, value: Any) -> str | None:
    """Return the variable that refers to a value; None if there is none."""
    if frame is not None:
        for scope in (frame.f_locals, frame.f_globals):
            for name, held in list(scope.items()):
                if held is value and not name.startswith("_"):
                    return name
    return None


def assigned_to(frame: types.FrameType | None) -> str | None:
    """Return the variable that the result of the running call will be assigned to; None if there is none."""
    if frame is None:
        return None
    name = _assigned_variables(frame.f_code).get(frame.f_lasti)
    return None if name is None or name.startswith("_") else name


@functools.lru_cache(256)
def _assigned_variables(code: types.CodeType) -> dict[int, str]:
    """Map the offset of each instruction to the variable that is stored right after it."""
    found = {}
    for one, after in itertools.pairwise(dis.get_instructions(code)):
        if after.opname.startswith("STORE_") and after.opname not in ("STORE_SUBSCR", "STORE_ATTR"):
            # While a Python function calls another, the caller's offset is at the end of the instruction's cache.
            found.update(dict.fromkeys(range(one.offset, after.offset, 2), str(after.argval)))
    return found


def arrays_held(frame: types.FrameType | None) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays in the program's variables, and in lists and dicts that are variables."""
    for _ in range(MOST_FRAMES):
        if frame is None:
            return
        for scope in (frame.f_locals, frame.f_globals):
            for held in list(scope.values()):
                if isinstance(held, np.ndarray):
                    yield held
                elif type(held) in (list, tuple, dict):
                    inside = list(held.values()) if isinstance(held, dict) else held
                    yield from (each for each in inside[:1000] if isinstance(each, np.ndarray))
        frame = frame.f_back
