"""Store relations that were united from many pieces in as few rows as possible."""

from __future__ import annotations

from whence.arrays.tracing._origins import merged, natural_form
from whence.relation import Relation
from whence.relation.compress import drafting

FEW_ROWS = 4  # relations of at most so many rows are not folded
MANY = 64  # relations of more rows than this are merged again, whatever their form
MOST_TO_FOLD = 1 << 18


def refolded(relation: Relation) -> Relation:
    """Return a relation that was united from many pieces (a loop over rows) in as few rows as its tuples need."""
    rows = len(relation)
    if rows <= FEW_ROWS or relation.count() > MOST_TO_FOLD:
        return relation
    folded = natural_form(relation.to_array(), relation.out_shape, relation.in_shape)
    if folded is not None and len(folded) < rows:
        relation = folded
    if len(relation) <= MANY:
        return relation
    with drafting(False):
        best = merged([relation])
    return best if len(best.to_bytes()) < len(relation.to_bytes()) else relation
