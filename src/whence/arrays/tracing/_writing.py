"""Origins as traced arrays compute them later: of views, of memory that was written, of what decided."""

from __future__ import annotations

from whence.arrays.rules import Kind
from whence.arrays.rules.elementwise import broadcast
from whence.arrays.tracing._later import Later
from whence.arrays.tracing._origins import Origins, Shape, composed, overwritten, united
from whence.relation import Relation
from whence.selection import Selection


def united_all(*parts: Origins) -> Origins:
    """Everything that any of them says."""
    return united(parts)


def seen_through(relation: Relation | Later, view: Relation | Later | None) -> Relation | Later:
    """What a view of a view shows."""
    return relation if view is None else Later(_composed_views, relation, view)


def _composed_views(relation: Relation, view: Relation) -> Relation:
    return relation.compose(view)


def written(old: Origins, view: Relation | None, target: Relation, new: Origins) -> Origins:
    """The origins of memory after a write through a view of it."""
    whole = target if view is None else view.inverse.compose(target)
    written = whole.forward(Selection.all(whole.in_shape))
    return overwritten(old, composed(whole, new), written)


def assigned(picked: Relation, given: Shape) -> Relation:
    """The cells that an assignment by an index writes <- those of the value, spread over them."""
    return picked.inverse.compose(broadcast(given, picked.out_shape))


def added_in(view: Relation | None, relation: Relation, origins: Origins, kind: Kind) -> Origins:
    """What comes to the cells of memory through a view of it."""
    return composed(relation if view is None else view.inverse.compose(relation), origins, kind)
