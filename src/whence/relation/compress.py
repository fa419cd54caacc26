"""Compress raw tuples to rows: ProvRC with the same rule for every axis, in the layout that needs the fewest rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.errors import OutOfRange
from whence.relation.codec import Part, dump
from whence.relation.layout import Layout, Shape, candidates, natural
from whence.relation.sources import Tuples

FEW_ROWS = 8
"""With fewer rows than this, no better layout is tried."""

SAMPLE = 1 << 14
"""The number of tuples on which a layout is tried."""

CLEARLY = 0.95
"""Another layout is used only if it costs less than this fraction of the natural one."""

ROW_COST = 1
"""The cost of a row in addition to its bytes, because each row takes time in questions."""

MORE_ROWS = 1.05
"""A smaller layout may have at most this many times the rows of the natural one."""

KEY_LIMIT = 1 << 63

Keys = NDArray[np.uint64]

FEW_TUPLES = 1 << 12
"""The number of tuples in a sample that shows how many rows a layout needs."""

_draft = ContextVar("draft", default=False)


@contextmanager
def drafting(draft: bool = True) -> Iterator[None]:
    """Within the block, relations are intermediate: layouts are compared by rows, and not by bytes on disk."""
    before = _draft.set(draft)
    try:
        yield
    finally:
        _draft.reset(before)


def fold(tuples: Tuples, out_shape: Shape, in_shape: Shape) -> _core.Table:
    """Fold all tuples of a relation into rows; the tuples may be in any order, with duplicates."""
    layout = natural(out_shape, in_shape)
    folder = new_folder(layout)
    fed = folder.feed(tuples)
    if fed == "out_of_range":
        raise out_of_range(tuples[folder.at], out_shape, in_shape)
    if fed == "unsorted" and not fits_key(out_shape, in_shape):
        # There are too many possible tuples for 64-bit keys: sort the tuples themselves.
        tuples, folder = sorted_rows(tuples), new_folder(layout)
        if folder.feed(tuples) == "out_of_range":
            raise out_of_range(tuples[folder.at], out_shape, in_shape)
        fed = "ok"
    if fed == "ok":
        folder.close()
        if folder.rows <= FEW_ROWS or not fits_key(out_shape, in_shape):
            return finish(folder, out_shape, in_shape, layout)
        return improve(folder, encode(tuples, out_shape, in_shape), out_shape, in_shape)
    keys = encode(tuples, out_shape, in_shape)
    return fold_keys(keys[: _core.sort_unique(keys)], out_shape, in_shape)


def fold_keys(keys: Keys, out_shape: Shape, in_shape: Shape) -> _core.Table:
    """Fold tuples, given as sorted keys, into rows in the best layout."""
    return improve(fed(keys, natural(out_shape, in_shape)), keys, out_shape, in_shape)


def improve(
    folder: _core.Folder, keys: Keys, out_shape: Shape, in_shape: Shape, known: Layout | None = None
) -> _core.Table:
    """Return the table of a folder that has all tuples in the natural layout, or of a better layout if there is one.

    A `known` good layout is used without comparing it with others.
    """
    layout = natural(out_shape, in_shape)
    if folder.rows > FEW_ROWS:
        best = known or choose(keys, out_shape, in_shape)
        if best != layout:
            folder, layout = fed(keys, best), best
    return finish(folder, out_shape, in_shape, layout)


def choose(keys: Keys, out_shape: Shape, in_shape: Shape) -> Layout:
    """Return the layout in which a sample costs the least; the natural one unless another is clearly better."""
    samples = list(_samples(keys, out_shape, in_shape))
    if draft := _draft.get():
        samples = [each[:FEW_TUPLES] for each in samples[:1]]

    def costs(layout: Layout) -> list[tuple[float, int]]:
        """Return for each sample the cost per tuple, and the rows."""
        out = []
        for some in samples:
            folder = fed(some, layout)
            if draft:
                out.append((folder.rows / len(some), folder.rows))
                continue
            table = finish(folder, out_shape, in_shape, layout)
            parts = [Part(rows, tuple(axes), tuple(lo), tuple(width)) for rows, axes, lo, width in table.parts()]
            size = len(dump(out_shape, in_shape, layout.out_view, layout.in_view, parts))
            out.append(((size + ROW_COST * table.rows) / len(some), table.rows))
        return out

    best = natural(out_shape, in_shape)
    plain = costs(best)
    least = min(cost for cost, _ in plain) * CLEARLY
    for layout in candidates(out_shape, in_shape):
        tried = costs(layout)
        (cost, rows), (_, before) = min(zip(tried, plain, strict=True))
        # Regular rows need few bytes even if they are many, but a question still reads each.
        if cost < least and rows <= MORE_ROWS * before:
            best, least = layout, cost
    return best


def sketch(keys: Keys, out_shape: Shape, in_shape: Shape) -> Layout:
    """Return the layout in which a few tuples from the middle need the fewest rows: a quick guess."""
    middle = len(keys) // 2
    with drafting():
        return choose(keys[max(0, middle - FEW_TUPLES // 2) : middle + FEW_TUPLES // 2], out_shape, in_shape)


def _samples(keys: Keys, out_shape: Shape, in_shape: Shape) -> Iterator[Keys]:
    """Yield about SAMPLE tuples of one window of the output, and as many of one window of the input.

    In each sample, the side of the window is denser than in the whole, which favours layouts that begin with it. So a
    layout is judged by the better of the two.
    """
    if len(keys) <= SAMPLE:
        yield keys
        return
    middle = len(keys) // 2
    yield keys[middle - SAMPLE // 2 : middle + SAMPLE // 2]
    in_size = math.prod(in_shape)
    share = max(1, in_size * SAMPLE // len(keys))
    axis = next((i for i, d in enumerate(in_shape) if d > 1), 0)
    grain = math.prod(in_shape[axis + 1 :])  # complete slices, if one is not too much
    if grain <= 2 * share:
        share = max(grain, share // grain * grain)
    start = in_size // 2 // grain * grain
    inner = keys % np.uint64(in_size)
    picked = keys[(inner >= start) & (inner < min(start + share, in_size))]
    if len(picked):
        yield picked[: 4 * SAMPLE]


def encode(tuples: Tuples, out_shape: Shape, in_shape: Shape) -> Keys:
    """Encode each tuple as one integer: its flat index among all possible tuples."""
    keys = np.empty(len(tuples), dtype=np.uint64)
    good = _core.encode(tuples, out_shape + in_shape, keys)
    if good < len(tuples):
        raise out_of_range(tuples[good], out_shape, in_shape)
    return keys


def fits_key(out_shape: Shape, in_shape: Shape) -> bool:
    """Whether the key of every possible tuple is below 2^63."""
    return math.prod(out_shape) * math.prod(in_shape) < KEY_LIMIT


def sorted_rows(tuples: Tuples) -> Tuples:
    """Return the tuples in lexicographic order, without duplicates."""
    return np.unique(tuples, axis=0)


def out_of_range(row: NDArray[Any], out_shape: Shape, in_shape: Shape) -> OutOfRange:
    """Return the error for a tuple that is outside one of the arrays."""
    values = [int(x) for x in row]
    sides = (("output", values[: len(out_shape)], out_shape), ("input", values[len(out_shape) :], in_shape))
    for side, index, shape in sides:
        if any(not 0 <= x < d for x, d in zip(index, shape, strict=True)):
            hint = "; indices count from 0 and are not negative" if min(index) < 0 else ""
            return OutOfRange(f"{side} index {tuple(index)} is outside shape {shape}{hint}")
    return OutOfRange(f"tuple {tuple(values)} is outside {out_shape} <- {in_shape}")


def new_folder(layout: Layout) -> _core.Folder:
    """Return a folder for tuples in a layout's order."""
    return _core.Folder(layout.dims, layout.order)


def fed(keys: Keys, layout: Layout) -> _core.Folder:
    """Return a folder that was fed all of the sorted tuples."""
    if layout.order != tuple(range(len(layout.order))):
        keys = keys.copy()
        _core.rekey(keys, layout.view, layout.order)
        _core.sort_unique(keys)
    folder = new_folder(layout)
    folder.feed_keys(keys, layout.dims)
    folder.close()
    return folder


def finish(folder: _core.Folder, out_shape: Shape, in_shape: Shape, layout: Layout) -> _core.Table:
    """Return the table of all tuples that a folder was fed."""
    table = _core.Table(out_shape, in_shape, layout.out_view, layout.in_view)
    folder.into(table)
    return table
