"""Progress of work that takes more than a second: a bar in a terminal or notebook, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

PATIENCE = 1.0  # seconds before the bar is shown
STEP = 0.2  # seconds between two updates of the bar
BEAT = 60.0  # seconds between two calls of `beat`

Far = Callable[[], tuple[int, int, str]]
"""Returns how much is done, the total (0 if unknown), and the text of the bar."""
Item = TypeVar("Item")
_running: list[threading.Event] = []  # blocks that run now, outermost first: a terminal shows the bar of the last one


def visible() -> bool:
    """Whether there is a terminal or a notebook to show the bar."""
    return sys.stderr.isatty() or _in_notebook()


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; importing IPython alone does not count."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython and ipython.get_ipython(), "kernel")


@contextmanager
def working(text: str, far: Far | None = None, beat: Callable[[], None] | None = None) -> Iterator[None]:
    """Show the bar during the block, once it has taken a while; call `beat` regularly, even without a bar."""
    if not visible() and beat is None:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_show, args=(text, far, beat, stop), daemon=True)
    _running.append(stop)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        _running.remove(stop)


def counting(items: Iterable[Item], total: int, text: str) -> Iterator[Item]:
    """Iterate over the items, and show how many are done."""
    if not visible():
        yield from items
        return
    done = 0
    with working(text, lambda: (done, total, text)):
        for item in items:
            yield item
            done += 1


def _show(text: str, far: Far | None, beat: Callable[[], None] | None, stop: threading.Event) -> None:
    if stop.wait(PATIENCE):
        return
    if not visible():
        while beat is not None and not stop.wait(BEAT):
            beat()
        return
    from rich.console import Console
    from rich.progress import Progress

    waited = PATIENCE
    progress = Progress(console=Console(stderr=True), transient=True)
    task = progress.add_task(text, total=None)
    try:
        while True:
            if _running[-1:] == [stop]:
                done, total, shown = (0, 0, text) if far is None else far()
                progress.update(task, description=shown, completed=done, total=total or None)
                progress.start()  # does nothing if it has started
            else:
                progress.stop()
            if stop.wait(STEP):
                return
            waited += STEP
            if beat is not None and waited >= BEAT:
                beat()
                waited = 0.0
    finally:
        progress.stop()
