"""Which state of a source a pipeline was read from: its files, their sizes and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.errors import SourceChanged
from whence.spark.jvm import items

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.spark.jvm import Jvm

Version = frozenset[tuple[str, int, int]]  # file, bytes, milliseconds


def version(source: Source, jvm: Jvm) -> Version:
    """The files of a source as they are now; nothing for what is in memory or in another system."""
    if not source.paths:
        return frozenset()
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
    return not status.getPath().getName().startswith(("_", "."))
