"""Names as they are typed in a shell: a file by its path from here, or by the end of its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.log import Log


def named(log: Log, name: str) -> str:
    """What a run from here would have called the file of that path, if the log knows it; else the name as it is."""
    from whence.graph.finding import split_version
    from whence.store.recording.artifacts import artifact_name, project_of

    file, version = split_version(name)
    if not file:
        return name
    path = artifact_name(file, project_of(log.where))
    if path == file:
        return name
    graph = log.graph
    return f"{path}{version}" if f"{path}{version}" in graph or (not version and path in graph.artifacts) else name
