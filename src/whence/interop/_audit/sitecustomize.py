"""Loaded by every Python program under `whence run`: notes which files of the project it opens.

A program must run as it would without, so this knows nothing of whence, imports only what every interpreter has
loaded or loads fast, and gives up silently where it cannot write its notes.
"""

from __future__ import annotations  # the program may run on an older Python than whence does

import os
import sys


def _watch(notes: str, project: str) -> None:
    read: set[str] = set()
    written: set[str] = set()
    state = {"busy": False}

    def note(kind: str, path: str, content: str = "") -> None:
        line = "\0".join((kind, path, content)) + "\0\n"
        place = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(place, os.fsencode(line))  # one write: programs that run side by side share the file
        finally:
            os.close(place)

    def before_change(path: str) -> None:
        """A file that was read is about to change: what it held so far is what was used."""
        if path in read and path not in written:
            import hashlib

            digest = hashlib.sha256()
            with open(path, "rb") as file:
                for chunk in iter(lambda: file.read(1 << 20), b""):
                    digest.update(chunk)
            note("was", path, digest.hexdigest())

    def opened(path: str, writes: bool, reads: bool) -> None:
        if "__pycache__" in path and path.endswith(".pyc") and reads and not writes:
            folder, name = os.path.split(path)
            path = os.path.join(os.path.dirname(folder), name.split(".")[0] + ".py")  # the source of what is loaded
        parts = path[len(project) :].split(os.sep)
        if any(part.startswith(".") or part.endswith(".whence") or part == "__pycache__" for part in parts):
            return
        if reads and path not in read and path not in written and os.path.isfile(path):
            read.add(path)
            note("read", path)
        if writes and path not in written:
            before_change(path)
            written.add(path)
            note("write", path)

    def hook(event: str, args: tuple[object, ...]) -> None:
        if state["busy"] or event not in ("open", "os.rename", "os.remove", "os.truncate"):
            return
        state["busy"] = True
        try:
            for name in args[:2] if event == "os.rename" else args[:1]:
                if not isinstance(name, (str, bytes)):
                    continue
                path = os.path.realpath(os.fsdecode(name))
                if not path.startswith(project):
                    continue
                if event != "open":
                    before_change(path)
                    continue
                mode, flags = args[1], args[2]
                if isinstance(mode, str):
                    writes, reads = any(letter in mode for letter in "wax+"), "r" in mode
                else:
                    kind = flags & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR) if isinstance(flags, int) else 0
                    writes, reads = kind != os.O_RDONLY, kind != os.O_WRONLY
                opened(path, writes, reads)
        except (OSError, ValueError):
            return  # no note is worth a failing program; `whence run` sees changes by itself
        finally:
            state["busy"] = False

    note("python", sys.executable or "python", str(os.getpid()))
    sys.addaudithook(hook)


def _next() -> None:
    """Load the sitecustomize behind this one, which would have been loaded without it."""
    here, own = os.path.dirname(os.path.abspath(__file__)), sys.modules.pop("sitecustomize")
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != here]
    try:
        import sitecustomize  # type: ignore[import-not-found] # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", own)


if __name__ == "sitecustomize":  # not when a tool looks at it as a module of whence
    if "WHENCE_RUN_NOTES" in os.environ:
        try:
            _watch(os.environ["WHENCE_RUN_NOTES"], os.path.join(os.path.realpath(os.environ["WHENCE_RUN_PROJECT"]), ""))
        except OSError:
            del os.environ["WHENCE_RUN_NOTES"]
    _next()
