"""Composition: row by row if the result can be stored as rows, otherwise by joining tuples."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress

import numpy as np

from whence import _core
from whence.errors import TooLarge
from whence.relation._relation import EXPAND_LIMIT, Relation
from whence.relation.codec import Part
from whence.relation.columns import spread
from whence.relation.compress import fold_keys
from whence.relation.forest import Bound, Forest, NoForm, canonical, hull, join
from whence.relation.layout import Shape
from whence.relation.rows import BoxRows, of_forests, of_part, relation_of
from whence.relation.sources import Tuples
from whence.relation.stream import compress
from whence.relation.substitute import substituted
from whence.relation.unite import normalized, united
from whence.selection import Selection

FEW_PAIRS = 8
MOST_PAIRS = 1 << 10
"""At most FEW_PAIRS pairs of rows are joined one by one at first, and at most MOST_PAIRS if there is no other way."""

MOST_PRODUCTS = 1 << 20
FEW_BOXES = 16
"""Limits of the rows, and of the different boxes, for which rows without dependent axes are searched."""

JOIN_CHUNK = 1 << 22

MOST_TUPLES = 1 << 26
"""The most tuples that are joined in one step of a program; that takes seconds."""


def compose(outer: Relation, inner: Relation) -> Relation:
    """Compose C <- B and B <- A to C <- A."""
    found = composed_rows(outer, inner)
    return found[0] if found is not None and len(found) == 1 else _by_tuples(outer, inner)


def compose_side_by_side(outer: Relation, inner: Relation) -> list[Relation]:
    """Compose to a few relations that may share tuples, if one relation could only be made tuple by tuple."""
    found = composed_rows(outer, inner)
    return [_by_tuples(outer, inner, MOST_TUPLES)] if found is None else found


def composed_rows(outer: Relation, inner: Relation) -> list[Relation] | None:
    """Compose without expanding tuples, to relations that may share some; None if the result cannot be stored as
    rows.
    """
    if not len(outer) or not len(inner):
        return [Relation.empty(outer.out_shape, inner.in_shape)]
    if _is_reshape(outer):
        return [_relabelled(inner, outer.out_shape, inner.in_shape)]
    if _is_reshape(inner):
        return [_relabelled(outer, outer.out_shape, inner.in_shape)]
    for way in _ways(len(outer), len(inner)):
        with suppress(NoForm):
            return way(outer, inner)
    return None


def _ways(outer: int, inner: int) -> Iterator[Callable[[Relation, Relation], list[Relation]]]:
    """Yield the ways to compose relations of so many rows, the cheapest first. Each may raise NoForm."""
    if outer == 1:
        yield _through_outer_boxes
    if inner == 1:
        yield _through_inner_boxes
    if outer * inner <= FEW_PAIRS:
        yield _by_rows
    yield from (substituted, _substituted_backwards, _through_inner_boxes, _through_outer_boxes)
    if FEW_PAIRS < outer * inner <= MOST_PAIRS:
        yield _by_rows


def _substituted_backwards(outer: Relation, inner: Relation) -> list[Relation]:
    """Substitute in the other direction, if each input cell of the inner relation has one output cell."""
    return [each.inverse for each in substituted(inner.inverse, outer.inverse)]


def _is_reshape(relation: Relation) -> bool:
    """Whether the relation is one row in which each cell comes from the cell with the same flat index."""
    out, into = relation._views
    if len(relation) != 1 or out != into:
        return False
    (part,) = relation.parts()
    n = len(out)
    return part.axes == tuple([(-1, 0, 0)] * n + [(v, 1, 1) for v in range(n)]) and np.array_equal(
        of_part(part).bounds[0], _full(out + (1,) * n)
    )


def _relabelled(relation: Relation, out_shape: Shape, in_shape: Shape) -> Relation:
    """Return the same tuples between arrays of other shapes with as many cells, by flat index."""
    if (relation.out_shape, relation.in_shape) == (out_shape, in_shape):
        return relation
    table = _core.Table(out_shape, in_shape, *relation._views)
    for part in relation.parts():
        table.add(part.rows, part.axes, list(part.lo), list(part.width))
    return Relation(out_shape, in_shape, table)


def _full(shape: Shape) -> Tuples:
    """Return the bounds of the whole of every axis."""
    return np.array([(0, side - 1) for side in shape], np.int64).reshape(-1, 2)


def is_whole(relation: Relation) -> bool:
    """Whether it is one row in which every cell comes from every cell."""
    if len(relation) != 1:
        return False
    (part,) = relation.parts()
    return all(parent < 0 for parent, _, _ in part.axes) and np.array_equal(
        of_part(part).bounds[0], _full(relation._views[0] + relation._views[1])
    )


def _through_inner_boxes(outer: Relation, inner: Relation) -> list[Relation]:
    """Compose if in each inner row, every cell of a box comes from every cell of another box, as in `x / x.max()`.

    Everything that reaches the first box comes from all of the second, so one question to the outer relation is enough,
    however many rows it has.
    """
    pairs = _as_products(inner)
    boxes = [_products(outer.forward(middle).boxes, into[None]) for middle, into in pairs]
    return [_of_boxes(outer, inner, outer.out_shape, inner._views[1], boxes)]


def _through_outer_boxes(outer: Relation, inner: Relation) -> list[Relation]:
    """Compose if in each outer row, every cell of a box comes from every cell of another box."""
    pairs = _as_products(outer.inverse)
    boxes = [_products(out[None], inner.backward(middle).boxes) for middle, out in pairs]
    return [_of_boxes(outer, inner, outer._views[0], inner.in_shape, boxes)]


def _as_products(relation: Relation) -> list[tuple[Selection, Tuples]]:
    """Return output cells with the box of input cells (in their view) that they all come from; NoForm if axes
    depend.
    """
    parts = relation.parts() if len(relation) <= MOST_PRODUCTS else []
    if not parts or any(parent >= 0 for part in parts for parent, _, _ in part.axes):
        raise NoForm
    rows = np.concatenate([of_part(part).bounds for part in parts])
    shape, view = relation.out_shape, relation._views[0]
    outs, ins = rows[:, : len(view)], rows[:, len(view) :]
    if len(rows) == 1:
        boxes, which = ins.reshape(1, -1), np.zeros(1, np.intp)
    else:
        boxes, which = np.unique(ins.reshape(len(ins), -1), axis=0, return_inverse=True)
    if len(boxes) > FEW_BOXES:
        raise NoForm
    found = []
    for number, box in enumerate(boxes):
        own = outs[which.reshape(-1) == number]
        if view == shape:
            cells = Selection.from_boxes(own, shape)
        elif len(own) == 1 and np.array_equal(own[0], _full(view)):
            cells = Selection.all(shape)
        else:
            same = _relabelled(Relation.identity(view), shape, view)
            cells = same.forward(Selection.from_boxes(own, view))
        found.append((cells, box.reshape(-1, 2)))
    return found


def _products(out: Tuples, into: Tuples) -> Tuples:
    """Combine every box of `out` (n, axes, 2) with every box of `into`."""
    return np.concatenate([np.repeat(out, len(into), axis=0), np.tile(into, (len(out), 1, 1))], axis=1)


def _of_boxes(outer: Relation, inner: Relation, out_view: Shape, in_view: Shape, found: list[Tuples]) -> Relation:
    boxes = found[0] if len(found) == 1 else normalized(np.concatenate(found))
    rows = BoxRows(((-1, 0, 0),) * (len(out_view) + len(in_view)), boxes)
    return relation_of(outer.out_shape, inner.in_shape, (out_view, in_view), [rows])


def _by_rows(outer: Relation, inner: Relation) -> list[Relation]:
    if outer._views[1] != inner._views[0]:
        raise NoForm
    out_view, in_view = outer._views[0], inner._views[1]
    middle: list[tuple[Hashable, Hashable]] = [(("b", i), ("B", i)) for i in range(len(inner._views[0]))]
    names = [("c", i) for i in range(len(out_view))] + [("a", i) for i in range(len(in_view))]
    inner_forests = list(_forests(inner, "B", "a"))
    found: list[Forest] = []
    for left in _forests(outer, "c", "b"):
        for right in inner_forests:
            found += join(left, right, middle)
    if any(_too_steep(b) for forest in found for b in forest.values()):
        raise NoForm
    rows = of_forests(found, names)
    if not _keeps_apart(outer, inner) and _overlapping(found, names):
        lists = united(rows, len(out_view))
        if lists is None:
            raise NoForm
    else:
        lists = [rows]
    return [relation_of(outer.out_shape, inner.in_shape, (out_view, in_view), each) for each in lists]


def _keeps_apart(outer: Relation, inner: Relation) -> bool:
    """Whether every pair of cells is connected by only one cell in the middle, so that disjoint rows stay disjoint."""
    return (len(outer) == 1 and single_valued(outer, "ba")) or (len(inner) == 1 and single_valued(inner, "ab"))


def single_valued(relation: Relation, order: str) -> bool:
    """Whether each cell of one side (a: input, b: output; the first letter) has one cell on the other side.

    The relation has one box.
    """
    (forest,) = _forests(relation, "b", "a")
    count = len(relation._views[0])
    sides = {"b": list(forest)[:count], "a": list(forest)[count:]}
    names = sides[order[0]] + sides[order[1]]
    turned = canonical(forest, names)
    return all(turned[name].single for name in sides[order[1]])


def union(relations: Sequence[Relation]) -> list[Relation] | None:
    """Unite relations into as few as possible without expanding rows; None if that is not possible.

    >>> (both,) = union([Relation.identity(5), Relation.whole(5, 5)])
    >>> both
    Relation((5,) <- (5,), 25 tuples in 1 box)
    """
    first = relations[0]
    if any(each._views != first._views for each in relations):
        return None
    lists = united([of_part(part) for each in relations for part in each.parts()], len(first._views[0]))
    if lists is None:
        return None
    return [relation_of(first.out_shape, first.in_shape, first._views, each) for each in lists] or [first]


def same_rows(first: Relation, second: Relation) -> bool:
    """Whether two relations have the same rows; if not, they may still have the same tuples."""
    if len(first) != len(second) or first._views != second._views or len(first) > MOST_PAIRS:
        return False
    names = [(side, i) for side, view in zip("ba", first._views, strict=True) for i in range(len(view))]
    rows = [[canonical(forest, names) for forest in _forests(relation, "b", "a")] for relation in (first, second)]
    return all(row in rows[1] for row in rows[0])


def _forests(relation: Relation, out: str, into: str) -> Iterator[Forest]:
    """Yield each row as a forest of axes named (out, 0), (out, 1), ..., (into, 0), ..."""
    count = len(relation._views[0])
    names = [(out, i) for i in range(count)] + [(into, i) for i in range(len(relation._views[1]))]
    for part in relation.parts():
        for row in range(part.rows):
            yield dict(zip(names, _bounds_of_row(part, row, names), strict=True))


def _bounds_of_row(part: Part, row: int, names: list[tuple[str, int]]) -> Iterator[Bound]:
    for (parent, p, q), lo, width in zip(part.axes, part.lo, part.width, strict=True):
        low = int(spread(lo, row, row + 1)[0])
        high = low + int(spread(width, row, row + 1)[0])
        yield Bound(low, high, names[parent] if parent >= 0 else None, p, q)


def _too_steep(bound: Bound) -> bool:
    """Whether a bound's integers exceed the range of the compiled core."""
    return max(abs(bound.lo), abs(bound.hi), abs(bound.p), abs(bound.q)) >= 1 << 62


def _overlapping(forests: list[Forest], names: list[tuple[str, int]]) -> bool:
    """Whether two rows might share a tuple, which stored rows must not."""
    if len(forests) < 2:
        return False
    if not names:
        return True
    boxes = np.array([[hull(forest, name) for name in names] for forest in forests])
    lo, hi = boxes[:, None, :, 0], boxes[:, None, :, 1]
    meet = np.all((lo <= hi.swapaxes(0, 1)) & (lo.swapaxes(0, 1) <= hi), axis=2)
    return int(meet.sum()) > len(forests)


def _by_tuples(outer: Relation, inner: Relation, most: int = 8 * EXPAND_LIMIT) -> Relation:
    """Join through the cells in the middle, in chunks."""
    out_size, mid_size, in_size = (math.prod(s) for s in (outer.out_shape, outer.in_shape, inner.in_shape))
    cells = _flat_pairs(outer, out_size, mid_size)
    edges = _flat_pairs(inner, mid_size, in_size)
    first = np.searchsorted(edges[:, 0], cells[:, 1], side="left")
    counts = np.searchsorted(edges[:, 0], cells[:, 1], side="right") - first
    total = int(counts.sum())
    if total > most:
        raise TooLarge(
            f"composing {outer!r} with {inner!r} would join {total:,} tuples; ask one relation after the other instead"
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
        np.hstack([_unravelled(chunk[:, 0], outer.out_shape), _unravelled(chunk[:, 1], inner.in_shape)])
        for chunk in chunks()
    )
    return compress(shaped, outer.out_shape, inner.in_shape)


def _flat_pairs(relation: Relation, outs: int, ins: int) -> Tuples:
    """Return the tuples as pairs of flat indices, sorted."""
    tuples = relation.to_array()
    count = len(relation.out_shape)
    sides = ((tuples[:, :count], relation.out_shape), (tuples[:, count:], relation.in_shape))
    flat = [
        np.ravel_multi_index(tuple(index.T), shape) if shape and len(index) else np.zeros(len(index), np.int64)
        for index, shape in sides
    ]
    return np.stack(flat, axis=1).astype(np.int64)


def _unravelled(flat: Tuples, shape: tuple[int, ...]) -> Tuples:
    """Return flat indices as indices of a shape."""
    if not shape:
        return np.empty((len(flat), 0), np.int64)
    return np.stack(np.unravel_index(flat, shape), axis=1).astype(np.int64)
