"""Which state of a source a pipeline was read from: its files, their sizes and times."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whence.errors import SourceChanged
from whence.spark.catalyst.jvm import items

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.rows import Source
    from whence.spark.catalyst.jvm import Jvm

HIDDEN = ("_", ".")  # how names of files begin that hold no data
Version = frozenset[tuple[str, int, int]]  # file, bytes, milliseconds
STATUS = re.compile(r"FileStatus\{path=(.*?); isDirectory=false; length=(\d+);.*?modification_time=(\d+);")


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


def version_read(source: Source, jvm: Jvm) -> Version:
    """The files of a source as they were when the DataFrame was made: that is what Spark reads, or has in a cache.

    Files that were there and were not listed, such as those that a pattern leaves out, are as they are now.
    """
    try:
        now = version(source, jvm)
    except SourceChanged:  # what is left of it does not matter: it is said when something is asked
        now = frozenset()
    seen = {file for file, _, _ in now}
    # A file that is as it was, under a name that is not looked at from here on, is no change.
    listed = {each for each in _listed(source.origin) if each[0] in seen or _state(each[0], jvm) != each[1:]}
    names = {file for file, _, _ in listed}
    return frozenset(listed) | frozenset(each for each in now if each[0] not in names)


def _listed(leaf: Any) -> Version:
    """The files as a relation that lists them once has them; nothing for others."""
    relation = leaf.relation() if leaf is not None and leaf.nodeName() == "LogicalRelation" else None
    if relation is None or "HadoopFsRelation" not in relation.getClass().getName():
        return frozenset()
    location = relation.location()
    if "InMemoryFileIndex" not in location.getClass().getName():
        return frozenset()
    text = str(location.allFiles().mkString("\n"))
    return frozenset((file, int(size), int(changed)) for file, size, changed in STATUS.findall(text))


def require_fresh_cache(df: DataFrame, jvm: Jvm) -> None:
    """Raise if Spark would answer from a cache that was made of files which are others now.

    Spark takes a cached DataFrame for any other that reads the same paths, however old it is.
    """
    if jvm.spark._jsparkSession.sharedState().cacheManager().isEmpty():
        return
    plan = jvm.frame(df._jdf.queryExecution().analyzed())._jdf.queryExecution().withCachedData()
    for cached in items(plan.collectLeaves()):
        if cached.nodeName() != "InMemoryRelation":
            continue
        for leaf in items(cached.cacheBuilder().logicalPlan().collectLeaves()):
            for file, size, changed in sorted(_listed(leaf)):
                if _state(file, jvm) != (size, changed):
                    raise SourceChanged(
                        f"{file} has changed since Spark cached a DataFrame that reads it, and Spark answers from "
                        "the cache: unpersist that DataFrame, or spark.catalog.clearCache(), and read the file again"
                    )


def _state(file: str, jvm: Jvm) -> tuple[int, int] | None:
    """The size and the time of a file as it is now; None if it is gone."""
    if file.startswith("file:/"):
        try:
            state = os.stat("/" + file.removeprefix("file:").lstrip("/"))
        except FileNotFoundError:
            return None
        return state.st_size, state.st_mtime_ns // 1_000_000
    path = jvm.class_("org.apache.hadoop.fs.Path")(file)
    system = path.getFileSystem(jvm.spark._jsparkSession.sessionState().newHadoopConf())
    if not system.exists(path):
        return None
    status = system.getFileStatus(path)
    return int(status.getLen()), int(status.getModificationTime())


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
            waiting += [f"{path}/{name}" for name in os.listdir(here) if not _hidden(name)]
        else:
            yield path, state.st_size, state.st_mtime_ns // 1_000_000


def require_unchanged(source: Source, before: Version, jvm: Jvm) -> None:
    """Raise if a source is not what it was."""
    changed = version(source, jvm) ^ before
    if changed:
        files = sorted({file for file, _, _ in changed})
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise SourceChanged(
            f"source {source.name!r} has changed since the DataFrame was made: {files[0]}{more}. Its rows would be "
            "answered for data that the pipeline never saw: read it and run the pipeline again, or restore the source"
        )


def _is_data(status: Any) -> bool:
    return not _hidden(str(status.getPath().getName()))


def _hidden(name: str) -> bool:
    """Whether Spark leaves a file or directory out: `_SUCCESS`, but not the partition `_day=1`."""
    return name.startswith(HIDDEN) and not (name.startswith("_") and "=" in name)
