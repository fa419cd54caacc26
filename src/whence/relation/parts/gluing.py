"""Merge the pieces of a regular relation, which was cut anywhere, into a few boxes.

    before: (b = 0 .. 4, a = b), (b = 5, a = 5), (b = 6 .. 9, a = b)
    after:  (b = 0 .. 9, a = b)

A cut may leave rows with one value on some axis, whose pattern is ambiguous: `b = 5, a = 5` is a piece of `a = b`, of
`a = 10 - b`, and of a box. Such a row is tried in the patterns of the rows with the most tuples, and stays in the first
one in which it becomes part of a larger row. Rewriting is exact: an axis may be measured from any axis that has one
value in the row (see `_rewritten`), and rows of one pattern are united as boxes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whence.relation._relation import EXPAND_LIMIT, Relation
from whence.relation.blocks import Ints
from whence.relation.codec import Axis
from whence.relation.compress import FEW_ROWS, encode, finish, fits_key, fold, new_folder
from whence.relation.forest import NoForm
from whence.relation.layout import Layout, Shape
from whence.relation.parts.lining import lined
from whence.relation.rows import BoxRows, hulls, of_part, relation_of, rooted
from whence.relation.unite import united_rows

REFOLDED = 1 << 22
"""The most tuples of a piece that is folded again in the views of the others."""

AGAIN = 1 << 22
"""The most tuples of a relation that is folded again if more than a few boxes are left."""

MOST_ROWS = 1 << 16
"""Relations with more rows than this are not merged."""

Pattern = tuple[Axis, ...]


def glued(pieces: Sequence[Relation]) -> list[Relation]:
    """Return the same tuples in as few relations as possible, from pieces that share no tuple and have few rows each.

    >>> import whence as wh
    >>> halves = [wh.compress([[i, 9 - i] for i in part], 10, 10) for part in (range(3), range(3, 4), range(4, 10))]
    >>> glued(halves)
    [Relation((10,) <- (10,), 10 tuples in 1 box)]
    """
    some = [piece for piece in pieces if len(piece)]
    if not some:
        return list(pieces[:1])
    groups: dict[tuple[Shape, Shape], list[Relation]] = {}
    for piece in _under_one_view(some):
        groups.setdefault(piece._views, []).append(piece)
    return [_folded_again(_glued(group)) for group in groups.values()]


def _under_one_view(pieces: list[Relation]) -> list[Relation]:
    """Convert small pieces to the view in which most tuples are stored."""
    held: dict[tuple[Shape, Shape], int] = {}
    for piece in pieces:
        held[piece._views] = held.get(piece._views, 0) + piece.count()
    if len(held) == 1:
        return pieces
    out_view, in_view = max(held, key=lambda views: held[views])
    return [_seen(piece, out_view, in_view) for piece in pieces]


def _seen(piece: Relation, out_view: Shape, in_view: Shape) -> Relation:
    out, into = piece.out_shape, piece.in_shape
    if piece._views == (out_view, in_view) or piece.count() > REFOLDED or not fits_key(out, into):
        return piece
    layout = Layout(out_view, in_view, tuple(range(len(out_view) + len(in_view))))
    folder = new_folder(layout)
    folder.feed_keys(encode(piece.to_array(), out, into), layout.dims)
    folder.close()
    return Relation(out, into, finish(folder, out, into, layout))


def _folded_again(relation: Relation) -> Relation:
    """Fold a relation of more than a few rows again if its tuples are few: another view may suit the whole."""
    axes = max(1, len(relation.out_shape) + len(relation.in_shape))
    if len(relation) <= FEW_ROWS or relation.count() > AGAIN or relation.count() * axes > EXPAND_LIMIT:
        return relation
    table = fold(relation.to_array(), relation.out_shape, relation.in_shape)
    again = Relation(relation.out_shape, relation.in_shape, table)
    return again if len(again) < len(relation) else relation


def _glued(pieces: list[Relation]) -> Relation:
    first = pieces[0]
    outs = len(first._views[0])
    rows = [_from_output(of_part(part), outs) for piece in pieces for part in piece.parts()]
    if not _safe(rows) or sum(map(len, rows)) > MOST_ROWS:
        return relation_of(first.out_shape, first.in_shape, first._views, rows)
    rows = [_unfolded(each) for each in rows]
    count = sum(map(len, rows)) + 1
    while (now := sum(map(len, rows))) < count:
        count = now
        rows = _united(rows)
        for axis in (*reversed(range(outs)), *reversed(range(outs, len(rows[0].axes)))):
            rows = [_from_output(found, outs) for each in rows for found in lined(each, axis)]
    return relation_of(first.out_shape, first.in_shape, first._views, rows)


def _unfolded(rows: BoxRows) -> BoxRows:
    """Split rows in which an axis of two values is a parent into two rows: any two rows are on a line, perhaps by
    chance.
    """
    bounds = rows.bounds
    for axis in {parent for parent, _, _ in rows.axes if parent >= 0}:
        if rows.axes[axis][0] < 0:
            two = bounds[:, axis, 1] - bounds[:, axis, 0] == 1
            first, second = bounds[two].copy(), bounds[two].copy()
            first[:, axis, 1], second[:, axis, 0] = first[:, axis, 0], second[:, axis, 1]
            bounds = np.concatenate([bounds[~two], first, second])
    return BoxRows(rows.axes, bounds)


def _united(rows: Sequence[BoxRows]) -> list[BoxRows]:
    """Unite the rows of each pattern, the patterns with the most tuples first."""
    left: dict[Pattern, Ints] = {}
    for each in rows:
        known = left.get(each.axes)
        left[each.axes] = each.bounds if known is None else np.concatenate([known, each.bounds])
    done: list[BoxRows] = []
    for pattern in sorted(left, key=lambda pattern: -_tuples(BoxRows(pattern, left[pattern]))):
        if len(left[pattern]):
            done += _gathered(pattern, left)
    return done


def _gathered(pattern: Pattern, left: dict[Pattern, Ints]) -> list[BoxRows]:
    """Unite the rows of a pattern with rows of other patterns that become parts of them; remove these from `left`."""
    own = left.pop(pattern)
    left[pattern] = own[:0]
    loose: list[tuple[Pattern, Ints, Ints]] = []  # the pattern of rows, their indices, and their bounds in this pattern
    for other, bounds in left.items():
        fits, turned = _rewritten(BoxRows(other, bounds), pattern)
        if len(turned):
            loose.append((other, np.flatnonzero(fits), turned))
    found = united_rows(BoxRows(pattern, np.concatenate([own, *(turned for _, _, turned in loose)])))
    taken = [np.zeros(len(turned), bool) for _, _, turned in loose]
    for group in found:
        mixed = group.bounds[_meeting(group.bounds, own, pattern).any(axis=1)]
        for mask, (_, _, turned) in zip(taken, loose, strict=True):
            mask |= _meeting(turned, mixed, pattern).any(axis=1)
    for mask, (other, which, _) in zip(taken, loose, strict=True):
        left[other] = np.delete(left[other], which[mask], axis=0)
    kept = [turned[mask] for mask, (_, _, turned) in zip(taken, loose, strict=True)]
    return united_rows(BoxRows(pattern, np.concatenate([own, *kept])))


def _rewritten(rows: BoxRows, pattern: Pattern) -> tuple[NDArray[np.bool_], Ints]:
    """Find the rows that can be written in another pattern, and rewrite them.

    An axis keeps its bounds if it has the same parent and slopes. Otherwise its old and its new parent must have one
    value in the row: then the bounds are constants, and are measured from the new parent.
    """
    around = hulls(rows)
    single = around[:, :, 0] == around[:, :, 1]
    fits = np.ones(len(rows), bool)
    bounds = rows.bounds.copy()
    for axis, (old, new) in enumerate(zip(rows.axes, pattern, strict=True)):
        if old == new:
            continue
        if old[0] >= 0:
            fits &= single[:, old[0]]
            bounds[:, axis] = around[:, axis]
        if new[0] >= 0:
            fits &= single[:, new[0]]
            bounds[:, axis, 0] -= new[1] * around[:, new[0], 0]
            bounds[:, axis, 1] -= new[2] * around[:, new[0], 0]
    return fits, bounds[fits]


def _meeting(a: Ints, b: Ints, pattern: Pattern) -> NDArray[np.bool_]:
    """Return which rows of a pattern share tuples: (rows of a, rows of b). Axes with two slopes must have the same
    bounds.
    """
    met = np.ones((len(a), len(b)), bool)
    for axis, (_, p, q) in enumerate(pattern):
        mine, theirs = a[:, None, axis], b[None, :, axis]
        if p == q:
            met &= (mine[..., 0] <= theirs[..., 1]) & (mine[..., 1] >= theirs[..., 0])
        else:
            met &= np.all(mine == theirs, axis=2)
    return met


def _from_output(rows: BoxRows, count: int) -> BoxRows:
    """Return the rows with the axes of the output as roots, if possible."""
    try:
        return rooted(rows, range(count))
    except NoForm:
        return rows


def _safe(rows: Sequence[BoxRows]) -> bool:
    """Whether products of bounds and slopes are well within 64 bits, and there are axes."""
    steep = max((abs(slope) for each in rows for _, p, q in each.axes for slope in (p, q)), default=0)
    far = max((int(np.abs(each.bounds).max()) for each in rows if each.bounds.size), default=0)
    return bool(rows[0].axes) and max(1, steep) * far < 1 << 60


def _tuples(rows: BoxRows) -> float:
    """Estimate how many tuples rows have."""
    around = hulls(rows)
    return float(np.prod((around[:, :, 1] - around[:, :, 0] + 1).astype(float), axis=1).sum())
