"""Where the cells of an array came from: relations to the inputs of a run, by input and kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from whence import _core
from whence.arrays.known import Kind
from whence.errors import TooLarge
from whence.relation import Relation, compress
from whence.relation.compress import encode, finish, fits_key, new_folder
from whence.relation.layout import natural
from whence.selection import Selection

Shape = tuple[int, ...]
Key = tuple[int, Kind]  # the number of the input, and how its cells took part
Origins = dict[Key, tuple[Relation, ...]]

FEW = 8  # rows, or relations
MERGE = 1 << 22
"""Relations of so many tuples together are made one by expanding them; larger ones stand side by side."""


def composed(relation: Relation, origins: Origins, kind: Kind = "value") -> Origins:
    """The origins of cells that come from other cells, whose origins are known.

    What was selected stays selected: a link of that kind makes everything behind it so.
    """
    found: dict[Key, list[Relation]] = {}
    for (number, before), relations in origins.items():
        key: Key = (number, "selection" if "selection" in (kind, before) else "value")
        found.setdefault(key, []).extend(relation.compose(each) for each in relations)
    return {key: tuple(each) for key, each in found.items()}


def united(parts: Sequence[Origins]) -> Origins:
    """Everything that any of them says."""
    if len(parts) == 1:
        return parts[0]
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: union([each for part in parts for each in part.get(key, ())]) for key in keys}


def union(relations: Sequence[Relation]) -> tuple[Relation, ...]:
    """As few relations as can be had cheaply, with the same tuples together.

    >>> union([Relation.identity(3), Relation.identity(3)])
    (Relation((3,) <- (3,), 3 tuples in 1 box),)
    """
    distinct: dict[bytes, Relation] = {}
    for each in relations:
        if len(each):
            distinct.setdefault(each.to_bytes() if len(each) < 1 << 10 else str(id(each)).encode(), each)
    left = list(distinct.values())
    if len(left) <= 1:
        return tuple(left or relations[:1])
    first = left[0]
    whole = int(np.prod(first.out_shape, dtype=object)) * int(np.prod(first.in_shape, dtype=object))
    for each in left:
        if each.count() == whole:
            return (each,)
    if sum(each.count() for each in left) > MERGE:
        return tuple(left)
    folded = merged(left)
    apart = len(left) <= FEW and all(len(each) <= FEW for each in left)
    # Where one relation needs many rows, a few with few rows each have the same form at every size.
    return tuple(left) if apart and len(folded) > FEW else (folded,)


def merged(relations: Sequence[Relation]) -> Relation:
    """One relation with the tuples of all, under the arrays' own shapes if a few rows hold it there."""
    out_shape, in_shape = relations[0].out_shape, relations[0].in_shape
    tuples = np.concatenate([each.to_array() for each in relations])
    if fits_key(out_shape, in_shape) and 0 not in out_shape + in_shape:
        keys = encode(np.ascontiguousarray(tuples), out_shape, in_shape)
        layout = natural(out_shape, in_shape)
        folder = new_folder(layout)
        folder.feed_keys(keys[: _core.sort_unique(keys)], layout.dims)
        folder.close()
        if folder.rows <= FEW:
            return Relation(out_shape, in_shape, finish(folder, out_shape, in_shape, layout))
    return compress(tuples, out_shape, in_shape)


def beside(a: Relation, b: Relation) -> Relation:
    """Both together, where no output cell is in both."""
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
    """Each selected cell from itself, the others from nothing."""
    n = len(selection.shape)
    table = _core.Table(selection.shape, selection.shape, selection.shape, selection.shape)
    if selection:
        lo, hi = (np.ascontiguousarray(selection.boxes[:, :, side].T) for side in (0, 1))
        same = [(0, 0)] * n
        axes = [(-1, 0, 0)] * n + [(v, 1, 1) for v in range(n)]
        table.add(len(selection.boxes), axes, [*lo, *same], [*(hi - lo), *same])
    return Relation(selection.shape, selection.shape, table)


def overwritten(old: Origins, new: Origins, written: Selection) -> Origins:
    """The origins of memory of which some cells were written: `new` speaks of these alone."""
    left = ~written
    before = composed(kept(left), old) if left else {}
    return {key: _both(before.get(key, ()), new.get(key, ())) for key in dict.fromkeys([*before, *new])}


def _both(before: Iterable[Relation], after: Iterable[Relation]) -> tuple[Relation, ...]:
    old, new = list(before), list(after)
    if len(old) == len(new) == 1:
        return (beside(old[0], new[0]),)
    return tuple(each for each in (*old, *new) if len(each))
