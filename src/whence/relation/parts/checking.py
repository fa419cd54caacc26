"""Check all parts: each agrees with the index, and no two share a tuple."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whence.errors import Damaged
from whence.relation._relation import EXPAND_LIMIT, Relation
from whence.relation.parts.index import Index
from whence.relation.parts.places import Place
from whence.relation.parts.writing import bounds_of
from whence.selection import Selection

FEW_CELLS = 1 << 12
"""If two parts share at most this many output cells, these are compared one by one."""


def check(index: Index, place: Place, part: Callable[[int], Relation], name: str) -> bool:
    """Raise Damaged if a part is missing, altered, differs from the index, or shares a tuple with another.

    Return False if it was not decided whether rows share a tuple.
    """
    decided = True
    for number, entry in enumerate(index.entries):
        place.verify(entry.name)
        found = part(number)
        decided &= found.verify()
        if (found.count(), bounds_of(found)) != (entry.tuples, entry.bounds):
            raise Damaged(
                f"part {number} of {name} does not hold the tuples that the index says; write the relation again"
            )
    bounds, outs = index.bounds(), len(index.out_shape)
    for number in range(len(bounds)):
        own, rest = bounds[number], bounds[number + 1 :]
        meet = np.all((rest[:, :, 0] <= own[:, 1]) & (rest[:, :, 1] >= own[:, 0]), axis=1)
        for other in np.flatnonzero(meet) + number + 1:
            low, high = np.maximum(own, bounds[other])[:outs, 0], np.minimum(own, bounds[other])[:outs, 1]
            cells = Selection.from_boxes(np.stack([low, high], axis=1)[None], index.out_shape)
            shared = _share_a_tuple(part(number), part(int(other)), cells)
            decided &= shared is not None
            if shared:
                raise Damaged(f"parts {number} and {other} of {name} hold the same tuple; write the relation again")

    return decided


def _share_a_tuple(first: Relation, second: Relation, cells: Selection) -> bool | None:
    """Whether two relations share a tuple of these output cells; None if it would take too long to decide."""
    common = first.forward(first.backward(cells)) & second.forward(second.backward(cells)) & cells
    if not common or first.backward(common).isdisjoint(second.backward(common)):
        return False
    if common.count <= FEW_CELLS:
        every = (Selection.from_cells(cell[None], cells.shape) for cell in common.cells())
        return any(not first.backward(one).isdisjoint(second.backward(one)) for one in every)
    axes = max(1, len(first.out_shape) + len(first.in_shape))
    if (first.count() + second.count()) * axes > EXPAND_LIMIT:
        return None
    both = np.concatenate([first.to_array(), second.to_array()])
    return len(np.unique(both, axis=0)) < len(both)
