"""Compress tuples that may not fit into memory: sorted chunks directly, others after sorting them on disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from whence import _core
from whence.errors import BadType, TooLarge
from whence.relation import sources
from whence.relation._relation import EXPAND_LIMIT, Relation
from whence.relation.codec import Encoded, Part, assemble
from whence.relation.codec import encode as encode_part
from whence.relation.compress import (
    FEW_ROWS,
    Keys,
    choose,
    encode,
    finish,
    fits_key,
    fold,
    fold_keys,
    new_folder,
    out_of_range,
)
from whence.relation.layout import Layout, Shape, natural
from whence.relation.sources import Tuples
from whence.relation.stored import Stored
from whence.relation.views import as_shape

RUN = 1 << 24
"""The number of tuples that are sorted together before they are written to disk, and merged together afterwards."""

DECIDE = 1 << 16
"""The number of tuples from which the layout of a stream is chosen."""

SPILL = 1 << 21
"""The number of finished rows that are kept in memory before they are encoded."""


def compress(
    raw: Any,
    out_shape: Sequence[int] | int,
    in_shape: Sequence[int] | int,
    *,
    engine: str = "auto",
    path: str | os.PathLike[str] | None = None,
) -> Relation:
    """The relation of raw tuples: each row an output index followed by an input index.

    `raw` is an integer array (n, axes of the output + axes of the input), an Arrow table, a pandas frame, the path of a
    Parquet file, or an iterator of such chunks, which together may be larger than memory. The order of tuples does not
    matter, and duplicates collapse.

    A Spark frame of any size is compressed on Spark if it is large, or with engine="spark"; what a few boxes do not
    hold is written to the directory `path` in parts.

    >>> compress([[0, 1], [1, 0]], out_shape=2, in_shape=2).to_array().tolist()
    [[0, 1], [1, 0]]
    """
    if sources.module_of(raw) == "pyspark":
        # The package for Spark frames is imported by name, because lower layers do not import higher ones.
        found: Relation = import_module("whence.spark.scale").compress_frame(
            raw, out_shape, in_shape, engine=engine, path=path
        )
        return found
    if engine not in ("auto", "local") or path is not None:
        raise BadType("`engine` and `path` are for Spark frames; save the relation with .save(path)")
    out, into = as_shape(out_shape), as_shape(in_shape)
    width = len(out) + len(into)
    held: _core.Table | Stored
    if sources.is_stream(raw):
        held = _stream(sources.chunks(raw, width), out, into)
    else:
        held = fold(sources.read(raw, width), out, into)
    return Relation(out, into, held)


def _stream(chunks: Iterator[Tuples], out_shape: Shape, in_shape: Shape) -> _core.Table | Stored:
    held: list[Tuples] = []
    while sum(map(len, held)) < DECIDE and (chunk := next(chunks, None)) is not None:
        held.append(chunk.copy())  # its producer may reuse the array for the next chunk
    first = np.vstack(held) if held else np.empty((0, len(out_shape) + len(in_shape)), np.int64)
    if len(first) < DECIDE:
        return fold(first, out_shape, in_shape)
    plain = natural(out_shape, in_shape)
    sink = Sink(plain, out_shape, in_shape)
    fed = sink.feed(first)
    if not fits_key(out_shape, in_shape):
        return _wide(sink, first, fed, chunks, out_shape, in_shape)
    layout = plain
    if fed == "ok" and sink.rows > FEW_ROWS:
        layout = choose(encode(first, out_shape, in_shape), out_shape, in_shape)
        if layout.order == plain.order and layout != plain:
            sink = Sink(layout, out_shape, in_shape)  # sorted in the shapes means sorted in any view of them
            sink.feed(first)
    if fed == "unsorted" or layout.order != plain.order:
        return _sorted_on_disk(chain([first], chunks), out_shape, in_shape)
    for chunk in chunks:
        if sink.feed(chunk) == "unsorted":
            # Earlier tuples are in rows already, and so are the first tuples of this chunk: they are left out as known.
            known = sink.stored().table()
            sink = Sink(layout, out_shape, in_shape, sink.encoded())
            with Spool() as spool:
                for later in chain([chunk], chunks):
                    spool.add(encode(later, out_shape, in_shape))
                for keys in spool.merged():
                    sink.feed_keys(np.ascontiguousarray(keys[~known.contains(keys)]))
            break
    return sink.finish()


def _sorted_on_disk(chunks: Iterable[Tuples], out_shape: Shape, in_shape: Shape) -> _core.Table | Stored:
    """Sort first, because only a range of sorted tuples shows which layout is best. For another order, sort again."""
    with Spool() as spool:
        for chunk in chunks:
            spool.add(encode(chunk, out_shape, in_shape))
        if not spool.on_disk:
            return fold_keys(next(spool.merged()), out_shape, in_shape)
        blocks = spool.merged()
        first = next(blocks)
        layout = choose(first, out_shape, in_shape)
        sink = Sink(layout, out_shape, in_shape)
        if layout.order == tuple(range(len(layout.order))):
            for keys in chain([first], blocks):
                sink.feed_keys(keys)
            return sink.finish()
        with Spool() as again:
            for keys in chain([first], blocks):
                _core.rekey(keys, layout.view, layout.order)
                again.add(keys)
            for keys in again.merged():
                sink.feed_keys(keys)
    return sink.finish()


def _wide(
    sink: Sink, first: Tuples, fed: str, chunks: Iterator[Tuples], out_shape: Shape, in_shape: Shape
) -> _core.Table | Stored:
    """Compress with too many possible tuples for 64-bit keys: sorted chunks are streamed, others are collected in
    memory.
    """
    gathered = [first] if fed != "ok" else []
    count = len(first)
    for chunk in chunks:
        if fed == "ok" and (fed := sink.feed(chunk)) == "unsorted":
            known = Relation(out_shape, in_shape, sink.stored())
            count = known.count()
            _check_room(count, chunk.shape[1])
            gathered = [known.to_array()]
        if fed != "ok":
            count += len(chunk)
            _check_room(count, chunk.shape[1])
            gathered.append(chunk.copy())  # its producer may reuse the array for the next chunk
    return sink.finish() if fed == "ok" else fold(np.vstack(gathered), out_shape, in_shape)


def _check_room(count: int, width: int) -> None:
    if count * width > EXPAND_LIMIT:
        raise TooLarge(
            f"{count:,} unsorted tuples of {width} integers would have to be sorted in memory, because the two arrays "
            "have 2^63 or more possible tuples; give the chunks in sorted order (output index first)"
        )


class Sink:
    """Folds sorted tuples into rows: in memory if they are few, encoded if they are many."""

    def __init__(self, layout: Layout, out_shape: Shape, in_shape: Shape, encoded: Sequence[Encoded] = ()) -> None:
        self.layout, self.out_shape, self.in_shape = layout, out_shape, in_shape
        self._is_natural = layout == natural(out_shape, in_shape)
        self._folder = new_folder(layout)
        self._encoded = list(encoded)
        self._spilled = 0

    @property
    def rows(self) -> int:
        """The number of finished rows."""
        return self._folder.rows

    def feed(self, tuples: Tuples) -> str:
        """Add tuples in the order of the shapes; return "unsorted" if they are not sorted."""
        if not self._is_natural:
            return self.feed_keys(encode(tuples, self.out_shape, self.in_shape))
        fed = self._folder.feed(tuples)
        if fed == "out_of_range":
            raise out_of_range(tuples[self._folder.at], self.out_shape, self.in_shape)
        self._spill()
        return fed

    def feed_keys(self, keys: Keys) -> str:
        """Add tuples as keys in the layout's order."""
        fed = self._folder.feed_keys(keys, self.layout.dims)
        self._spill()
        return fed

    def _spill(self) -> None:
        if self._folder.rows - self._spilled >= SPILL:
            table = self._table()
            self._folder.spill(table)
            self._encode(table)

    def _table(self) -> _core.Table:
        return _core.Table(self.out_shape, self.in_shape, self.layout.out_view, self.layout.in_view)

    def _encode(self, table: _core.Table) -> None:
        self._spilled = self._folder.rows
        for rows, axes, lo, width in table.parts():
            self._encoded.append(encode_part(Part(rows, tuple(axes), tuple(lo), tuple(width))))

    def encoded(self) -> list[Encoded]:
        """Return all rows, encoded."""
        table = self._table()
        self._folder.into(table)
        self._encode(table)
        return self._encoded

    def stored(self) -> Stored:
        """Return all rows as a file in memory."""
        views = self.layout.out_view, self.layout.in_view
        return Stored(assemble(self.out_shape, self.in_shape, *views, self.encoded()), "the stream")

    def finish(self) -> _core.Table | Stored:
        """Return all rows: in memory if none had to be encoded."""
        return self.stored() if self._encoded else finish(self._folder, self.out_shape, self.in_shape, self.layout)


class Spool:
    """Sorts keys that may not fit into memory: they are written to disk in sorted runs, and merged in order."""

    def __init__(self) -> None:
        self._held: list[Keys] = []
        self._count = 0
        self._runs: list[Path] = []
        self._directory = tempfile.TemporaryDirectory(prefix="whence-")

    @property
    def on_disk(self) -> bool:
        """Whether there were too many keys for memory."""
        return bool(self._runs)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()

    def add(self, keys: Keys) -> None:
        """Add keys."""
        self._held.append(keys)
        self._count += len(keys)
        if self._count >= RUN:
            self._write()

    def _write(self) -> None:
        path = Path(self._directory.name) / f"run-{len(self._runs)}"
        self._sorted().tofile(path)
        self._runs.append(path)

    def _sorted(self) -> Keys:
        keys = np.concatenate(self._held) if self._held else np.empty(0, np.uint64)
        self._held, self._count = [], 0
        return keys[: _core.sort_unique(keys)]

    def merged(self) -> Iterator[Keys]:
        """Yield all keys, ascending and without duplicates, in arrays of about RUN."""
        if not self._runs:
            yield self._sorted()
            return
        self._write()
        runs = [np.memmap(path, np.uint64, "r") for path in self._runs if path.stat().st_size]
        at = [0] * len(runs)
        step = max(1, RUN // len(runs))
        while any(i < len(run) for i, run in zip(at, runs, strict=True)):
            # Up to the smallest of the last keys of these slices, no run has further keys.
            bound = min(run[min(i + step, len(run)) - 1] for i, run in zip(at, runs, strict=True) if i < len(run))
            taken = []
            for j, run in enumerate(runs):
                stop = at[j] + int(np.searchsorted(run[at[j] : at[j] + step], bound, side="right"))
                taken.append(np.array(run[at[j] : stop]))
                at[j] = stop
            keys = np.concatenate(taken)
            yield keys[: _core.sort_unique(keys)]
