"""The edges of a segment in the direction in which a summary follows them: from younger to older, so that there are no
cycles.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whence._core import Ancestry
from whence.errors import BadGraph
from whence.graph.model import ATTRIBUTED, CODES, RELATIONS, GraphWarning, Mask, Numbers
from whence.graph.validate import cycle_among

if TYPE_CHECKING:
    from whence.graph.segment import Segment

_INVALIDATED = CODES["wasInvalidatedBy"]


def backwards(segment: Segment) -> tuple[NDArray[np.int64], Numbers, Numbers]:
    """Return the rows of the edges, and their ends as indices in the segment, the younger end first.

    An invalidation leads from an entity to the activity that ended it, so it is reversed. Relations other than the five
    main ones of PROV graphs may form a cycle (for example, alternates of each other): such edges are left out, with a
    warning. A cycle of the five is an error that names it.
    """
    table, rows = segment.graph.edge_table, segment.rows
    relation = table.relation[rows]
    source, target = (
        np.searchsorted(segment.numbers, ends[rows]).astype(np.int32) for ends in (table.source, table.target)
    )
    ended = relation == _INVALIDATED
    source, target = np.where(ended, target, source), np.where(ended, source, target)
    edges = _ancestry(len(segment), source, target)
    if len(edges.order) < len(segment):
        out = _in_cycles(len(segment), source, target, relation > ATTRIBUTED)
        names = sorted({RELATIONS[code].name for code in relation[out].tolist()})
        rows, source, target = rows[~out], source[~out], target[~out]
        edges = _ancestry(len(segment), source, target)
        if len(edges.order) < len(segment):
            ids = segment.graph.ids.of(segment.numbers.tolist())
            cycle = " -> ".join(repr(ids[place]) for place in cycle_among(source, target, edges, len(segment))[:8])
            raise BadGraph(f"a segment with a cycle has infinitely many paths and cannot be summarized: {cycle}")
        warnings.warn(
            f"{int(out.sum())} edge(s) that form a cycle ({', '.join(names)}) are left out of the summary",
            GraphWarning, stacklevel=4,
        )  # fmt: skip
    return rows, source, target


def _ancestry(count: int, source: Numbers, target: Numbers) -> Ancestry:
    none = np.zeros(0, np.int32)
    return Ancestry(count, none, none, none, none, source, target)


def _in_cycles(count: int, source: Numbers, target: Numbers, candidates: Mask) -> Mask:
    """Which of the candidates are part of a cycle: their source can be reached from their target."""
    edges, found = _ancestry(count, source, target), np.zeros(len(source), np.bool_)
    stuck = np.ones(count, np.bool_)
    stuck[edges.order] = False
    left = np.flatnonzero(candidates & stuck[source] & stuck[target])
    for vertex in np.unique(target[left]).tolist():
        reached = edges.reach(np.array([vertex], np.int32), True)
        own = left[target[left] == vertex]
        found[own] = reached[source[own]] > 0
    return found
