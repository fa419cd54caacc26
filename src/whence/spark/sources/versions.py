"""Which state of a source a pipeline was read from: its files, their sizes and times."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whence.errors import SourceChanged
from whence.spark.catalyst.jvm import items

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.spark.catalyst.jvm import Jvm

HIDDEN = ("_", ".")  # how names of files begin that hold no data
Version = frozenset[tuple[str, int, int]]  # file, bytes, milliseconds


def version(source: Source, jvm: Jvm) -> Version:
    """The files of a source as they are now; nothing for what is in memory or in another system."""
    if not source.paths:
        return frozenset()
    if all(path.startswith("file:/") for path in source.paths):
        return frozenset(each for path in source.paths for each in _local(source, path))
    relation: Any = source.origin
    configuration = jvm.spark._jsparkSession.sessionState().newHadoopConf()
    found = set()
    for path in items(relation.relation().location().rootPaths()):
        system = path.getFileSystem(configuration)
        if not system.exists(path):
            raise SourceChanged(f"source {source.name!r} is gone: there is no {path.toString()}")
        waiting = [system.getFileStatus(path)]
        while waiting:
            status = waiting.pop()
            if status.isDirectory():
                waiting += [each for each in system.listStatus(status.getPath()) if _is_data(each)]
            else:
                found.add((str(status.getPath().toString()), int(status.getLen()), int(status.getModificationTime())))
    return frozenset(found)


def _local(source: Source, root: str) -> Iterator[tuple[str, int, int]]:
    """The same for files of this machine, without the JVM, as it would say it: asking it takes milliseconds."""
    waiting = [root]
    while waiting:
        path = waiting.pop()
        here = "/" + path.removeprefix("file:").lstrip("/")
        try:
            state = os.stat(here)
        except FileNotFoundError as error:
            raise SourceChanged(f"source {source.name!r} is gone: there is no {path}") from error
        if stat.S_ISDIR(state.st_mode):
            waiting += [f"{path}/{name}" for name in os.listdir(here) if not name.startswith(HIDDEN)]
        else:
            yield path, state.st_size, state.st_mtime_ns // 1_000_000


def require_unchanged(source: Source, before: Version, jvm: Jvm) -> None:
    """Raise if a source is not what it was."""
    changed = version(source, jvm) ^ before
    if changed:
        files = sorted({file for file, _, _ in changed})
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise SourceChanged(
            f"source {source.name!r} has changed since the pipeline was read: {files[0]}{more}. Its rows would be "
            "answered for data that the pipeline never saw: run the pipeline again, or restore the source"
        )


def _is_data(status: Any) -> bool:
    return not status.getPath().getName().startswith(HIDDEN)
