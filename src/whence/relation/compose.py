"""Composition: row by row where rows stay rows, and by joining tuples where they do not."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator

import numpy as np

from whence import _core
from whence.errors import TooLarge
from whence.relation._relation import EXPAND_LIMIT, Relation
from whence.relation.codec import Part
from whence.relation.columns import spread
from whence.relation.compress import fold_keys
from whence.relation.forest import Bound, Forest, NoForm, canonical, hull, join
from whence.relation.sources import Tuples
from whence.relation.stream import compress

MOST_PAIRS = 1 << 10
"""So many pairs of rows are joined one by one; more are joined as tuples."""

JOIN_CHUNK = 1 << 22


def compose(outer: Relation, inner: Relation) -> Relation:
    """C <- A from C <- B and B <- A."""
    if len(outer) * len(inner) <= MOST_PAIRS:
        try:
            return _by_rows(outer, inner)
        except NoForm:
            pass  # some rows do not stay rows when joined: their tuples are
    return _by_tuples(outer, inner)


def _by_rows(outer: Relation, inner: Relation) -> Relation:
    if outer._views[1] != inner._views[0]:
        raise NoForm
    out_view, in_view = outer._views[0], inner._views[1]
    count = len(out_view)
    middle: list[tuple[Hashable, Hashable]] = [(("b", i), ("B", i)) for i in range(len(inner._views[0]))]
    names = [("c", i) for i in range(count)] + [("a", i) for i in range(len(in_view))]
    inner_forests = list(_forests(inner, "B", "a"))
    found: list[Forest] = []
    for left in _forests(outer, "c", "b"):
        for right in inner_forests:
            found += join(left, right, middle)
    if _overlapping(found, names) or any(_too_steep(b) for forest in found for b in forest.values()):
        raise NoForm
    place: dict[Hashable, int] = {name: i for i, name in enumerate(names)}
    table = _core.Table(outer.out_shape, inner.in_shape, out_view, in_view)
    for forest in found:
        bounds = [forest[name] for name in names]
        axes = [(-1 if b.parent is None else place[b.parent], b.p, b.q) for b in bounds]
        table.add(1, axes, [(b.lo, 0) for b in bounds], [(b.hi - b.lo, 0) for b in bounds])
    return Relation(outer.out_shape, inner.in_shape, table)


def same_rows(first: Relation, second: Relation) -> bool:
    """Whether two relations hold the same rows; if not, they may still hold the same tuples."""
    if len(first) != len(second) or first._views != second._views or len(first) > MOST_PAIRS:
        return False
    names = [(side, i) for side, view in zip("ba", first._views, strict=True) for i in range(len(view))]
    rows = [[canonical(forest, names) for forest in _forests(relation, "b", "a")] for relation in (first, second)]
    return all(row in rows[1] for row in rows[0])


def _forests(relation: Relation, out: str, into: str) -> Iterator[Forest]:
    """Each row as a forest of axes named (out, 0), (out, 1), ..., (into, 0), ..."""
    count = len(relation._views[0])
    names = [(out, i) for i in range(count)] + [(into, i) for i in range(len(relation._views[1]))]
    for part in relation.parts():
        for row in range(part.rows):
            yield dict(zip(names, _bounds(part, row, names), strict=True))


def _bounds(part: Part, row: int, names: list[tuple[str, int]]) -> Iterator[Bound]:
    for (parent, p, q), lo, width in zip(part.axes, part.lo, part.width, strict=True):
        low = int(spread(lo, row, row + 1)[0])
        high = low + int(spread(width, row, row + 1)[0])
        yield Bound(low, high, names[parent] if parent >= 0 else None, p, q)


def _too_steep(bound: Bound) -> bool:
    """Whether a bound's numbers leave the range that the compiled core computes in."""
    return max(abs(bound.lo), abs(bound.hi), abs(bound.p), abs(bound.q)) >= 1 << 62


def _overlapping(forests: list[Forest], names: list[tuple[str, int]]) -> bool:
    """Whether two rows might share a tuple: stored rows never do."""
    if len(forests) < 2:
        return False
    if not names:
        return True
    boxes = np.array([[hull(forest, name) for name in names] for forest in forests])
    lo, hi = boxes[:, None, :, 0], boxes[:, None, :, 1]
    meet = np.all((lo <= hi.swapaxes(0, 1)) & (lo.swapaxes(0, 1) <= hi), axis=2)
    return int(meet.sum()) > len(forests)


def _by_tuples(outer: Relation, inner: Relation) -> Relation:
    """Joined through the cells in the middle, in chunks."""
    out_size, mid_size, in_size = (math.prod(s) for s in (outer.out_shape, outer.in_shape, inner.in_shape))
    cells = _flat(outer, out_size, mid_size)
    edges = _flat(inner, mid_size, in_size)
    first = np.searchsorted(edges[:, 0], cells[:, 1], side="left")
    counts = np.searchsorted(edges[:, 0], cells[:, 1], side="right") - first
    total = int(counts.sum())
    if total > 8 * EXPAND_LIMIT:
        raise TooLarge(
            f"composing {outer!r} with {inner!r} would join {total:,} tuples; "
            "ask one relation after the other instead, which needs no join"
        )
    ends = np.cumsum(counts)

    def chunks() -> Iterator[Tuples]:
        start = 0
        while start < len(cells):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + JOIN_CHUNK, side="right")))
            many = counts[start:stop]
            where = np.repeat(first[start:stop] - np.concatenate([[0], np.cumsum(many)[:-1]]), many)
            picked = edges[where + np.arange(len(where)), 1]
            yield np.stack([np.repeat(cells[start:stop, 0], many), picked], axis=1)
            start = stop

    if total <= JOIN_CHUNK and out_size * in_size < 1 << 63:
        pairs = next(chunks()) if len(cells) else np.empty((0, 2), np.int64)
        keys = (pairs[:, 0].astype(np.uint64) * np.uint64(in_size)) + pairs[:, 1].astype(np.uint64)
        table = fold_keys(keys[: _core.sort_unique(keys)], outer.out_shape, inner.in_shape)
        return Relation(outer.out_shape, inner.in_shape, table)
    shaped = (
        np.hstack([_index(chunk[:, 0], outer.out_shape), _index(chunk[:, 1], inner.in_shape)]) for chunk in chunks()
    )
    return compress(shaped, outer.out_shape, inner.in_shape)


def _flat(relation: Relation, outs: int, ins: int) -> Tuples:
    """The tuples as pairs of flat indices, sorted."""
    tuples = relation.to_array()
    count = len(relation.out_shape)
    sides = ((tuples[:, :count], relation.out_shape), (tuples[:, count:], relation.in_shape))
    flat = [
        np.ravel_multi_index(tuple(index.T), shape) if shape and len(index) else np.zeros(len(index), np.int64)
        for index, shape in sides
    ]
    return np.stack(flat, axis=1).astype(np.int64)


def _index(flat: Tuples, shape: tuple[int, ...]) -> Tuples:
    """Flat indices as indices of a shape."""
    if not shape:
        return np.empty((len(flat), 0), np.int64)
    return np.stack(np.unravel_index(flat, shape), axis=1).astype(np.int64)
