"""The work of one task of a cluster: make parts from the tuples of one range of the output.

This module is independent of Spark. A task gets flat indices of cells, in batches. It sorts them, on disk if there are
many, folds them with the compiled core, and writes each part that has more than a few boxes. It returns one small
`PartReport` for each part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from whence import _core
from whence.relation._relation import Relation
from whence.relation.blocks import Ints
from whence.relation.compress import Keys, choose, fed, fits_key, fold, improve, sketch
from whence.relation.layout import Layout, Shape, natural
from whence.relation.parts.gluing import glued
from whence.relation.parts.index import Entry, index_of
from whence.relation.parts.places import Place
from whence.relation.parts.writing import write_part
from whence.relation.stream import Spool
from whence.relation.tables import over_columns

PART = 1 << 20
"""The approximate number of tuples of a part."""

ALIKE = 64
"""The layout of an irregular range is used for this many ranges, one after the other."""

_layouts: dict[tuple[Shape, Shape], tuple[Layout, Layout, int]] = {}
"""The layout that was chosen last, the one that a sketch suggested, and for how many more ranges it is used."""

FEW_BOXES = 64
"""A part with at most this many boxes is not written, but reported and merged with its neighbours."""


@dataclass(frozen=True, slots=True)
class PartReport:
    """A part that was written, or the bytes of a small one that was not, and its number of tuples."""

    tuples: int
    entry: Entry | None = None
    small: bytes | None = None


def parts_of(
    batches: Iterable[tuple[Ints, Ints]],
    out_shape: Shape,
    in_shape: Shape,
    place: Place,
    *,
    ordered: bool = False,
    few: int = FEW_BOXES,
    columns: tuple[int, int] | None = None,
) -> Iterator[PartReport]:
    """Make parts from batches of tuples: flat indices of output cells, and of the input cells they came from.

    Tasks share no tuple if each has its own range of output cells, or of (output, input) pairs. `ordered` says that the
    pairs are in ascending order, which is required if the shapes have 2^63 pairs or more. A part of up to `few` boxes
    is reported, not written.

    With `columns`, the shapes are the numbers of rows of two tables with so many columns, and the parts are relations
    of the tables: every cell of a row comes from every cell of the other.
    """
    chunks: Iterator[Keys] | Iterator[Ints] = _pairs(batches, ordered)
    if fits_key(out_shape, in_shape):
        inner = np.uint64(math.prod(in_shape))
        keys = (outs.astype(np.uint64) * inner + ins.astype(np.uint64) for outs, ins in batches)
        chunks = _stretches(keys)
    return _parts(chunks, out_shape, in_shape, place, few, columns)


def parts_of_keys(
    batches: Iterable[Keys],
    out_shape: Shape,
    in_shape: Shape,
    place: Place,
    *,
    few: int = FEW_BOXES,
) -> Iterator[PartReport]:
    """Make parts from tuples that are one key each: flat output index * number of input cells + flat input index.

    The shapes must have fewer than 2^63 pairs.
    """
    return _parts(_stretches(batches), out_shape, in_shape, place, few, None)


def _parts(
    chunks: Iterable[Keys | Ints], out_shape: Shape, in_shape: Shape, place: Place, few: int,
    columns: tuple[int, int] | None,
) -> Iterator[PartReport]:  # fmt: skip
    for chunk in chunks:
        made = _made(chunk, out_shape, in_shape)
        if columns is not None:
            made = over_columns(made, *columns)
        yield made_part(made, place, few)


def made_part(made: Relation, place: Place, few: int = FEW_BOXES) -> PartReport:
    """Write a part if it has more than a few boxes, and return its report."""
    if len(made) <= few:
        return PartReport(made.count(), small=made.to_bytes())
    return PartReport(made.count(), entry=write_part(place, made))


def finished(done: Iterable[PartReport], out_shape: Shape, in_shape: Shape, place: Place) -> Relation | list[Entry]:
    """Return one relation if a few boxes hold all parts; else write all parts, and return their entries."""
    small, entries = [], []
    for each in done:
        if each.entry is not None:
            entries.append(each.entry)
        elif each.small is not None:
            small.append(Relation.from_bytes(each.small, "a part"))
    whole = glued(small)
    if not entries and sum(map(len, whole)) > 1 and sum(each.count() for each in whole) <= PART:
        tuples = np.concatenate([each.to_array() for each in whole])  # as few as one task has
        return Relation(out_shape, in_shape, fold(tuples, out_shape, in_shape))
    if not entries and len(whole) <= 1:
        return whole[0] if whole else Relation.empty(out_shape, in_shape)
    written = [write_part(place, each) for each in whole]
    return list(index_of(out_shape, in_shape, [*entries, *(each for each in written if each is not None)]).entries)


def _made(chunk: Keys | Ints, out_shape: Shape, in_shape: Shape) -> Relation:
    if chunk.ndim == 1:
        return Relation(out_shape, in_shape, _folded(chunk, out_shape, in_shape))  # type: ignore[arg-type]  # one axis: keys
    sides = ((chunk[:, 0], out_shape), (chunk[:, 1], in_shape))
    index = [np.stack(np.unravel_index(flat, shape), axis=1) for flat, shape in sides if shape]
    tuples = np.ascontiguousarray(np.hstack(index), dtype=np.int64)
    return Relation(out_shape, in_shape, fold(tuples, out_shape, in_shape))


def _folded(keys: Keys, out_shape: Shape, in_shape: Shape) -> _core.Table:
    """Fold a range. Choosing a layout takes longer than folding, so irregular ranges share one while their
    sketches suggest the same.
    """
    folder = fed(keys, natural(out_shape, in_shape))
    if len(keys) < PART // 8 or 2 * folder.rows < len(keys):
        return improve(folder, keys, out_shape, in_shape)
    shapes, guess = (out_shape, in_shape), sketch(keys, out_shape, in_shape)
    layout, before, left = _layouts.pop(shapes, (None, None, 0))
    if layout is None or before != guess or not left:
        layout, left = choose(keys, out_shape, in_shape), ALIKE
        _layouts.clear()  # a long-running process sees many relations
    _layouts[shapes] = layout, guess, left - 1
    return improve(folder, keys, out_shape, in_shape, layout)


def _stretches(batches: Iterable[Keys]) -> Iterator[Keys]:
    """Yield keys, sorted and without duplicates, in ranges of about a part."""
    with Spool() as spool:
        for some in batches:
            if len(some):
                spool.add(some)
        for keys in spool.merged():
            if len(keys):
                for piece in np.array_split(keys, -(-len(keys) // (2 * PART))):
                    yield np.ascontiguousarray(piece)


def _pairs(batches: Iterable[tuple[Ints, Ints]], ordered: bool) -> Iterator[Ints]:
    """Yield sorted pairs without duplicates, in ranges of about a part; unordered pairs must fit into memory."""
    held: list[Ints] = []
    count = 0
    last: Ints | None = None
    for outs, ins in batches:
        held.append(np.stack([outs, ins], axis=1).astype(np.int64))
        count += len(outs)
        if ordered and count >= PART:
            some = _after(np.concatenate(held), last)
            held, count = [], 0
            if len(some):
                last = some[-1]
                yield some
    if held and len(some := _after(np.concatenate(held), last)):
        yield some


def _after(pairs: Ints, last: Ints | None) -> Ints:
    """Return the pairs, sorted and without duplicates, except the last one of the range before."""
    found = np.unique(pairs, axis=0)
    return found[1:] if last is not None and len(found) and np.array_equal(found[0], last) else found
