"""Imported by every Python program under `whence run`: notes which files of the project it opens.

A program must run as it would without this module, so it does not import whence, imports only modules that every
interpreter has loaded or loads fast, and ignores errors when it cannot write its notes.

A note is `kind NUL path NUL value NUL newline`. Notes of all processes are in one file, in the order of the events.
"""

from __future__ import annotations  # the program may use an older Python than whence

import _thread
import os
import sys

PAUSED = "WHENCE_RUN_PAUSED"  # set while an inner `whence run` opens files itself
_EVENTS = ("open", "os.rename", "os.link", "os.remove", "os.truncate", "sqlite3.connect")


def purpose(mode: object, flags: object) -> tuple[bool, bool]:
    """Return whether opening a file uses its old content, and whether it may write new content.

    `w` and `x` begin with an empty file, so even `w+` reads only what the program itself wrote; the result of `a` and
    `r+` contains the old content.

    >>> purpose("r", 0), purpose("w+", 0), purpose("a", 0), purpose("r+", 0)
    ((True, False), (False, True), (True, True), (True, True))
    >>> purpose(None, os.O_WRONLY), purpose(None, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    ((True, True), (False, True))
    """
    if isinstance(mode, str):
        return not ("w" in mode or "x" in mode), any(letter in mode for letter in "wax+")
    bits = flags if isinstance(flags, int) else 0
    exclusive = os.O_CREAT | os.O_EXCL
    empty = bool(bits & os.O_TRUNC) or bits & exclusive == exclusive
    return not empty, bool(bits & (os.O_WRONLY | os.O_RDWR))


def stamp(path: str) -> str:
    """Return values that change when a file does: size, modification time, inode, status change time."""
    found = os.stat(path)
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}:{found.st_ctime_ns}"


def named(name: object, directory: object = -1) -> str | None:
    """Return the real path in an event, relative to an open directory if given; None for a file descriptor."""
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if not isinstance(name, (str, bytes)):
        return None
    path = os.fsdecode(name)
    if isinstance(directory, int) and directory >= 0:
        path = os.path.join(os.readlink(f"/proc/self/fd/{directory}"), path)
    return os.path.realpath(path)


def is_hidden(path: str, project: str) -> bool:
    """Whether a file of the project is not recorded: hidden, part of a log, or in Python's cache."""
    parts = path[len(project) :].split(os.sep)
    return any(part.startswith(".") or part.endswith(".whence") or part == "__pycache__" for part in parts)


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file."""
    import hashlib

    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


class _Watch:
    """The notes of one process (and of those it forks)."""

    def __init__(self, notes: str, project: str) -> None:
        self.notes, self.project = notes, project
        self.read: set[str] = set()
        self.written: set[str] = set()
        self.known = 0  # bytes of the shared notes that were read
        self.read_by_any: set[bytes] = set()
        self.thread = _thread._local()  # avoids recursion, separately for each thread

    def note(self, kind: str, path: str, value: str = "") -> None:
        line = "\0".join((kind, path, value)) + "\0\n"
        place = os.open(self.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(place, os.fsencode(line))  # one write, because concurrent programs share the file
        finally:
            os.close(place)

    def is_read(self, path: str) -> bool:
        """Whether this process, or another of the same run, read the file."""
        if path in self.read:
            return True
        with open(self.notes, "rb") as file:  # only notes since the last call
            file.seek(self.known)
            *lines, _ = file.read().split(b"\0\n")
        self.known += sum(len(line) + 2 for line in lines)
        self.read_by_any.update(line.split(b"\0")[1] for line in lines if line.startswith(b"read\0"))
        return os.fsencode(path) in self.read_by_any

    def before_change(self, path: str) -> None:
        """Note the hash of a file that was read, before it changes."""
        if path not in self.written and os.path.isfile(path) and self.is_read(path):
            before = stamp(path)
            self.note("was", path, f"{before}:{digest_of(path)}")

    def opened(self, path: str, uses: bool, writes: bool) -> None:
        if "__pycache__" in path and path.endswith(".pyc") and uses and not writes:
            folder, name = os.path.split(path)
            path = os.path.join(os.path.dirname(folder), name.split(".")[0] + ".py")  # the source of the loaded module
        if is_hidden(path, self.project):
            return
        if uses and path not in self.read and path not in self.written and os.path.isfile(path):
            self.read.add(path)
            self.note("read", path, stamp(path))
        if writes and path not in self.written:
            self.before_change(path)
            self.written.add(path)
            self.note("write", path)

    def changed(self, event: str, args: tuple[object, ...]) -> None:
        """Note that a file or directory is renamed, linked or removed."""
        if event == "os.remove":
            path = named(args[0], args[1] if len(args) > 1 else -1)
            if path is not None and path.startswith(self.project):
                self.before_change(path)
                self.note("gone", path)
            return
        source, target = (named(args[place], args[place + 2] if len(args) > 3 else -1) for place in (0, 1))
        if event == "os.rename" and source is not None and source.startswith(self.project):
            self.before_change(source)
            self.note("gone", source)
        if target is not None and target.startswith(self.project):
            self.before_change(target)
            self.written.add(target)
            self.note("move", target, source or "")

    def see(self, event: str, args: tuple[object, ...]) -> None:
        if event in ("os.rename", "os.link", "os.remove"):
            self.changed(event, args)
            return
        path = named(args[0])
        if path is None or not path.startswith(self.project):
            return
        if event == "open":
            self.opened(path, *purpose(args[1], args[2]))
        else:  # a database or a truncated file is changed in place
            self.opened(path, True, True)

    def hook(self, event: str, args: tuple[object, ...]) -> None:
        if event not in _EVENTS or getattr(self.thread, "busy", False) or PAUSED in os.environ:
            return
        self.thread.busy = True
        try:
            self.see(event, args)
        except (OSError, ValueError):
            return  # notes must not make the program fail; `whence run` also finds changes itself
        finally:
            self.thread.busy = False


def _watch(notes: str, project: str) -> None:
    watch = _Watch(notes, project)
    watch.note("python", sys.executable or "python", str(os.getpid()))
    sys.addaudithook(watch.hook)


def _next() -> None:
    """Import the next sitecustomize on the path, which this one hides."""
    here, own = os.path.dirname(os.path.abspath(__file__)), sys.modules.pop("sitecustomize")
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != here]
    try:
        # The user's sitecustomize, if there is one.
        import sitecustomize  # type: ignore[import-not-found] # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", own)


if __name__ == "sitecustomize":  # not when it is imported as a module of whence
    if "WHENCE_RUN_NOTES" in os.environ:
        try:
            _watch(os.environ["WHENCE_RUN_NOTES"], os.path.join(os.path.realpath(os.environ["WHENCE_RUN_PROJECT"]), ""))
        except OSError:
            del os.environ["WHENCE_RUN_NOTES"]
    _next()
