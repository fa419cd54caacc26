"""Names in a shell: a file by its path relative to the current directory, or by the end of its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.log import Log


def named(log: Log, name: str) -> str:
    """Return the name in the log of the file with that path, if the log has it; else the name unchanged."""
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
