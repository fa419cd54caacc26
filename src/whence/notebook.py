"""The cell magic `%%whence`: a notebook's cell as an activity, with the files that it opens.

%load_ext whence.notebook

%%whence train --out model.bin
model = fit(pd.read_csv("data.csv"))
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from whence.errors import BadType, StoreError
from whence.log import open as open_log
from whence.store.locating import locate, place_for_new
from whence.store.recording.artifacts import Content, content_of, project_of

if TYPE_CHECKING:
    from whence.log import Log
    from whence.store.recording.activity import Activity

_CHANGES = ("os.rename", "os.remove", "os.truncate")


class Opened:
    """Which files of a project this process opens, while it is asked to look."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._root = os.path.join(os.path.realpath(project), "")
        self.read: dict[str, Content | None] = {}  # with its content, if it was changed after it was read
        self.written: dict[str, None] = {}
        self._busy = False

    def note(self, event: str, args: tuple[Any, ...]) -> None:
        """One event of Python's audit hooks."""
        if self._busy or (event != "open" and event not in _CHANGES):
            return
        self._busy = True
        try:
            for name in args[:2] if event == "os.rename" else args[:1]:
                if isinstance(name, (str, bytes)):
                    self._opened(os.path.realpath(os.fsdecode(name)), event, args)
        except (OSError, StoreError):
            return  # a file that cannot be looked at is the program's to stumble over, not the hook's
        finally:
            self._busy = False

    def _opened(self, path: str, event: str, args: tuple[Any, ...]) -> None:
        parts = path[len(self._root) :].split(os.sep)
        hidden = any(part.startswith(".") or part.endswith(".whence") or part == "__pycache__" for part in parts)
        if hidden or not path.startswith(self._root):
            return
        writes, reads = (True, False) if event != "open" else _purpose(args[1], args[2])
        if reads and path not in self.written and os.path.isfile(path):
            self.read.setdefault(path, None)
        if writes and path in self.read and path not in self.written and self.read[path] is None:
            self.read[path] = content_of(path, self.project)
        if writes and event == "open":
            self.written.setdefault(path)
        if event == "os.rename" and os.fsdecode(args[1]) and os.path.realpath(os.fsdecode(args[1])) == path:
            self.written.setdefault(path)


def _purpose(mode: object, flags: object) -> tuple[bool, bool]:
    """Whether a file is opened to be written, and whether to be read."""
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+"), "r" in mode
    kind = flags & (os.O_WRONLY | os.O_RDWR) if isinstance(flags, int) else 0
    return kind != os.O_RDONLY, kind != os.O_WRONLY


_looking: list[Opened] = []  # an audit hook cannot be taken away again, so there is one, and it looks here
_hooked: list[bool] = []


def _noted(event: str, args: tuple[Any, ...]) -> None:
    for each in _looking:
        each.note(event, args)


@contextmanager
def looking(project: Path) -> Iterator[Opened]:
    """Look which files are opened in this block."""
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
        raise BadType(
            f"%%whence: {message}; it is used as `%%whence NAME --in FILE --out FILE --agent NAME --log PATH`"
        )


def _parser() -> _Parser:
    parser = _Parser(prog="%%whence", add_help=False)
    parser.add_argument("name", nargs="?", default="cell")
    parser.add_argument("--in", dest="inputs", action="append", default=[])
    parser.add_argument("--out", dest="outputs", action="append", default=[])
    parser.add_argument("--agent")
    parser.add_argument("--log", default=os.environ.get("WHENCE_LOG"))
    return parser


def run_cell(shell: Any, line: str, cell: str) -> None:
    """Run a cell, and record it as an activity with what it used and generated."""
    asked = _parser().parse_args(shlex.split(line))
    with open_log(locate(asked.log) or place_for_new()) as log:
        activity = log.activity(asked.name, agent=asked.agent, source=cell).used(*map(Path, asked.inputs))
        with looking(project_of(log.where)) as opened:
            result = shell.run_cell(cell)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            activity.note(error=f"{type(error).__name__}: {error}")
        _record(log, activity, opened, asked.outputs, failed=error is not None)
        used, made = (", ".join(each.values()) or "nothing" for each in (activity.inputs, activity.outputs))
        sys.stderr.write(f"whence: {activity.id} used {used}; generated {made}\n")


def _record(log: Log, activity: Activity, opened: Opened, outputs: list[str], *, failed: bool) -> None:
    for path, content in opened.read.items():
        if content is not None:
            activity.used_content(content)
        elif os.path.isfile(path):
            activity.used(Path(path))
    made = [path for path in opened.written if os.path.isfile(path)]
    activity.generated(*map(Path, dict.fromkeys([*made, *map(os.path.realpath, outputs)])))
    activity.record(missing=failed)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext whence.notebook` calls."""
    shell.register_magic_function(lambda line, cell: run_cell(shell, line, cell), "cell", "whence")
