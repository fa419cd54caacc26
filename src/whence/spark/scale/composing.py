"""Compose large relations on Spark: join tuples by ranges of middle cells, each as large as a task can process.

If one relation has few boxes, the parts of the other are composed with it one by one instead (`by_parts.py`).

First, Spark counts the pairs that each middle cell will make. Ranges of middle cells are then combined until a task has
enough work. A range that alone is too much (for example, a cell that everything goes through) is split like a grid:
each of its tasks gets a share of the outer tuples and a share of the inner ones, so that every two meet in one task.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.relation import Relation
from whence.relation.blocks import Ints
from whence.relation.parts import Entry, PartedRelation, Place
from whence.spark.progress import watched
from whence.spark.scale.by_parts import composed_by_parts
from whence.spark.scale.compressing import alone_in, on_spark, place_for, stored
from whence.spark.scale.failures import explained
from whence.spark.scale.frames import Numbered
from whence.spark.scale.running import session
from whence.words import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

STRETCHES = 1 << 12
"""The middle is split into at most this many ranges."""

WORK = 1 << 21
"""The approximate number of tuples that a task reads and makes."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work for a range of middle cells: outer and inner tuples to read, and pairs to make."""

    number: int
    outer: int
    inner: int
    made: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of middle cells, and the tasks that join it: each gets a share of the outer tuples and one of the inner.

    The tasks are numbered from `first`, in the order of a grid with `rows` (shares of the outer tuples) and `columns`.
    """

    number: int
    first: int
    rows: int = 1
    columns: int = 1


def dealt(work: Iterable[Work], most: int) -> list[Stretch]:
    """Assign ranges, given with their work in order, to tasks of about `most` each.

    >>> dealt([Work(0, 1, 1, 1), Work(1, 1, 2, 1), Work(2, 1, 9, 9), Work(5, 1, 1, 0)], 10)
    [Stretch(number=0, first=0, rows=1, columns=1), Stretch(number=1, first=0, rows=1, columns=1), \
Stretch(number=2, first=1, rows=1, columns=2), Stretch(number=5, first=3, rows=1, columns=1)]
    """
    found, task, held = [], 0, 0
    for each in work:
        much = each.outer + each.inner + each.made
        if held and held + much > most:
            task, held = task + 1, 0
        tasks = max(1, -(-much // most))
        # A side that is not split goes to several tasks: it should be the one with fewer tuples.
        rows = max(1, min(tasks, each.outer, round(math.sqrt(tasks * each.outer / each.inner))))
        columns = max(1, min(-(-tasks // rows), each.inner))
        found.append(Stretch(each.number, task, rows, columns))
        held += much
        if rows * columns > 1:
            task, held = task + rows * columns, 0
    return found


def compose_parts(
    outer: Relation,
    inner: Relation,
    path: str | os.PathLike[str] | None = None,
    work: int = WORK,
    partitions: int | None = None,
) -> Relation:
    """Compose C <- B with B <- A into C <- A. One or both are relations of many parts."""
    spark = session()
    out, into = outer.out_shape, inner.in_shape
    place = place_for(spark, path)
    doing = f"composing {counted(outer.count(), 'tuple')} with {counted(inner.count(), 'tuple')}"
    with alone_in(place), watched(spark, doing):
        with explained("composing"):
            made = composed_by_parts(spark, outer, inner, place)
        if made is None:
            made = _joined(spark, outer, inner, place, work, partitions)
    return stored(made, out, into, place, path)


def _joined(
    spark: SparkSession, outer: Relation, inner: Relation, place: Place, work: int, partitions: int | None
) -> Relation | list[Entry]:
    """Return the composition, or the entries of its parts, by a join of tuples."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    out, into = outer.out_shape, inner.in_shape
    width = max(1, -(-math.prod(outer.in_shape) // STRETCHES))
    left = pairs(spark, outer).toDF("o", "m")
    right = pairs(spark, inner).toDF("m", "i")
    with explained("composing"):
        measured = (
            left.groupBy("m").agg(F.count("o").alias("l"))
            .join(right.groupBy("m").agg(F.count("i").alias("r")), "m")
            .groupBy(F.floor(F.col("m") / width).cast("long").alias("s"))
            .agg(F.sum("l").alias("l"), F.sum("r").alias("r"), F.sum(F.col("l") * F.col("r")).alias("made"))
            .orderBy("s").collect()
        )  # fmt: skip
        if not measured:
            return Relation.empty(out, into)
        stretches = dealt([Work(row["s"], row["l"], row["r"], row["made"]) for row in measured], work)
        plan = F.broadcast(
            spark.createDataFrame(
                [(s.number, s.first, s.rows, s.columns) for s in stretches],
                "s long, first long, rows long, columns long",
            )
        )
        stretch = F.floor(F.col("m") / width).cast("long").alias("s")
        ours = left.select("o", "m", stretch).join(plan, "s").selectExpr(
            "first + pmod(xxhash64(o, m), rows) * columns t", "explode(sequence(0L, columns - 1)) more", "o", "m"
        ).selectExpr("t + more t", "o", "m")  # fmt: skip
        theirs = right.select("m", "i", stretch).join(plan, "s").selectExpr(
            "first + pmod(xxhash64(m, i), columns) t", "columns", "explode(sequence(0L, rows - 1)) more", "m", "i"
        ).selectExpr("t + more * columns t", "m", "i")  # fmt: skip
        joined = ours.groupBy("t").cogroup(theirs.groupBy("t")).applyInArrow(_join(), "o long, i long")
        kept = joined.persist(StorageLevel.DISK_ONLY)  # read twice: to sample ranges of the output, and to compress
    try:
        return on_spark(Numbered(kept, sum(int(row["made"]) for row in measured)), out, into, place, partitions)
    finally:
        kept.unpersist()


def _join() -> Callable[[Any, Any], Any]:
    """The function for `applyInArrow`: joins tuples (output, middle) and (middle, input) of one task."""

    def run(outer: pa.Table, inner: pa.Table) -> pa.Table:
        import pyarrow as pa

        ours, middle = outer.column("o").to_numpy(), outer.column("m").to_numpy()
        theirs, order = inner.column("i").to_numpy(), np.argsort(inner.column("m").to_numpy(), kind="stable")
        keys, theirs = inner.column("m").to_numpy()[order], theirs[order]
        first = np.searchsorted(keys, middle, side="left")
        many = np.searchsorted(keys, middle, side="right") - first
        where = np.repeat(first - (np.cumsum(many) - many), many) + np.arange(int(many.sum()))
        return pa.table({"o": np.repeat(ours, many), "i": theirs[where]})

    return run


def pairs(spark: SparkSession, relation: Relation) -> DataFrame:
    """The tuples of a relation as flat indices of output and input cells. Tasks expand the parts."""
    opened = _opener(relation)
    count = len(relation.index.entries) if isinstance(relation, PartedRelation) else 1

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                part = opened(number)
                tuples, outs = part.to_array(), len(part.out_shape)
                sides = [_flat(tuples[:, :outs], part.out_shape), _flat(tuples[:, outs:], part.in_shape)]
                yield pa.RecordBatch.from_arrays([pa.array(side) for side in sides], ["x", "y"])

    numbers = spark.range(0, count, 1, max(1, min(count, spark.sparkContext.defaultParallelism * 4)))
    return numbers.mapInArrow(run, "x long, y long")


def _opener(relation: Relation) -> Callable[[int], Relation]:
    """A function that opens a part by its index, also in another process."""
    if not isinstance(relation, PartedRelation):
        data = relation.to_bytes()
        return lambda _: Relation.from_bytes(data)
    index, place, swapped = relation.index, relation.place, relation.swapped

    def opened(number: int) -> Relation:
        part = PartedRelation(index, place, "the relation").part(number)
        return part.inverse if swapped else part

    return opened


def _flat(cells: Ints, shape: tuple[int, ...]) -> Ints:
    if not shape or not len(cells):
        return np.zeros(len(cells), np.int64)
    return np.asarray(np.ravel_multi_index(tuple(cells.T), shape), np.int64)
