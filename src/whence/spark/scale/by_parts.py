"""Compose a relation of many parts with a small one, part by part as boxes, without a shuffle and without expanding
tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from whence.relation import Relation
from whence.relation.compose import single_valued
from whence.relation.parts import Entry, Index, PartedRelation, Place
from whence.relation.parts.tasks import finished, made_part
from whence.spark.scale.compressing import REPORT, read_report, reported, require_seen

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SMALL = 1 << 12
"""A relation with at most this many boxes is sent to every task."""

TOGETHER = 1 << 22
"""The most boxes of parts that one task composes."""


def composed_by_parts(
    spark: SparkSession, outer: Relation, inner: Relation, place: Place
) -> Relation | list[Entry] | None:
    """Return the composition, or the entries of its parts. None if neither relation is small, or if a task would get
    too many boxes.
    """
    parted, small = (outer, inner) if isinstance(outer, PartedRelation) else (inner, outer)
    if not isinstance(parted, PartedRelation) or isinstance(small, PartedRelation) or len(small) > SMALL:
        return None
    sets = together(parted, small, parted is outer)
    boxes = [sum(parted.index.entries[number].boxes for number in some) for some in sets]
    if max(boxes, default=0) > TOGETHER:
        return None
    data, index, source = small.to_bytes(), parted.index, parted.place
    swapped, first = parted.swapped, parted is outer

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        other = Relation.from_bytes(data)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                entries = tuple(index.entries[each] for each in sets[number])
                some = PartedRelation(
                    Index(index.out_shape, index.in_shape, entries), source, "the relation", swapped=swapped
                )
                made = some.compose(other, engine="local") if first else other.compose(some)
                yield reported(made_part(made, place))

    tasks = spark.range(0, len(sets), 1, max(1, len(sets)))
    done = [read_report(row) for row in tasks.mapInArrow(run, REPORT).collect()]
    require_seen(place, [(each.entry.name, each.entry.size) for each in done if each.entry is not None])
    return finished(done, outer.out_shape, inner.in_shape, place)


def together(parted: PartedRelation, small: Relation, first: bool) -> list[list[int]]:
    """Group the parts into sets whose compositions share no tuple. `first` is true if the parted relation is the outer
    one.

    Two parts never share a tuple. Their compositions share none either in two cases: each cell on the far side of the
    small relation has one middle cell; or the parts have disjoint cells on the side that remains.
    """
    if len(small) == 1 and single_valued(small, "ab" if first else "ba"):
        return [[number] for number in range(len(parted.index.entries))]
    outs = len(parted.index.out_shape)
    stays_out = first is not parted.swapped  # the side that remains is the stored output
    shape = parted.index.out_shape if stays_out else parted.index.in_shape
    bounds = parted.index.bounds()[:, :outs] if stays_out else parted.index.bounds()[:, outs:]
    if not shape:
        return [list(range(len(bounds)))]
    # In C order, all cells of a part are between its first and its last corner, perhaps with other cells.
    low, high = (np.ravel_multi_index(tuple(bounds[:, :, end].T), shape) for end in (0, 1))
    sets: list[list[int]] = []
    reached = -1
    for number in np.argsort(low, kind="stable"):
        if low[number] > reached or not sets:
            sets.append([])
        sets[-1].append(int(number))
        reached = max(reached, int(high[number]))
    return sets
