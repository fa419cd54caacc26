"""Compressing what may not fit in memory: sorted chunks as they come, others through sorted runs on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from whence import _core
from whence.relation import sources
from whence.relation._relation import Relation, as_shape
from whence.relation.codec import Encoded, Part, assemble
from whence.relation.codec import encode as encode_part
from whence.relation.compress import FEW_ROWS, Keys, choose, encode, finish, fits_key, fold, new_folder, out_of_range
from whence.relation.layout import Layout, Shape, natural
from whence.relation.sources import Tuples
from whence.relation.stored import Stored

RUN = 1 << 24
"""How many tuples are sorted together before they go to disk, and merged together on the way back."""

DECIDE = 1 << 16
"""How many tuples are looked at before the layout of a stream is settled."""

SPILL = 1 << 21
"""How many finished rows are held before they are encoded."""


def compress(raw: Any, out_shape: Sequence[int] | int, in_shape: Sequence[int] | int) -> Relation:
    """The relation of raw tuples: each row an output index followed by an input index.

    `raw` is an integer array (n, axes of the output + axes of the input), an Arrow table, a pandas frame, the path of a
    Parquet file, or an iterator of such chunks, which together may be larger than memory. The order of tuples does not
    matter, and duplicates collapse.

    >>> compress([[0, 1], [1, 0]], out_shape=2, in_shape=2).to_array().tolist()
    [[0, 1], [1, 0]]
    """
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
        held.append(chunk.copy())  # its producer may write the next one into the same array
    first = np.vstack(held) if held else np.empty((0, len(out_shape) + len(in_shape)), np.int64)
    if len(first) < DECIDE:
        return fold(first, out_shape, in_shape)
    plain = natural(out_shape, in_shape)
    sink = Sink(plain, out_shape, in_shape)
    fed = sink.feed(first)
    if not fits_key(out_shape, in_shape):
        return _wide(sink, first, fed, chunks, out_shape, in_shape)
    layout = plain
    if fed == "unsorted" or sink.rows > FEW_ROWS:
        keys = encode(first, out_shape, in_shape)
        layout = choose(keys[: _core.sort_unique(keys)], out_shape, in_shape)
        if fed == "unsorted" or layout.order != plain.order:
            return _sorted_on_disk(Sink(layout, out_shape, in_shape), [first], chunks)
        if layout != plain:  # sorted under the shapes is sorted under any views of them
            sink = Sink(layout, out_shape, in_shape)
            sink.feed(first)
    for chunk in chunks:
        if sink.feed(chunk) == "unsorted":
            # What came before is rows already. This chunk begins with tuples that are, too: they are left out as known.
            known = sink.stored().table()
            return _sorted_on_disk(Sink(layout, out_shape, in_shape, sink.encoded()), [chunk], chunks, known)
    return sink.finish()


def _sorted_on_disk(
    sink: Sink, first: list[Tuples], chunks: Iterator[Tuples], known: _core.Table | None = None
) -> _core.Table | Stored:
    with Spool(sink.layout, sink.out_shape, sink.in_shape) as spool:
        for chunk in chain(first, chunks):
            spool.add(chunk)
        for keys in spool.merged():
            sink.feed_keys(keys if known is None else np.ascontiguousarray(keys[~known.contains(keys)]))
    return sink.finish()


def _wide(
    sink: Sink, first: Tuples, fed: str, chunks: Iterator[Tuples], out_shape: Shape, in_shape: Shape
) -> _core.Table | Stored:
    """Too many possible tuples to number them: sorted chunks stream, others are gathered in memory."""
    kept = [first]
    for chunk in chunks:
        if fed == "ok" and (fed := sink.feed(chunk)) == "unsorted":
            kept = [sink.stored().table().expand()]
        if fed != "ok":
            kept.append(chunk)
    return sink.finish() if fed == "ok" else fold(np.vstack(kept), out_shape, in_shape)


class Sink:
    """Takes sorted tuples and keeps rows: in memory while they are few, encoded when they are many."""

    def __init__(self, layout: Layout, out_shape: Shape, in_shape: Shape, encoded: Sequence[Encoded] = ()) -> None:
        self.layout, self.out_shape, self.in_shape = layout, out_shape, in_shape
        self._plain = layout == natural(out_shape, in_shape)
        self._folder = new_folder(layout)
        self._encoded = list(encoded)
        self._spilled = 0

    @property
    def rows(self) -> int:
        """How many rows are finished."""
        return self._folder.rows

    def feed(self, tuples: Tuples) -> str:
        """Take tuples under the shapes; says "unsorted" if they stop being so."""
        if not self._plain:
            return self.feed_keys(encode(tuples, self.out_shape, self.in_shape))
        fed = self._folder.feed(tuples)
        if fed == "out_of_range":
            raise out_of_range(tuples[self._folder.at], self.out_shape, self.in_shape)
        self._spill()
        return fed

    def feed_keys(self, keys: Keys) -> str:
        """Take tuples as numbers in the layout's order."""
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
        """All rows, encoded."""
        table = self._table()
        self._folder.into(table)
        self._encode(table)
        return self._encoded

    def stored(self) -> Stored:
        """All rows, as a file in memory."""
        views = self.layout.out_view, self.layout.in_view
        return Stored(assemble(self.out_shape, self.in_shape, *views, self.encoded()), "the stream")

    def finish(self) -> _core.Table | Stored:
        """All rows: in memory if none had to be encoded."""
        return self.stored() if self._encoded else finish(self._folder, self.out_shape, self.in_shape, self.layout)


class Spool:
    """Tuples on disk as sorted runs of numbers, merged back in order."""

    def __init__(self, layout: Layout, out_shape: Shape, in_shape: Shape) -> None:
        self._layout = layout
        self._out_shape, self._in_shape = out_shape, in_shape
        self._held: list[Keys] = []
        self._count = 0
        self._runs: list[Path] = []
        self._directory = tempfile.TemporaryDirectory(prefix="whence-")

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()

    def add(self, tuples: Tuples) -> None:
        """Take more tuples, in any order."""
        for start in range(0, len(tuples), RUN):
            keys = encode(tuples[start : start + RUN], self._out_shape, self._in_shape)
            if self._layout != natural(self._out_shape, self._in_shape):
                _core.rekey(keys, self._layout.view, self._layout.order)
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
        """All numbers, ascending and each once, in arrays of about RUN."""
        if not self._runs:
            yield self._sorted()
            return
        self._write()
        runs = [np.memmap(path, np.uint64, "r") for path in self._runs if path.stat().st_size]
        at = [0] * len(runs)
        step = max(1, RUN // len(runs))
        while any(i < len(run) for i, run in zip(at, runs, strict=True)):
            # Up to the smallest of the last numbers seen, every run has shown all it has.
            bound = min(run[min(i + step, len(run)) - 1] for i, run in zip(at, runs, strict=True) if i < len(run))
            taken = []
            for j, run in enumerate(runs):
                stop = at[j] + int(np.searchsorted(run[at[j] : at[j] + step], bound, side="right"))
                taken.append(np.array(run[at[j] : stop]))
                at[j] = stop
            keys = np.concatenate(taken)
            yield keys[: _core.sort_unique(keys)]
