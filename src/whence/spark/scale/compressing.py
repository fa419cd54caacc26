"""Compress on Spark: tuples are distributed by ranges of the output, and each task writes its own parts."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, SparkFailed, StoreError
from whence.relation import Relation, compress
from whence.relation.compress import fits_key
from whence.relation.engines import require_engine
from whence.relation.layout import Shape
from whence.relation.parts import Directory, Entry, PartedRelation, Place, index_of, publish
from whence.relation.parts.tasks import FEW_BOXES, PART, PartReport, finished, parts_of, parts_of_keys
from whence.relation.views import as_shape
from whence.spark.progress import Count, watched
from whence.spark.scale.dealing import by_stretch, dealt, plain
from whence.spark.scale.failures import explained
from whence.spark.scale.frames import Numbered, classic, numbered, without_pandas
from whence.words import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

LOCAL = 1 << 22
"""Up to this many tuples are collected and compressed in this process: a cluster would take longer to start."""

REPORT = "tuples string, entry binary, small binary"


def compress_frame(
    df: Any,
    out_shape: Sequence[int] | int,
    in_shape: Sequence[int] | int,
    *,
    engine: str = "auto",
    path: str | os.PathLike[str] | None = None,
    partitions: int | None = None,
) -> Relation:
    """Make the relation of index tuples in a Spark frame, with one column for each axis, output first.

    A few million tuples are collected and compressed in this process. If there are more, or with engine="spark", tasks
    compress them: a regular relation comes back as a few boxes, any other as parts that tasks write to `path`, a
    directory that all executors can reach. On one machine `path` may be left out; then the parts are removed with the
    relation.
    """
    out, into = as_shape(out_shape), as_shape(in_shape)
    require_engine(engine)
    require_directory(path)
    df = without_pandas(df)
    if not classic(df):
        return compress(fetched(df), out, into)
    with explained("compressing"), watched(df.sparkSession, "looking at the tuples"):
        given = numbered(df, out, into)
    if engine == "local" or (engine == "auto" and given.rows <= LOCAL):
        with explained("compressing"):
            found = compress(fetched(df), out, into)
        if path is not None:
            found.save(path)
        return found
    place = place_for(df.sparkSession, path)
    with alone_in(place), watched(df.sparkSession, _words(given)) as count:
        made = on_spark(given, out, into, place, partitions, count=count)
    return stored(made, out, into, place, path)


@contextmanager
def alone_in(place: Directory) -> Iterator[None]:
    """Report it if something in this block fails because another job finished first in the same directory."""
    try:
        yield
    except (StoreError, SparkFailed):
        place.require_free()
        raise


def stored(
    made: Relation | list[Entry],
    out_shape: Shape,
    in_shape: Shape,
    place: Directory,
    path: str | os.PathLike[str] | None,
) -> Relation:
    """Make one relation from the result of tasks. A few boxes are saved to a file at `path`, if given; parts are
    published as a directory.
    """
    if not isinstance(made, Relation):
        publish(place.path, out_shape, in_shape, made)
        return PartedRelation(index_of(out_shape, in_shape, made), place, repr(os.fspath(place.path)))
    if path is not None:
        shutil.rmtree(place.path)
        made.save(path)
    return made


def on_spark(
    given: Numbered,
    out_shape: Shape,
    in_shape: Shape,
    place: Place,
    partitions: int | None = None,
    few: int = FEW_BOXES,
    count: Count | None = None,
) -> Relation | list[Entry]:
    """Return one relation, or the entries of the parts that tasks wrote. This is one Spark job."""
    tasks = partitions or max(1, -(-given.rows // PART))
    # Distribute pairs instead of output cells: one cell may have too many inputs for one task.
    with explained("compressing"):
        if fits_key(out_shape, in_shape):
            frame = dealt(given.frame.selectExpr(f"o * {math.prod(in_shape)}L + i k"), given.rows, tasks)
        else:
            frame = given.frame.repartitionByRange(tasks, "o", "i").sortWithinPartitions("o", "i")
        rows = frame.mapInArrow(task(out_shape, in_shape, place, few, count), REPORT).collect()
    done = [read_report(row) for row in rows]
    require_seen(place, [(each.entry.name, each.entry.size) for each in done if each.entry is not None])
    return finished(done, out_shape, in_shape, place)


def require_seen(place: Place, files: Sequence[tuple[str, int]]) -> None:
    """Raise if files that executors wrote, given by name and size, are not visible here."""
    missing = sum(not place.has(name, size) for name, size in files)
    if missing:
        raise StoreError(
            f"{counted(missing, 'part')} that executors wrote to {place!r} cannot be read from here: "
            "use a shared file system or a URL that all of them can reach"
        )


def task(
    out_shape: Shape, in_shape: Shape, place: Place, few: int = FEW_BOXES, count: Count | None = None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for `mapInArrow`. It turns packed ranges of integers, or batches with flat indices of output
    and input cells, into parts, and yields a report of each.
    """
    keyed = fits_key(out_shape, in_shape)

    def parts(batches: Iterable[pa.RecordBatch]) -> Iterator[PartReport]:
        if keyed:
            for keys in by_stretch(batches):
                yield from parts_of_keys(keys, out_shape, in_shape, place, few=few)
        else:
            pairs = ((plain(batch.column(0)), plain(batch.column(1))) for batch in batches)
            yield from parts_of(pairs, out_shape, in_shape, place, ordered=True, few=few)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for done in parts(batches):
            if count is not None:
                count.add(1)
            yield reported(done)

    return run


def reported(done: PartReport, *before: pa.Array) -> pa.RecordBatch:
    """The report of a task about a part: the columns of REPORT, after other columns."""
    import pyarrow as pa

    names = [*(f"x{place}" for place in range(len(before))), "tuples", "entry", "small"]
    entry = None if done.entry is None else done.entry.to_bytes()
    said = [pa.array([str(done.tuples)]), pa.array([entry], pa.binary()), pa.array([done.small], pa.binary())]
    return pa.RecordBatch.from_arrays([*before, *said], names)


def read_report(row: Any) -> PartReport:
    """Read a row of such a report."""
    entry = None if row["entry"] is None else Entry.from_bytes(bytes(row["entry"]))
    return PartReport(int(row["tuples"]), entry, None if row["small"] is None else bytes(row["small"]))


def _words(given: Numbered) -> str:
    return f"compressing {counted(given.rows, 'tuple')}"


def fetched(frame: Any) -> Any:
    """Collect the rows of a Spark frame, as Arrow if this version of Spark can."""
    for method in ("toArrow", "toPandas", "to_pandas"):
        if hasattr(frame, method):
            return getattr(frame, method)()
    raise BadType(f"a {type(frame).__name__} is not a frame of index tuples: give a Spark DataFrame")


class Temporary(Directory):
    """A directory that is removed when this object is no longer referenced."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="whence-parts-")))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return Directory, (self.path,)  # another process must not remove it


def require_directory(path: str | os.PathLike[str] | None) -> None:
    """Raise BadType if the path is a URL."""
    if path is not None and "://" in os.fspath(path):
        raise BadType(
            f"path= is a directory that all executors can reach, not a URL such as {os.fspath(path)!r}: to write parts"
            " to a URL, open a log with blobs= and the URL, and use log.lineage(...)"
        )


def place_for(spark: SparkSession, path: str | os.PathLike[str] | None) -> Directory:
    """The directory for the parts of a relation: the one given, or a temporary one."""
    require_directory(path)
    if path is not None:
        place = Directory(Path(path).absolute())
        place.make()
        return place
    master = spark.sparkContext.master or ""
    if not master.startswith("local"):
        raise BadType(f"Spark runs on {master}: give path=, a directory for the parts that all executors can reach")
    return Temporary()
