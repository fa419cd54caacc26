"""Deferred origins of traced arrays: of views, of written memory, and of selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays import rules
from whence.arrays.rules.elementwise import broadcast
from whence.arrays.tracing._later import Later
from whence.arrays.tracing._operations import Places
from whence.arrays.tracing._origins import Origins, Shape, composed, overwritten, united
from whence.errors import NoRule
from whence.relation import Relation
from whence.selection import Selection


def united_all(*parts: Origins) -> Origins:
    """Return the union of all origins."""
    return united(parts)


def placed(places: Places, where: tuple[int, int, Shape, bool], *origins: Origins) -> Origins:
    """Return the origins of one of several outputs, from the rule's relations to the call's arrays."""
    at, count, shape, selection = where
    if len(places) != count:
        raise NoRule(f"a rule gives {len(places)} outputs where NumPy has {count}")
    parts = []
    for each in places[at]:
        if each.relation.out_shape != shape:
            raise NoRule(f"a rule gives the shape {each.relation.out_shape} where NumPy has {shape}")
        if each.kind == "value" or selection:
            parts.append(composed(each.relation, origins[each.array], each.kind))
    return united(parts) if parts else {}


def picked_from(own: Shape, key: Any, shape: Shape, origins: Origins) -> Origins:
    """Return the origins of `a[key]`."""
    relation = rules.indexed(own, key)
    if relation.out_shape != shape:
        raise NoRule(f"a rule gives the shape {relation.out_shape} where NumPy has {shape}")
    return composed(relation, origins)


def copied(key: Any) -> Any:
    """Return an index with copies of its arrays, since the originals may be written to."""
    if isinstance(key, tuple):
        return tuple(map(copied, key))
    return key.copy() if isinstance(key, np.ndarray) else key


def seen_through(relation: Relation | Later, view: Relation | Later | None) -> Relation | Later:
    """Return the relation of a view of a view to the memory."""
    return relation if view is None else Later(_composed_views, relation, view)


def _composed_views(relation: Relation, view: Relation) -> Relation:
    return relation.compose(view)


def written(old: Origins, view: Relation | None, target: Relation, new: Origins) -> Origins:
    """Return the origins of memory after a write through a view of it."""
    whole = target if view is None else view.inverse.compose(target)
    written = whole.forward(Selection.all(whole.in_shape))
    return overwritten(old, composed(whole, new), written)


def assigned(picked: Relation, given: Shape) -> Relation:
    """Return the relation from the cells that an indexed assignment writes to those of the value, which is
    broadcast.
    """
    return picked.inverse.compose(broadcast(given, picked.out_shape))


def added_in(view: Relation | None, relation: Relation, origins: Origins, kind: rules.Kind) -> Origins:
    """Return origins that are added to cells of memory through a view of it."""
    return composed(relation if view is None else view.inverse.compose(relation), origins, kind)
