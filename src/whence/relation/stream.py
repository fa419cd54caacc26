"""Compressing what may not fit in memory: sorted chunks as they come, others through sorted runs on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whence import _core
from whence.relation import sources
from whence.relation._relation import Relation, as_shape
from whence.relation.compress import (
    FEW_ROWS,
    Keys,
    choose,
    encode,
    finish,
    fits_key,
    fold,
    improve,
    new_folder,
    out_of_range,
)
from whence.relation.layout import Layout, Shape, natural
from whence.relation.sources import Tuples

RUN = 1 << 24
"""How many tuples are sorted together before they go to disk, and merged together on the way back."""


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
    if sources.is_stream(raw):
        table = _stream(sources.chunks(raw, width), out, into)
    else:
        table = fold(sources.read(raw, width), out, into)
    return Relation(out, into, table)


def _stream(chunks: Iterator[Tuples], out_shape: Shape, in_shape: Shape) -> _core.Table:
    first = next((chunk for chunk in chunks if len(chunk)), None)
    if first is None:
        return fold(np.empty((0, len(out_shape) + len(in_shape)), np.int64), out_shape, in_shape)
    layout = natural(out_shape, in_shape)
    folder = new_folder(layout)
    fed = _feed(folder, first, layout, out_shape, in_shape)
    if not fits_key(out_shape, in_shape):
        return _wide(folder, first, fed, chunks, out_shape, in_shape)
    if fed == "unsorted" or folder.rows > FEW_ROWS:
        keys = encode(first, out_shape, in_shape)
        layout = choose(keys[: _core.sort_unique(keys)], out_shape, in_shape)
        if fed == "unsorted" or layout.order != natural(out_shape, in_shape).order:
            with Spool(layout, out_shape, in_shape) as spool:
                spool.add(first)
                for chunk in chunks:
                    spool.add(chunk)
                return spool.table()
        if layout != natural(out_shape, in_shape):
            folder = new_folder(layout)  # sorted under the shapes is sorted under any views of them
            _feed(folder, first, layout, out_shape, in_shape)
    for chunk in chunks:
        if _feed(folder, chunk, layout, out_shape, in_shape) == "unsorted":
            return _rest(folder, layout, chunk, chunks, out_shape, in_shape)
    return finish(folder, out_shape, in_shape, layout)


def _feed(folder: _core.Folder, chunk: Tuples, layout: Layout, out_shape: Shape, in_shape: Shape) -> str:
    if layout == natural(out_shape, in_shape):
        fed = folder.feed(chunk)
        if fed == "out_of_range":
            raise out_of_range(chunk[folder.at], out_shape, in_shape)
        return fed
    return folder.feed_keys(encode(chunk, out_shape, in_shape), layout.dims)


def _rest(
    folder: _core.Folder, layout: Layout, chunk: Tuples, chunks: Iterator[Tuples], out_shape: Shape, in_shape: Shape
) -> _core.Table:
    """The order broke: what came before is a table already, what comes is sorted on disk and added to it."""
    table = finish(folder, out_shape, in_shape, layout)
    with Spool(layout, out_shape, in_shape) as spool:
        spool.add(chunk)  # holds tuples that the folder took before it met the break: they are left out as known
        for later in chunks:
            spool.add(later)
        more = new_folder(layout)
        for keys in spool.merged():
            known = table.contains(keys)
            more.feed_keys(np.ascontiguousarray(keys[~known]), layout.dims)
    more.into(table)
    return table


def _wide(
    folder: _core.Folder, first: Tuples, fed: str, chunks: Iterator[Tuples], out_shape: Shape, in_shape: Shape
) -> _core.Table:
    """Too many possible tuples to number them: sorted chunks stream, others are gathered in memory."""
    layout = natural(out_shape, in_shape)
    kept = [first]
    for chunk in chunks:
        kept.append(chunk)
        if fed == "ok":
            fed = _feed(folder, chunk, layout, out_shape, in_shape)
            if fed == "ok":
                kept = []
                continue
            kept = [finish(folder, out_shape, in_shape, layout).expand(), chunk]
    return finish(folder, out_shape, in_shape, layout) if fed == "ok" else fold(np.vstack(kept), out_shape, in_shape)


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

    def table(self) -> _core.Table:
        """All tuples as a table."""
        folder = new_folder(self._layout)
        if not self._runs and self._layout == natural(self._out_shape, self._in_shape):
            keys = self._sorted()
            folder.feed_keys(keys, self._layout.dims)
            folder.close()
            return improve(folder, keys, self._out_shape, self._in_shape)
        for keys in self.merged():
            folder.feed_keys(keys, self._layout.dims)
        return finish(folder, self._out_shape, self._in_shape, self._layout)
