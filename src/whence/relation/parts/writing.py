"""Write a relation in parts: parts anywhere and in any order, then the index, once."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from whence.relation import codec
from whence.relation._relation import Relation
from whence.relation.layout import Shape
from whence.relation.parts._parted import PartedRelation
from whence.relation.parts.index import Entry, index_of
from whence.relation.parts.places import Directory, Place, hash_of
from whence.selection import Selection

Bounds = tuple[tuple[int, int], ...]


def write_part(place: Place, relation: Relation) -> Entry | None:
    """Write a relation as a part. Return its entry for the index, or None if it has no tuples.

    Any process may do this, even twice: the same part has the same name.
    """
    if not len(relation):
        return None
    data = relation.to_bytes()
    name = hash_of(data)
    place.put(name, data)
    return Entry(name, len(data), len(relation), relation.count(), bounds_of(relation))


def publish(
    path: str | os.PathLike[str], out_shape: Shape, in_shape: Shape, entries: Iterable[Entry | None]
) -> PartedRelation:
    """Make one relation of the parts in a directory. No tuple may be in two parts."""
    place = Directory(path)
    index = index_of(out_shape, in_shape, [entry for entry in entries if entry is not None])
    place.publish(index.to_bytes())
    place.tidy({entry.name for entry in index.entries})
    return PartedRelation(index, place, repr(os.fspath(path)))


def bounds_of(relation: Relation) -> Bounds:
    """Return the least and the greatest index of a relation's tuples on each axis, output first."""
    found: list[tuple[int, int]] = []
    rows = _row_bounds(relation)
    for backward, shape, view in zip(
        (False, True), (relation.out_shape, relation.in_shape), relation._views, strict=True
    ):
        hull, rows = rows[: len(view)], rows[len(view) :]
        if view != shape:
            ask = relation.backward if backward else relation.forward
            boxes = ask(Selection.all(relation.out_shape if backward else relation.in_shape)).boxes
            hull = list(zip(boxes[:, :, 0].min(axis=0).tolist(), boxes[:, :, 1].max(axis=0).tolist(), strict=True))
        found += hull
    return tuple(found)


def _row_bounds(relation: Relation) -> list[tuple[int, int]]:
    """Return the bounds of all rows, in the coordinates of the views."""
    each = np.array([codec.bounding_box(part, 0, part.rows) for part in relation.parts()], np.int64)
    if each.ndim < 3:  # no axes
        return []
    return list(zip(each[:, :, 0].min(axis=0).tolist(), each[:, :, 1].max(axis=0).tolist(), strict=True))
