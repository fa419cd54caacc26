"""The cell magic `%%whence`: records a notebook's cell as an activity, with the files that it opens.

%load_ext whence

%%whence train --out model.bin
model = fit(pd.read_csv("data.csv"))
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from whence.errors import BadType, StoreError
from whence.interop._audit.sitecustomize import is_hidden, named, purpose
from whence.interop.run_notes import Stamp
from whence.interop.run_registry import TICK
from whence.log import open as open_log
from whence.store.locating import locate, place_for_new
from whence.store.recording.artifacts import Content, artifact_name, content_of, project_of

if TYPE_CHECKING:
    from whence.store.recording.activity import Activity

_CHANGES = ("os.rename", "os.link", "os.remove", "os.truncate", "sqlite3.connect")


class Opened:
    """The files of a project that this process opens while `looking` is active."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._root = os.path.join(os.path.realpath(project), "")
        self.read: dict[str, Stamp] = {}  # its stamp when it was opened
        self.was: dict[str, Content] = {}  # the content of a file that was read and then changed
        self.written: dict[str, Stamp | None] = {}  # its stamp before; None if it was new, or had just changed
        self._thread = threading.local()  # avoids recursion, separately for each thread

    def note(self, event: str, args: tuple[Any, ...]) -> None:
        """Handle one event of Python's audit hooks."""
        if (event != "open" and event not in _CHANGES) or getattr(self._thread, "busy", False):
            return
        self._thread.busy = True
        try:
            self._noted(event, args)
        except (OSError, StoreError):
            return  # the program itself gets the error when it opens the file
        finally:
            self._thread.busy = False

    def _noted(self, event: str, args: tuple[Any, ...]) -> None:
        if event in ("os.rename", "os.link"):
            source, target = (named(args[place], args[place + 2]) for place in (0, 1))
            if event == "os.rename":
                self._changes(source)
            self._changes(target, writes=True)
        elif event == "os.remove":
            self._changes(named(args[0], args[1]))
        else:  # a database or a truncated file is changed in place
            uses, writes = purpose(args[1], args[2]) if event == "open" else (True, True)
            path = named(args[0])
            if uses and self._counts(path) and path not in self.written and os.path.isfile(path):
                self.read.setdefault(path, Stamp.of(os.stat(path)))
            if writes:
                self._changes(path, writes=True)

    def _counts(self, path: str | None) -> TypeGuard[str]:
        return path is not None and path.startswith(self._root) and not is_hidden(path, self._root)

    def _changes(self, path: str | None, *, writes: bool = False) -> None:
        """Save the content of a file that was read, before it changes; with `writes`, note that it is written."""
        if not self._counts(path) or path in self.written:
            return
        stamp = Stamp.of(os.stat(path)) if os.path.isfile(path) else None
        if stamp is not None and path in self.read and path not in self.was and self.read[path] == stamp:
            self.was[path] = content_of(path, self.project)
        if writes:
            is_old = stamp is not None and time.time_ns() - stamp.status_changed > TICK
            self.written[path] = stamp if is_old else None

    def record(self, activity: Activity) -> list[str]:
        """Record the files that were read and written; return those whose content at reading is unknown."""
        unknown = []
        for path, stamp in self.read.items():
            content = self.was.get(path)
            if content is None and os.path.isfile(path):
                content = content_of(path, self.project)
                content = content if Stamp.of(os.stat(path)) == stamp else None
            if content is not None:
                activity.used_content(content)
            else:
                unknown.append(artifact_name(path, self.project))
        for path, before in self.written.items():
            if os.path.isfile(path) and Stamp.of(os.stat(path)) != before:
                activity.generated(Path(path))
        if unknown:
            activity.note(read_but_changed=unknown)
        return unknown


_looking: list[Opened] = []  # audit hooks cannot be removed, so there is one hook, which uses this list
_hooked: list[bool] = []


def _noted(event: str, args: tuple[Any, ...]) -> None:
    for each in _looking:
        each.note(event, args)


@contextmanager
def looking(project: Path) -> Iterator[Opened]:
    """Record which files are opened in the block."""
    if not _hooked:
        sys.addaudithook(_noted)
        _hooked.append(True)
    opened = Opened(project)
    _looking.append(opened)
    try:
        yield opened
    finally:
        _looking.remove(opened)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadType(f"%%whence: {message}; use it as `%%whence NAME --in FILE --out FILE --agent NAME --log PATH`")


def _parser() -> _Parser:
    parser = _Parser(prog="%%whence", add_help=False)
    parser.add_argument("name", nargs="?", default="cell")
    parser.add_argument("--in", dest="inputs", action="append", default=[])
    parser.add_argument("--out", dest="outputs", action="append", default=[])
    parser.add_argument("--agent")
    parser.add_argument("--log", default=os.environ.get("WHENCE_LOG"))
    return parser


def run_cell(shell: Any, line: str, cell: str) -> None:
    """Run a cell, and record it as an activity with its inputs and outputs."""
    try:
        words = shlex.split(line)
    except ValueError as wrong:
        raise BadType(f"%%whence {line}: {wrong}; close the quotes") from wrong
    asked = _parser().parse_args(words)
    with open_log(locate(asked.log) or place_for_new()) as log:
        activity = log.activity(asked.name, agent=asked.agent, source=cell).used(*map(Path, asked.inputs))
        with looking(project_of(log.where)) as opened:
            result = shell.run_cell(cell)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            activity.note(error=f"{type(error).__name__}: {error}")
        unknown = opened.record(activity)
        activity.generated(*(Path(os.path.realpath(each)) for each in asked.outputs))
        activity.record(missing=error is not None)
        used, made = (", ".join(each.values()) or "nothing" for each in (activity.inputs, activity.outputs))
        sys.stderr.write(f"whence: {activity.id} used {used}; generated {made} (in {log.where})\n")
        if unknown:
            sys.stderr.write(
                f"whence: which version of {', '.join(unknown)} was read is not known, because it changed\n"
            )


def load_ipython_extension(shell: Any) -> None:
    """Register the magic; `%load_ext whence` calls this."""
    shell.register_magic_function(lambda line, cell: run_cell(shell, line, cell), "cell", "whence")
