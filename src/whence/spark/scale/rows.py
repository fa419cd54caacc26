"""Write the rows of a run and their lineage to the log's blobs, with Spark's tasks.

This takes two jobs, without a shuffle except the pipeline's own. The first job runs the pipeline with the ids of source
rows: each task writes its rows as files of the output, and their ids as separate files, which are read once and
removed. A file has the rows of one attempt of one task, so another attempt may give its rows in another order. When all
tasks have reported how many rows they wrote, each row has a number. The second job makes parts from the ids, range by
range.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whence.relation import Relation
from whence.relation.parts import Entry, PartedRelation, hash_of, index_of
from whence.relation.parts.tasks import PART, PartReport, finished, parts_of
from whence.spark.scale.compressing import REPORT, read_report, reported, require_seen
from whence.spark.scale.failures import explained
from whence.spark.sources.numbering import Ints, Numbering

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from whence.spark.progress import Count
    from whence.store.blobs.local import Blobs

FILE = 1 << 25
"""The bytes of rows and ids, in memory, that make one file. A task keeps this much in memory."""

WRITTEN = "task long, piece long, rows long, hash string, size long, ids string, ids_size long, pairs array<long>"


@dataclass(frozen=True, slots=True)
class Use:
    """The column of a frame with the ids of one use of a source: one id per row, or a list (`many`)."""

    column: int
    many: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of rows that a task wrote, and the file of their ids. `pairs` counts the ids of each use."""

    first: int  # the number of its first row
    rows: int
    hash: str
    size: int
    ids: str
    ids_size: int
    pairs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A source: its uses, the numbering of its rows, and its number of columns."""

    uses: tuple[int, ...]
    numbering: Numbering
    columns: int


def write_rows(
    frame: DataFrame, shown: Sequence[int], uses: Sequence[Use], blobs: Blobs, count: Count | None = None
) -> list[Piece]:
    """Compute a frame and write it: the columns `shown` as files of rows, and the ids of each use as files of ids."""
    named = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    run = _writing(tuple(shown), tuple(uses), blobs, secrets.token_hex(8), FILE, count)
    with explained("materializing"):
        rows = named.mapInArrow(run, WRITTEN).collect()
    pieces, first = [], 0
    for row in sorted(rows, key=lambda row: (row["task"], row["piece"])):
        pieces.append(
            Piece(first, row["rows"], row["hash"], row["size"], row["ids"], row["ids_size"], tuple(row["pairs"]))
        )
        first += row["rows"]
    require_seen(blobs, [(each.hash, each.size) for each in pieces] + [(each.ids, each.ids_size) for each in pieces])
    return pieces


def _writing(
    shown: tuple[int, ...], uses: tuple[Use, ...], blobs: Blobs, job: str, most: int, count: Count | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow`: writes batches of rows to files, and yields a report of each."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        for piece, held in enumerate(_held(batches, most)):
            table = pa.Table.from_batches(held)
            rows = _parquet(table.select(list(shown)))
            ids = _arrow(table.select([use.column for use in uses]), job)
            for data in (rows, ids):
                blobs.put(hash_of(data), data)
            if count is not None:
                count.add(1)
            pairs = [_how_many(table.column(use.column), use.many) for use in uses]
            said = (task, piece, table.num_rows, hash_of(rows), len(rows), hash_of(ids), len(ids), pairs)
            fields = [field.split() for field in WRITTEN.split(", ")]
            kinds = {"long": pa.int64(), "string": pa.string(), "array<long>": pa.list_(pa.int64())}
            columns = [pa.array([each], kinds[kind]) for each, (_, kind) in zip(said, fields, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, [name for name, _ in fields])

    return run


def _held(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[list[pa.RecordBatch]]:
    """Group nonempty batches into lists that are large enough for a file."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= most:
            yield held
            held, size = [], 0
    if held:
        yield held


def _parquet(table: pa.Table) -> bytes:
    """Rows in the form in which the log stores outputs: columns c0, c1 ..."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    names = [f"c{place}" for place in range(table.num_columns)]
    pq.write_table(table.rename_columns(names), sink, compression="zstd")
    return bytes(sink.getvalue())


def _arrow(table: pa.Table, job: str) -> bytes:
    """Ids as an Arrow file. It contains the job's name, so that no other job writes or removes the same file."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = table.rename_columns([f"u{place}" for place in range(table.num_columns)])
    table = table.replace_schema_metadata({"job": job})
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(table)
    return bytes(sink.getvalue())


def _how_many(column: pa.ChunkedArray, many: bool) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(pc.list_value_length(column)).as_py() or 0) if many else len(column) - column.null_count


def pairs_of(column: pa.ChunkedArray, many: bool) -> tuple[Ints, Ints]:
    """Indices in a column of ids, and the ids at these indices. NULL has no ids.

    >>> import pyarrow as pa
    >>> [each.tolist() for each in pairs_of(pa.chunked_array([[[7, 9], None, [], [5]]]), many=True)]
    [[0, 0, 3], [7, 9, 5]]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not many:
        places = pc.indices_nonzero(pc.is_valid(column))
        return np.asarray(places.to_numpy(), np.int64), np.asarray(pc.drop_null(column).to_numpy(), np.int64)
    lists = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    parents, values = pc.list_parent_indices(lists), pc.list_flatten(lists)
    there = pc.is_valid(values)
    sides = pc.filter(parents, there), pc.filter(values, there)
    return np.asarray(sides[0].to_numpy(), np.int64), np.asarray(sides[1].to_numpy(), np.int64)


def stretches(pieces: Sequence[Piece], uses: Sequence[int], most: int) -> list[tuple[Piece, ...]]:
    """Assign pieces to tasks, in order, with about `most` ids of these uses for each task.

    >>> some = [Piece(0, 1, "", 0, "", 0, (n,)) for n in (3, 4, 0, 5, 9)]
    >>> [[each.pairs[0] for each in task] for task in stretches(some, [0], 8)]
    [[3, 4], [5], [9]]
    """
    found: list[tuple[Piece, ...]] = []
    held: list[Piece] = []
    count = 0
    for piece in pieces:
        here = sum(piece.pairs[use] for use in uses)
        if held and here and count + here > most:
            found.append(tuple(held))
            held, count = [], 0
        if here:
            held.append(piece)
            count += here
    return [*found, tuple(held)] if held else found


def relations(
    spark: SparkSession, pieces: Sequence[Piece], uses: Sequence[Use], columns: int, sources: Mapping[str, Stored],
    blobs: Blobs, count: Count | None = None,
) -> dict[str, Relation]:  # fmt: skip
    """Return the relation between the rows of the output and those of each source. `columns` is the number of output
    columns. One job makes all relations.
    """
    rows = sum(piece.rows for piece in pieces)
    names = list(sources)
    work = [(name, task) for name in names for task in stretches(pieces, sources[name].uses, PART)]
    done: dict[str, list[PartReport]] = {name: [] for name in names}
    if work:
        every = tuple(uses)

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            for batch in batches:
                for number in batch.column(0).to_pylist():
                    name, task = work[number]
                    source = sources[name]
                    pairs = _pairs(task, source, every, blobs)
                    sides = (columns, source.columns)
                    for each in parts_of(pairs, (rows,), (source.numbering.rows,), blobs, columns=sides):
                        if count is not None:
                            count.add(1)
                        yield reported(each, pa.array([names.index(name)], pa.int64()))

        tasks = spark.range(0, len(work), 1, len(work))
        with explained("materializing"):
            for row in tasks.mapInArrow(run, f"source long, {REPORT}").collect():
                done[names[row["source"]]].append(read_report(row))
    entries = [each.entry for every_done in done.values() for each in every_done if each.entry is not None]
    require_seen(blobs, [(each.name, each.size) for each in entries])
    return {name: _relation(done[name], (rows, columns), sources[name], blobs) for name in names}


def _pairs(task: Iterable[Piece], source: Stored, uses: tuple[Use, ...], blobs: Blobs) -> Iterator[tuple[Ints, Ints]]:
    import pyarrow as pa

    for piece in task:
        with pa.memory_map(str(blobs.local(piece.ids, "the ids of source rows"))) as file:
            table = pa.ipc.open_file(file).read_all()
        for use in source.uses:
            places, ids = pairs_of(table.column(use), uses[use].many)
            yield places + piece.first, source.numbering.numbers(ids)


def _relation(done: list[PartReport], shape: tuple[int, int], source: Stored, blobs: Blobs) -> Relation:
    into = source.numbering.rows, source.columns
    made: Relation | list[Entry] = finished(done, shape, into, blobs)
    if isinstance(made, Relation):
        return made
    return PartedRelation(index_of(shape, into, made), blobs, "the lineage of rows")
