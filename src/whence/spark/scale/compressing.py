"""Compressing on Spark: tuples are dealt out by stretches of the output, and each task makes parts of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, StoreError
from whence.relation import Relation, compress
from whence.relation._relation import as_shape
from whence.relation.compress import fits_key
from whence.relation.layout import Shape
from whence.relation.parts import Directory, Entry, PartedRelation, Place, index_of, publish
from whence.relation.parts.tasks import FEW_BOXES, PART, Done, finished, parts_of
from whence.spark.progress import watched
from whence.spark.scale.failures import explained
from whence.spark.scale.frames import AGAIN, Numbered, classic, numbered
from whence.words import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

LOCAL = 1 << 22
"""So many tuples are fetched and compressed in this process: a cluster would take longer to begin."""

REPORT = "tuples string, entry binary, small binary"
ENGINES = ("auto", "local", "spark")


def compress_frame(
    df: Any,
    out_shape: Sequence[int] | int,
    in_shape: Sequence[int] | int,
    *,
    engine: str = "auto",
    path: str | os.PathLike[str] | None = None,
    partitions: int | None = None,
) -> Relation:
    """The relation of index tuples in a Spark frame, one column for each axis, output first.

    A few million tuples are fetched and compressed here; more, or with engine="spark", where the frame is: a regular
    relation comes back as a few boxes, another one as parts that tasks write to `path`, a directory that all
    executors reach. On this machine `path` may be left out: the parts are then gone with the relation.
    """
    out, into = as_shape(out_shape), as_shape(in_shape)
    if engine not in ENGINES:
        raise BadType(f"engine is one of {', '.join(map(repr, ENGINES))}, not {engine!r}")
    if hasattr(df, "to_spark"):  # pandas on Spark
        df = df.spark.frame()
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
    with watched(df.sparkSession, _words(given)):
        made = on_spark(given, out, into, place, partitions)
    if isinstance(made, Relation):
        if path is not None:
            shutil.rmtree(place.path)
            made.save(path)
        return made
    publish(place.path, out, into, made)
    return PartedRelation(index_of(out, into, made), place, repr(os.fspath(place.path)))


def on_spark(
    given: Numbered,
    out_shape: Shape,
    in_shape: Shape,
    place: Place,
    partitions: int | None = None,
    few: int = FEW_BOXES,
    columns: tuple[int, int] | None = None,
) -> Relation | list[Entry]:
    """One relation, or the entries of the parts that tasks wrote: one job. `columns` is as for `parts_of`."""
    count = partitions or max(1, -(-given.rows // PART))
    # Pairs, not output cells alone: the many inputs of one cell may be too many for one task.
    dealt = given.frame.repartitionByRange(count, "o", "i")
    if not fits_key(out_shape, in_shape):
        dealt = dealt.sortWithinPartitions("o", "i")
    with explained("compressing"):
        rows = dealt.mapInArrow(task(out_shape, in_shape, place, few, columns), REPORT).collect()
    done = [_read(row) for row in rows]
    missing = [
        each.entry.name for each in done if each.entry is not None and not place.has(each.entry.name, each.entry.size)
    ]
    if missing:
        raise StoreError(
            f"{counted(len(missing), 'part')} that executors wrote to {place!r} cannot be seen from here: "
            "the place must be one that all of them reach, a shared file system or a URL"
        )
    if columns is not None:
        out_shape, in_shape = (*out_shape, columns[0]), (*in_shape, columns[1])
    return finished(done, out_shape, in_shape, place)


def task(
    out_shape: Shape, in_shape: Shape, place: Place, few: int = FEW_BOXES, columns: tuple[int, int] | None = None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What `mapInArrow` runs: batches with the numbers of output and input cells become parts, and a report of each."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        def pairs() -> Iterator[tuple[Any, Any]]:
            for batch in batches:
                if batch.column(0).null_count or batch.column(1).null_count:
                    raise BadType(AGAIN)
                yield batch.column(0).to_numpy(), batch.column(1).to_numpy()

        for done in parts_of(pairs(), out_shape, in_shape, place, ordered=True, few=few, columns=columns):
            entry = None if done.entry is None else done.entry.to_bytes()
            report = [
                pa.array([str(done.tuples)]),
                pa.array([entry], pa.binary()),
                pa.array([done.small], pa.binary()),
            ]
            yield pa.RecordBatch.from_arrays(report, ["tuples", "entry", "small"])

    return run


def _read(row: Any) -> Done:
    entry = None if row["entry"] is None else Entry.from_bytes(bytes(row["entry"]))
    return Done(int(row["tuples"]), entry, None if row["small"] is None else bytes(row["small"]))


def _words(given: Numbered) -> str:
    return f"compressing {counted(given.rows, 'tuple')}"


def fetched(frame: Any) -> Any:
    """A Spark frame's rows, as Arrow where its version can."""
    for method in ("toArrow", "toPandas", "to_pandas"):
        if hasattr(frame, method):
            return getattr(frame, method)()
    raise BadType(f"a {type(frame).__name__} is no frame of index tuples: give a Spark DataFrame")


class Temporary(Directory):
    """A directory that is gone when nothing refers to it any more."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="whence-parts-")))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return Directory, (self.path,)  # in another process it is not to be removed


def place_for(spark: SparkSession, path: str | os.PathLike[str] | None) -> Directory:
    """The directory for the parts of a relation: the one given, or a temporary one."""
    if path is not None:
        place = Directory(Path(path).absolute())
        place.make()
        return place
    master = spark.sparkContext.master or ""
    if not master.startswith("local"):
        raise BadType(f"Spark runs on {master}: give path=, a directory that all executors reach, for the parts")
    return Temporary()
