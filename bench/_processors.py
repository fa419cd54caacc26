"""Processor time and memory of this process and all its descendants, from /proc on Linux."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

USER, SYSTEM, STARTED, RESIDENT = 11, 12, 19, 21  # fields of /proc/ID/stat after the name


def tree() -> Iterator[tuple[int, list[str]]]:
    """Yield this process and its descendants: the id, and the fields of /proc/ID/stat after the name."""
    known: dict[int, list[str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                known[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):  # it has ended
                continue
    own = {os.getpid()}
    while more := {pid for pid, about in known.items() if int(about[1]) in own} - own:
        own |= more
    return ((pid, known[pid]) for pid in own)


class Watch:
    """While this is active, watch these processes, several times a second.

    `seconds` is their processor time. Processes that have ended count with the time they were last seen with: nothing
    else keeps it for Spark's Python workers, which end after a minute without work, and which nobody waits for.
    `peak` is the most resident memory, in bytes, of any one process whose command fits.
    """

    def __init__(self, fits: Callable[[str], bool]) -> None:
        self.peak = 0
        self._fits, self._stop, self._lock = fits, threading.Event(), threading.Lock()
        self._used: dict[tuple[int, str], int] = {}  # ticks by id and start, because ids are used again
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """The processor time of all processes seen so far."""
        self._look()
        return sum(self._used.values()) / TICK

    def _run(self) -> None:
        while not self._stop.wait(0.25):
            self._look()

    def _look(self) -> None:
        with self._lock:
            for pid, about in tree():
                self._used[pid, about[STARTED]] = int(about[USER]) + int(about[SYSTEM])
                try:
                    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if self._fits(command):
                    self.peak = max(self.peak, int(about[RESIDENT]) * PAGE)
