"""Files and directories that Spark reads: Parquet, CSV, JSON, ORC, text, and other file formats."""

from __future__ import annotations

import os
import re
import stat
import weakref
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote, urlparse

from whence.errors import SourceChanged
from whence.rows import Attr, Literal
from whence.rows.duck import Files
from whence.spark.catalyst.jvm import items
from whence.spark.sources.handed import handed_file
from whence.spark.sources.kind import Kind, Listing, Version
from whence.spark.sources.options import GIVEN_APART, OPTIONS

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.spark.catalyst.jvm import Jvm

FORMATS = ("parquet", "csv", "json", "orc", "text")
MOST_FILES = 256  # rows are numbered by at most this many files: the lookup of a file for each row costs time
SHIFT = 40  # bits of a row id for the row within a file
METADATA = "_metadata"  # Spark's column with the file of each row, if a query selects it
HIDDEN = ("_", ".")  # prefixes of files without data
STATUS = re.compile(r"FileStatus\{path=(.*?); isDirectory=false; length=(\d+);.*?modification_time=(\d+);")
# Types of partition columns, and how to convert Catalyst's values to Python.
PARTITION_TYPES: dict[str, Callable[[Any], object]] = {
    "integer": int,
    "long": int,
    "string": lambda text: str(text.toString()),
    "date": lambda days: date(1970, 1, 1) + timedelta(days=days),
}


class FileKind(Kind):
    """Files and directories. Rows of Parquet files are identified by file and row index."""

    nodes: ClassVar[frozenset[str]] = frozenset({"LogicalRelation"})

    def matches(self, leaf: Any) -> bool:
        return "HadoopFsRelation" in leaf.relation().getClass().getName()

    def format(self, leaf: Any) -> str:
        text = str(leaf.relation().fileFormat().toString()).lower()
        return next((each for each in FORMATS if each in text), text)

    def name(self, leaf: Any) -> str | None:
        table = leaf.catalogTable()
        return str(table.get().identifier().table()) if table.isDefined() else None

    def default_name(self, leaf: Any) -> str | None:
        handed = handed_file(self.paths(leaf))
        if handed is not None:
            return handed.name
        for last in _last_parts(self.paths(leaf)):
            stem = last.split(".", 1)[0]
            if stem:
                return stem
        return None

    def paths(self, leaf: Any) -> tuple[str, ...]:
        return tuple(str(path.toString()) for path in items(leaf.relation().location().rootPaths()))

    def same_rows(self, one: Any, other: Any) -> bool:
        """Compare two leaves, ignoring the column `_metadata` and the way in which SQL spells the path."""
        a, b = one.relation(), other.relation()
        return bool(
            a.fileFormat().getClass().getName() == b.fileFormat().getClass().getName()
            and a.dataSchema().equals(b.dataSchema())
            and a.partitionSchema().equals(b.partitionSchema())
            and set(self.paths(one)) == set(self.paths(other))
            and a.options().removed("path").equals(b.options().removed("path"))
        )

    def same_relation(self, one: Any, other: Any) -> bool:
        return bool(one.relation().equals(other.relation()))

    def same_read(self, one: Any, other: Any, same_object: Callable[[Any, Any], bool]) -> bool:
        return same_object(one.relation().location(), other.relation().location())

    def files_read(self, leaf: Any) -> frozenset[str]:
        return frozenset(str(each.getPath().toString()) for each in items(leaf.relation().location().allFiles()))

    def version(self, source: Source, jvm: Jvm) -> Version:
        if all(path.startswith("file:/") for path in source.paths):
            return frozenset(each for path in source.paths for each in _local_states(source, path))
        return frozenset(_remote_states(source, jvm))

    def version_read(self, leaf: Any) -> Version:
        location = leaf.relation().location()
        if "InMemoryFileIndex" not in location.getClass().getName():  # other indexes list files only when a query runs
            return frozenset()
        text = str(location.allFiles().mkString("\n"))
        return frozenset((file, int(size), int(changed)) for file, size, changed in STATUS.findall(text))

    def listing(self, leaf: Any) -> Listing | None:
        """The files of a leaf. They are cached, because calls to the JVM take milliseconds and a relation never changes
        its files.
        """
        name = str(leaf._target_id)
        known = _listings.get(name)
        if known is None or known[0]() is not leaf:
            made = self._listing(leaf)
            known = _listings[name] = (weakref.ref(leaf, lambda _: _listings.pop(name, None)), made)
        return known[1]

    def _listing(self, leaf: Any) -> Listing | None:
        relation = leaf.relation()
        location = relation.location()
        if self.format(leaf) != "parquet" or "InMemoryFileIndex" not in location.getClass().getName():
            return None
        if any(str(name).lower() == METADATA for name in relation.schema().fieldNames()):
            return None  # the file has a column of that name, which hides Spark's
        paths = [each.getPath() for each in items(location.allFiles())]
        if not 0 < len(paths) <= MOST_FILES:
            return None
        files, uris = tuple(str(path.toString()) for path in paths), tuple(_uri(path.toUri()) for path in paths)
        return Listing(files, uris, _partition_values(location.partitionSpec(), paths))

    def row_id(self, source: Source, jvm: Jvm) -> Any:
        """A Parquet file counts its own rows, so the row index does not depend on which part is read."""
        listing = self.listing(source.origin)
        if listing is None:
            return super().row_id(source, jvm)
        if len(listing.files) == 1:
            return jvm.parse("_metadata.row_index")
        names = ", ".join("'" + each.replace("\\", "\\\\").replace("'", "\\'") + "'" for each in listing.uris)
        return jvm.parse(
            f"shiftleft(coalesce(nullif(array_position(array({names}), _metadata.file_path), 0L), "
            f"cast(raise_error('a file that was not there before') as bigint)) - 1L, {SHIFT}) + _metadata.row_index"
        )

    def reading(self, leaf: Any) -> tuple[str, dict[str, str]] | None:
        relation = leaf.relation()
        options = {str(each._1()): str(each._2()) for each in items(relation.options().toSeq())}
        options = {name: value for name, value in options.items() if name.lower() not in GIVEN_APART}
        if self.format(leaf) not in FORMATS or not all(name.lower() in OPTIONS for name in options):
            return None
        return str(relation.schema().json()), options

    def local_files(self, source: Source) -> Files | None:
        listing = self.listing(source.origin)
        if listing is None or len(set(source.columns)) < len(source.columns):
            return None
        if any(attr.name.lower() == METADATA for attr in source.columns):  # only Spark has this column
            return None
        names = listing.files
        paths = tuple("/" + name.removeprefix("file:").lstrip("/") for name in names if name.startswith("file:/"))
        if len(paths) < len(names) or not all(map(os.path.isfile, paths)):
            return None
        return Files(paths, source.columns, _partition_columns(source, listing))


# By py4j's name of a JVM object, with the object itself, because a name may be reused.
_listings: dict[str, tuple[weakref.ref[Any], Listing | None]] = {}


def state(file: str, jvm: Jvm) -> tuple[int, int] | None:
    """The current size and modification time of a file; None if it does not exist."""
    if file.startswith("file:/"):
        try:
            found = os.stat("/" + file.removeprefix("file:").lstrip("/"))
        except FileNotFoundError:
            return None
        return found.st_size, found.st_mtime_ns // 1_000_000
    path = jvm.class_("org.apache.hadoop.fs.Path")(file)
    system = path.getFileSystem(jvm.spark._jsparkSession.sessionState().newHadoopConf())
    if not system.exists(path):
        return None
    status = system.getFileStatus(path)
    return int(status.getLen()), int(status.getModificationTime())


def _remote_states(source: Source, jvm: Jvm) -> Iterator[tuple[str, int, int]]:
    configuration = jvm.spark._jsparkSession.sessionState().newHadoopConf()
    for path in map(jvm.class_("org.apache.hadoop.fs.Path"), source.paths):
        system = path.getFileSystem(configuration)
        if not system.exists(path):
            raise SourceChanged(f"source {source.name!r} is gone: there is no {path.toString()}")
        waiting = [system.getFileStatus(path)]
        while waiting:
            status = waiting.pop()
            if status.isDirectory():
                below = system.listStatus(status.getPath())
                waiting += [each for each in below if not _hidden(str(each.getPath().getName()))]
            else:
                yield str(status.getPath().toString()), int(status.getLen()), int(status.getModificationTime())


def _local_states(source: Source, root: str) -> Iterator[tuple[str, int, int]]:
    """Like `_remote_states`, for local files. It does not call the JVM, which takes milliseconds, and gives the same
    result.
    """
    waiting = [root]
    while waiting:
        path = waiting.pop()
        here = "/" + path.removeprefix("file:").lstrip("/")
        try:
            found = os.stat(here)
        except FileNotFoundError as error:
            raise SourceChanged(f"source {source.name!r} is gone: there is no {path}") from error
        if stat.S_ISDIR(found.st_mode):
            waiting += [f"{path}/{name}" for name in os.listdir(here) if not _hidden(name)]
        else:
            yield path, found.st_size, found.st_mtime_ns // 1_000_000


def _hidden(name: str) -> bool:
    """Whether Spark ignores a file or directory: it ignores `_SUCCESS`, but not the partition `_day=1`."""
    return name.startswith(HIDDEN) and not (name.startswith("_") and "=" in name)


def _uri(uri: Any) -> str:
    scheme, authority = uri.getScheme(), uri.getAuthority()
    return f"{scheme}:{'' if authority is None else f'//{authority}'}{uri.getRawPath()}"


def _partition_columns(source: Source, listing: Listing) -> tuple[tuple[Attr, tuple[Literal, ...]], ...]:
    """The partition columns of a source, with their value for each file: `day=2024-05-01/part-0.parquet`."""
    known = listing.partition_values
    return tuple(
        (attr, tuple(Literal(value, attr.dtype) for value in known[attr.name]))
        for attr in source.columns
        if attr.name in known
    )


def _partition_values(spec: Any, paths: list[Any]) -> dict[str, tuple[object, ...]]:
    fields = list(spec.partitionColumns().fields())
    if not fields:
        return {}
    directories = {str(each.path().toString()): each.values() for each in items(spec.partitions())}
    rows = [directories.get(str(path.getParent().toString())) for path in paths]
    if any(row is None for row in rows):
        return {}
    known = [(place, field) for place, field in enumerate(fields) if field.dataType().typeName() in PARTITION_TYPES]
    return {
        str(field.name()): tuple(_field_value(row, place, field.dataType()) for row in rows) for place, field in known
    }


def _field_value(row: Any, place: int, dtype: Any) -> object:
    return None if row.isNullAt(place) else PARTITION_TYPES[dtype.typeName()](row.get(place, dtype))


def _last_parts(paths: tuple[str, ...]) -> Iterator[str]:
    parts = [unquote(urlparse(path).path).rstrip("/").split("/") for path in paths]
    if len(parts) == 1:
        yield parts[0][-1]
    elif parts:  # several files of one directory: the directory's name
        common = [each[0] for each in zip(*parts, strict=False) if len(set(each)) == 1]
        yield from reversed(common)
