"""Processor time and memory of this process and all its descendants, from /proc on Linux."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


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


def processor_seconds() -> float:
    """Return the processor time of these processes, including their children that have ended."""
    return sum(sum(map(int, about[11:15])) for _, about in tree()) / TICK


class Peak:
    """While this is active, track the peak memory (resident, bytes) of any one of these processes whose command
    fits.
    """

    def __init__(self, fits: Callable[[str], bool]) -> None:
        self.bytes = 0
        self._fits, self._stop = fits, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.25):
            for pid, about in tree():
                try:
                    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if self._fits(command):
                    self.bytes = max(self.bytes, int(about[21]) * PAGE)
