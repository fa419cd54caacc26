"""Origins of cells: relations to the inputs of a run, by input and kind."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.arrays.rules import Kind
from whence.errors import NoRule, TooLarge
from whence.relation import Relation, compress
from whence.relation.columns import spread
from whence.relation.compose import compose_side_by_side, is_whole
from whence.relation.compose import union as united_rows
from whence.relation.compress import encode, finish, fits_key, new_folder
from whence.relation.layout import natural
from whence.selection import Selection

Shape = tuple[int, ...]
Key = tuple[int, Kind]  # the index of the input, and the kind of lineage
Origins = dict[Key, tuple[Relation, ...]]

MOST_RELATIONS = 8  # the most rows, or relations
FEW_CELLS = 1 << 6
MERGE = 1 << 22
"""The most tuples of relations that are united by expanding them."""


def composed(relation: Relation, origins: Origins, kind: Kind = "value") -> Origins:
    """Return the origins of cells that come from other cells with known origins.

    Selection lineage stays selection lineage: through a link of kind "selection", all origins become selection lineage.
    """
    found: dict[Key, list[Relation]] = {}
    for (number, before), relations in origins.items():
        key: Key = (number, "selection" if "selection" in (kind, before) else "value")
        found.setdefault(key, []).extend(itertools.chain(*(compose_side_by_side(relation, each) for each in relations)))
    return {key: tuple(each) for key, each in found.items()}


def united(parts: Sequence[Origins]) -> Origins:
    """Return the union of all origins."""
    if len(parts) == 1:
        return parts[0]
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: union([each for part in parts for each in part.get(key, ())]) for key in keys}


def together(parts: Sequence[Origins]) -> Origins:
    """Return the union of the origins of a single cell. There may be thousands, mostly of a few cells each."""
    found: Origins = {}
    for key in dict.fromkeys(key for part in parts for key in part):
        relations = [each for part in parts for each in part.get(key, ())]
        small = [each for each in relations if each.count() <= FEW_CELLS]
        if len(small) > MOST_RELATIONS:
            cells = np.unique(np.concatenate([each.to_array() for each in small]), axis=0)
            large = {id(each): each for each in relations if each.count() > FEW_CELLS}
            relations = [compress(cells, small[0].out_shape, small[0].in_shape), *large.values()]
        found[key] = union(relations)
    return found


def union(relations: Sequence[Relation]) -> tuple[Relation, ...]:
    """Return the same tuples in as few relations as is cheap to compute.

    Relations of a few rows stay separate: their form is the same at every size, and they cost nothing.

    >>> union([Relation.identity(3), Relation.identity(3), Relation.whole(3, 3)])
    (Relation((3,) <- (3,), 9 tuples in 1 box),)
    """
    distinct: dict[Hashable, Relation] = {}
    for each in relations:
        if len(each):
            distinct.setdefault(_rows_key(each) if len(each) < 1 << 10 else id(each), each)
    left = list(distinct.values())
    everything = next((each for each in left if is_whole(each)), None)
    if everything is not None:
        return (everything,)
    if len(left) <= 1:
        return tuple(left or relations[:1])
    left = _without_contained(left)
    if len(left) <= MOST_RELATIONS:
        return tuple(left)
    as_rows = united_rows(left)
    if as_rows is not None and len(as_rows) <= MOST_RELATIONS:
        return tuple(as_rows)
    total = sum(each.count() for each in left)
    if total > MERGE:
        raise NoRule(f"the lineage of {len(left)} overlapping relations with {total:,} tuples is too large to unite")
    return (merged(left),)


def _rows_key(relation: Relation) -> Hashable:
    """Return a key that is equal for relations with the same rows."""
    return relation._views, tuple(
        (part.axes, *(each if isinstance(each, tuple) else each.tobytes() for each in (*part.lo, *part.width)))
        for part in relation.parts()
    )


def _without_contained(relations: list[Relation]) -> list[Relation]:
    """Drop the relations that another one contains; of two that contain each other, keep one."""
    rows = [_rows_of(each) if len(each) <= MOST_RELATIONS else None for each in relations]
    left = list(range(len(rows)))
    for i, own in enumerate(rows):
        others = [rows[j] for j in left if j != i and relations[j]._views == relations[i]._views]
        if own is not None:
            held = any(other and all(any(map(row.within, other)) for row in own) for other in others)
        else:
            held = any(other and _all_within(relations[i], other) for other in others)
        if held:
            left.remove(i)
    return [relations[i] for i in left]


def _all_within(relation: Relation, others: Sequence[_Row]) -> bool:
    """Whether each of many rows is certainly inside one of a few others."""
    for part in relation.parts():
        lo = [spread(column, 0, part.rows) for column in part.lo]
        hi = [each + spread(column, 0, part.rows) for each, column in zip(lo, part.width, strict=True)]
        hull: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for (parent, p, q), low, high in zip(part.axes, lo, hi, strict=True):
            if parent >= len(hull):  # an axis that follows a later one is rare, and not supported
                return False
            hull.append((low, high) if parent < 0 else _moved(low, high, p, q, *hull[parent]))
        inside = np.zeros(part.rows, bool)
        for other in others:
            inside |= np.logical_and.reduce([
                _axis_within(part.axes[v], (lo[v], hi[v]), hull, v, bound) for v, bound in enumerate(other.axes)
            ])  # fmt: skip
        if not inside.all():
            return False
    return True


def _axis_within(
    axis: tuple[int, int, int], own: tuple[NDArray[np.int64], NDArray[np.int64]],
    hull: list[tuple[NDArray[np.int64], NDArray[np.int64]]], v: int, bound: tuple[int, int, int, int, int],
) -> NDArray[np.bool_]:  # fmt: skip
    parent, p, q, low, high = bound
    if tuple(axis) == (parent, p, q):
        return (own[0] >= low) & (own[1] <= high)
    if parent < 0:
        return (hull[v][0] >= low) & (hull[v][1] <= high)
    a, b = hull[parent]
    return (hull[v][0] >= low + np.maximum(p * a, p * b)) & (hull[v][1] <= high + np.minimum(q * a, q * b))


def _moved(
    low: NDArray[np.int64], high: NDArray[np.int64], p: int, q: int, a: NDArray[np.int64], b: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return low + np.minimum(p * a, p * b), high + np.maximum(q * a, q * b)


@dataclass(frozen=True, slots=True)
class _Row:
    """One row: (parent, p, q, lo, hi) and the hull of each axis."""

    axes: tuple[tuple[int, int, int, int, int], ...]
    hull: tuple[tuple[int, int], ...]

    def within(self, other: _Row) -> bool:
        """Whether every tuple of this row is certainly in the other: this row satisfies each of its bounds."""
        for (parent, p, q, lo, hi), (low, high), bound in zip(self.axes, self.hull, other.axes, strict=True):
            if bound[0] < 0:
                if low < bound[3] or high > bound[4]:
                    return False
            elif bound[:3] != (parent, p, q) or lo < bound[3] or hi > bound[4]:
                return False
        return True


def _rows_of(relation: Relation) -> list[_Row]:
    found = []
    for part in relation.parts():
        lo = [spread(column, 0, part.rows) for column in part.lo]
        width = [spread(column, 0, part.rows) for column in part.width]
        for n in range(part.rows):
            axes = tuple((*axis, int(lo[v][n]), int(lo[v][n] + width[v][n])) for v, axis in enumerate(part.axes))
            found.append(_Row(axes, tuple(_hull(axes, v) for v in range(len(axes)))))
    return found


def _hull(axes: tuple[tuple[int, int, int, int, int], ...], v: int) -> tuple[int, int]:
    parent, p, q, lo, hi = axes[v]
    if parent < 0:
        return lo, hi
    a, b = _hull(axes, parent)
    return lo + min(p * a, p * b), hi + max(q * a, q * b)


def merged(relations: Sequence[Relation]) -> Relation:
    """Return one relation with the tuples of all."""
    tuples = np.concatenate([each.to_array() for each in relations])
    out_shape, in_shape = relations[0].out_shape, relations[0].in_shape
    folded = natural_form(tuples, out_shape, in_shape)
    return folded if folded is not None and len(folded) <= MOST_RELATIONS else compress(tuples, out_shape, in_shape)


def natural_form(tuples: NDArray[np.int64], out_shape: Shape, in_shape: Shape) -> Relation | None:
    """Return the relation of the tuples with the arrays' own shapes, without searching for a better layout."""
    if not fits_key(out_shape, in_shape) or 0 in out_shape + in_shape:
        return None
    keys = encode(np.ascontiguousarray(tuples), out_shape, in_shape)
    layout = natural(out_shape, in_shape)
    folder = new_folder(layout)
    folder.feed_keys(keys[: _core.sort_unique(keys)], layout.dims)
    folder.close()
    return Relation(out_shape, in_shape, finish(folder, out_shape, in_shape, layout))


def beside(a: Relation, b: Relation) -> Relation:
    """Return the union of two relations that have no output cell in common."""
    if not len(a) or not len(b):
        return a if len(a) else b
    if a._views == b._views:
        table = _core.Table(a.out_shape, a.in_shape, *a._views)
        for part in (*a.parts(), *b.parts()):
            table.add(part.rows, part.axes, list(part.lo), list(part.width))
        return Relation(a.out_shape, a.in_shape, table)
    if a.count() + b.count() > MERGE * 8:
        raise TooLarge(f"{a!r} and {b!r} have no form in common, and are too large to be expanded")
    return compress(np.concatenate([a.to_array(), b.to_array()]), a.out_shape, a.in_shape)


def kept(selection: Selection) -> Relation:
    """Return the relation in which each selected cell comes from itself, and the others from nothing."""
    n = len(selection.shape)
    table = _core.Table(selection.shape, selection.shape, selection.shape, selection.shape)
    if selection:
        lo, hi = (np.ascontiguousarray(selection.boxes[:, :, side].T) for side in (0, 1))
        same = [(0, 0)] * n
        axes = [(-1, 0, 0)] * n + [(v, 1, 1) for v in range(n)]
        table.add(len(selection.boxes), axes, [*lo, *same], [*(hi - lo), *same])
    return Relation(selection.shape, selection.shape, table)


def overwritten(old: Origins, new: Origins, written: Selection) -> Origins:
    """Return the origins of memory after some cells were written; `new` has the origins of these cells."""
    left = ~written
    before = composed(kept(left), old) if left else {}
    return {key: _both(before.get(key, ()), new.get(key, ())) for key in dict.fromkeys([*before, *new])}


def _both(before: Iterable[Relation], after: Iterable[Relation]) -> tuple[Relation, ...]:
    """Pair relations of unchanged cells with relations of written cells; no cell is in both."""
    return tuple(
        old if new is None else new if old is None else beside(old, new)
        for old, new in itertools.zip_longest(filter(len, before), filter(len, after))
    )
