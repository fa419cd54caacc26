"""Questions to a relation of many parts, answered by Spark: each task asks some of the parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from whence import _core
from whence.errors import BadCells, BadType, Damaged, OutOfRange, TooLarge
from whence.relation.blocks import Ints
from whence.relation.layout import Shape
from whence.relation.parts import PartedRelation
from whence.selection import Selection
from whence.spark.progress import watched
from whence.spark.scale.failures import explained
from whence.spark.scale.frames import checked, classic, indexed, without_pandas
from whence.spark.scale.running import session
from whence.words import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST_ASKED = 1 << 25
"""The most cells or boxes of a question that this process sends to the tasks."""

BINS = 64
"""The number of bins, by ranges of the first axis, in which the boxes of an answer are united."""


def ask_frame(relation: Any, df: Any, backward: bool, engine: str = "auto") -> DataFrame:
    """Return the boxes that are related to the cells or boxes in a frame. The result has the first and last index on
    each axis, and its boxes are disjoint.

    The question has one column for each axis (cells), or two (boxes: first and last). With engine="local", this process
    reads the parts at once.
    """
    df = without_pandas(df)
    given = selected_of(df, relation.out_shape if backward else relation.in_shape)
    if engine == "local":
        wanted = relation.in_shape if backward else relation.out_shape
        _require_axes(wanted)
        return _framed(df.sparkSession, relation._ask(given, backward).boxes, _schema(wanted, backward))
    if isinstance(relation, PartedRelation):
        require_parts(relation, relation.touched(given, forward=not backward))
    return answers(relation, given, backward, df.sparkSession)


def require_parts(relation: PartedRelation, numbers: Iterable[int]) -> None:
    """Raise Damaged if a part is missing or has another size. A frame is computed later, by Spark, whose errors are
    long: so look before.
    """
    for number in numbers:
        entry = relation.index.entries[number]
        if not relation.place.has(entry.name, entry.size):
            title = f"part {number} of the relation"
            relation.place.open(entry.name, title)  # raises if it is missing, or its beginning is damaged
            raise Damaged(f"{title} has another size than its index says; restore it from a copy")


def ask_selection(relation: PartedRelation, given: Selection, backward: bool) -> Selection:
    """Answer a question about a selection. The answer is collected into this process."""
    wanted = relation.in_shape if backward else relation.out_shape
    if not wanted:  # a single cell: the first part that matches has it
        return relation._ask(given, backward)
    spark = session()
    with explained("asking"), watched(spark, f"asking {counted(len(relation.index.entries), 'part')}"):
        table = answers(relation, given, backward, spark).toArrow()
    columns = [table.column(place).to_numpy() for place in range(2 * len(wanted))]
    boxes = np.stack(columns, axis=1).reshape(-1, len(wanted), 2)
    return Selection.from_boxes(boxes, wanted)


def answers(relation: Any, given: Selection, backward: bool, spark: SparkSession) -> DataFrame:
    """Return a lazy frame that asks the parts that the selection touches, and unites their boxes."""
    wanted = relation.in_shape if backward else relation.out_shape
    _require_axes(wanted)
    schema = _schema(wanted, backward)
    if not isinstance(relation, PartedRelation):
        boxes = (relation.backward if backward else relation.forward)(given).boxes
        return _framed(spark, boxes, schema)
    met = relation.touched(given, forward=not backward)
    context = spark.sparkContext
    asked = context.broadcast(given.boxes)
    rows = [(int(number), relation.index.entries[number].size) for number in met]
    if not rows:
        return _framed(spark, np.empty((0, len(wanted), 2), np.int64), schema)
    tasks = min(len(rows), max(context.defaultParallelism * 4, len(rows) // 16))
    numbers = spark.createDataFrame(rows, "part long, size long").select("part").repartition(tasks)
    index, place, swapped = relation.index, relation.place, relation.swapped

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = PartedRelation(index, place, "the relation", swapped=swapped)
        question = Selection._trusted(asked.value, own.out_shape if backward else own.in_shape)
        for batch in batches:
            for boxes in own.asked(question, backward, batch.column(0).to_numpy()):
                yield from _batches(boxes, wanted)

    found = numbers.mapInArrow(run, f"bin long, {schema}")
    return found.groupBy("bin").applyInArrow(_unite(len(wanted)), schema)


def _require_axes(wanted: Shape) -> None:
    if not wanted:
        raise BadCells("the array has no axes and so only one cell: give cells instead of a frame")


def _schema(wanted: Shape, backward: bool) -> str:
    return ", ".join(f"{name} long" for name in names(wanted, "a" if backward else "b"))


def _unite(axes: int) -> Callable[[Any], Any]:
    """The function for `applyInArrow`: makes the boxes of one bin disjoint."""

    def run(table: pa.Table) -> pa.Table:
        import pyarrow as pa

        columns = [table.column(place + 1).to_numpy() for place in range(2 * axes)]
        boxes = np.stack(columns, axis=1).reshape(-1, axes, 2)
        united = np.asarray(_core.normalize(np.ascontiguousarray(boxes))).reshape(-1, 2 * axes)
        return pa.table([np.ascontiguousarray(united[:, i]) for i in range(2 * axes)], names=table.column_names[1:])

    return run


def _batches(boxes: Ints, wanted: Shape) -> Iterator[pa.RecordBatch]:
    """Convert boxes to rows with their bin on the first axis. Boxes that span several bins are split."""
    import pyarrow as pa

    if not len(boxes):
        return
    step = max(1, -(-wanted[0] // BINS))
    cut = _cut(boxes, step)
    bins = cut[:, 0, 0] // step
    flat = cut.reshape(len(cut), -1)
    columns = [pa.array(bins), *(pa.array(np.ascontiguousarray(flat[:, i])) for i in range(flat.shape[1]))]
    yield pa.RecordBatch.from_arrays(columns, ["bin", *names(wanted, "x")])


def _cut(boxes: Ints, step: int) -> Ints:
    """Split boxes at every multiple of `step` on the first axis."""
    first, last = boxes[:, 0, 0] // step, boxes[:, 0, 1] // step
    many = last - first + 1
    out = np.repeat(boxes, many, axis=0)
    within = np.arange(len(out)) - np.repeat(np.cumsum(many) - many, many)
    bins = np.repeat(first, many) + within
    out[:, 0, 0] = np.maximum(out[:, 0, 0], bins * step)
    out[:, 0, 1] = np.minimum(out[:, 0, 1], bins * step + step - 1)
    return out


def names(shape: Shape, letter: str) -> list[str]:
    """The names of the columns of boxes: a0_first, a0_last, a1_first, ..."""
    return [f"{letter}{axis}_{end}" for axis in range(len(shape)) for end in ("first", "last")]


def _framed(spark: SparkSession, boxes: Ints, schema: str) -> DataFrame:
    import pyarrow as pa

    flat = boxes.reshape(len(boxes), 2 * boxes.shape[1])
    names = [column.split()[0] for column in schema.split(", ")]
    return spark.createDataFrame(pa.table([np.ascontiguousarray(column) for column in flat.T], names=names), schema)


def frame_of(given: Selection, spark: SparkSession | None = None) -> DataFrame:
    """Convert a selection to a frame of boxes."""
    if not given.shape:
        raise BadCells("an array without axes has one cell and no boxes: use `bool(selection)`")
    schema = ", ".join(f"{name} long" for name in names(given.shape, "a"))
    return _framed(spark or session(), given.boxes, schema)


def selected_of(df: Any, shape: Shape, *, table: bool = False) -> Selection:
    """Like `selected`, but checks first that `df` is a DataFrame of a session in this process."""
    df = without_pandas(df)
    if not classic(df):
        raise BadType("a question is a DataFrame of a Spark session in this process")
    with explained("asking"), watched(df.sparkSession, "reading the question"):
        return selected(df, shape, table=table)


def selected(df: DataFrame, shape: Shape, *, table: bool = False) -> Selection:
    """The cells or boxes that a frame lists. For a table, a single column has row numbers, and all cells of these rows
    are selected.
    """
    if table and len(df.columns) == 1 and len(shape) == 2:
        lines = selected(df, shape[:1]).boxes
        every = np.broadcast_to(np.array([[[0, shape[1] - 1]]], np.int64), (len(lines), 1, 2))
        return Selection.from_boxes(np.concatenate([lines, every], axis=1), shape)
    axes = len(shape)
    if not axes:
        raise BadCells("an array without axes has one cell: give () instead of a frame")
    boxed = len(df.columns) == 2 * axes
    width = 2 * axes if boxed else axes
    expected = f"cells have {{}} (one for each axis), boxes {2 * axes} (first and last of each)"
    plain, given = indexed(df, width, expected)
    dims = tuple(side for side in shape for _ in range(2)) if boxed else shape

    def outside(row: list[int]) -> OutOfRange:
        return OutOfRange(f"{tuple(row)} is outside shape {shape}; indices count from 0 and are not negative")

    count = checked(plain, given, dims, outside)
    if count > MOST_ASKED:
        raise TooLarge(f"{count:,} cells are too many for one question: give boxes, or ask in parts")
    rows = np.stack([column.to_numpy() for column in plain.toArrow().columns], axis=1)
    if not boxed:
        return Selection.from_cells(rows, shape)
    boxes = rows.reshape(-1, axes, 2)
    if np.any(wrong := (boxes[:, :, 0] > boxes[:, :, 1]).any(axis=1)):
        raise BadCells(
            f"the box {tuple(rows[wrong][0].tolist())} ends before it begins: give first and last of each axis"
        )
    return Selection.from_boxes(boxes, shape)
