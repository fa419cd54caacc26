"""Note the files that a tracked function reads itself. Their data is in no argument, so answers have to mention it.

Python reports every file that it opens to *audit hooks*. Compiled readers that open files themselves (`pyarrow`, HDF5)
are not reported.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from whence.arrays.linking.besides import is_of_program
from whence.arrays.linking.places import INSTALLED, OWN

CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dylib", ".dll", ".pth")
SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/")
EVENTS = {"open": 0, "sqlite3.connect": 0}  # the position of the path among the arguments of each event

_now = threading.local()
_lock = threading.Lock()
_watching = False


@contextmanager
def files_read() -> Iterator[list[str]]:
    """Collect the files that code of the program opens for reading in this thread until the block ends, each once."""
    global _watching
    with _lock:
        if not _watching:
            sys.addaudithook(_opened)  # Python cannot remove an audit hook
            _watching = True
    before = getattr(_now, "paths", None)
    _now.paths = found = list[str]()
    try:
        yield found
    finally:
        _now.paths = before


def _opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in EVENTS or (found := getattr(_now, "paths", None)) is None:
        return
    path = arguments[EVENTS[event]]
    if event == "open" and not _is_read(*arguments[1:3]):
        return
    if not isinstance(path, (str, bytes, os.PathLike)):
        return
    name = os.path.abspath(os.fsdecode(path))
    if name in found or name.endswith(CODE) or name.startswith((*SYSTEM, *INSTALLED)) or not _asked_by_program():
        return
    found.append(name)


def _is_read(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return "r" in mode or "+" in mode
    return isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) != os.O_WRONLY


def _asked_by_program() -> bool:
    """Whether code of the program opens the file, directly or through a package, and not whence itself."""
    frame = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] == OWN:
            return False
        if is_of_program(module):
            return True
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
    return False
