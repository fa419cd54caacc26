"""Check that vertices and edges form a provenance graph. Each error names the wrong record."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence._core import Ancestry
from whence.errors import BadGraph
from whence.graph.columns import Ids
from whence.graph.model import CODES, DERIVED, GENERATED, KINDS, RELATIONS, USED, GraphWarning, Mask, Numbers

_ANY = len(KINDS)
# For each relation, the kinds that are allowed at its two ends.
_FITS = np.array(
    [
        [[end is None or end == kind for kind in KINDS] for end in (relation.source, relation.target)]
        for relation in RELATIONS
    ],
    np.bool_,
)


class Edges:
    """The edges of a graph: three arrays of the same length."""

    __slots__ = ("relation", "source", "target")

    def __init__(self, relation: NDArray[np.uint8], source: Numbers, target: Numbers) -> None:
        self.relation, self.source, self.target = relation, source, target
        for each in (relation, source, target):
            each.flags.writeable = False

    @classmethod
    def of_relations(cls, edges: Mapping[str, tuple[NDArray[Any], NDArray[Any]]]) -> Edges:
        """Make edges from the vertex indices at the two ends of each relation."""
        relation = [np.full(len(source), CODES[name], np.uint8) for name, (source, _) in edges.items()]
        ends = ([np.asarray(pair[place], np.int32) for pair in edges.values()] for place in (0, 1))
        none = np.zeros(0, np.int32)
        return cls(
            np.concatenate([np.zeros(0, np.uint8), *relation]), *(np.concatenate([none, *each]) for each in ends)
        )

    def __len__(self) -> int:
        return len(self.relation)

    def of(self, code: int, within: Mask | None = None) -> tuple[Numbers, Numbers]:
        """The sources and targets of the edges of one relation."""
        chosen = self.relation == code
        if within is not None:
            chosen &= within
        return self.source[chosen], self.target[chosen]

    def text_of(self, ids: Ids, row: int) -> str:
        """The description of an edge in messages."""
        return f"{ids[self.source[row]]!r} {RELATIONS[self.relation[row]].name} {ids[self.target[row]]!r}"


def check(ids: Ids, kinds: NDArray[np.uint8], edges: Edges) -> None:
    """Raise if ids are not unique, if an edge connects the wrong kinds, or if it is a loop that PROV excludes."""
    ids.check_unique()
    if len(kinds) and kinds.max() >= _ANY:
        raise BadGraph(f"{ids[int(kinds.argmax())]!r} has a kind that PROV does not have; there are {', '.join(KINDS)}")
    for ends, place in ((edges.source, 0), (edges.target, 1)):
        if len(ends) and (ends.min() < 0 or ends.max() >= len(kinds)):
            row = int(np.flatnonzero((ends < 0) | (ends >= len(kinds)))[0])
            raise BadGraph(f"edge {row} leads to vertex number {ends[row]}, and there are {len(kinds)} vertices")
        wrong = ~_FITS[edges.relation, place, kinds[ends]]
        if wrong.any():
            row = int(wrong.argmax())
            relation = RELATIONS[edges.relation[row]]
            wanted = relation.target if place else relation.source
            raise BadGraph(
                f"{edges.text_of(ids, row)}: {ids[ends[row]]!r} is an {KINDS[kinds[ends[row]]]}, "
                f"and an {wanted} belongs there"
            )
    for row in np.flatnonzero(edges.source == edges.target).tolist():
        if not RELATIONS[edges.relation[row]].loops:
            raise BadGraph(f"{edges.text_of(ids, row)}: nothing can have this relation to itself")
        warnings.warn(f"{edges.text_of(ids, row)}: an edge from a vertex to itself", GraphWarning, stacklevel=4)


def ancestry_of(count: int, edges: Edges, derivations: tuple[int, ...]) -> Ancestry:
    """The ancestry edges in compressed rows."""
    derived = np.isin(edges.relation, derivations)
    return Ancestry(
        count, *edges.of(GENERATED), *edges.of(USED), edges.source[derived], edges.target[derived]
    )  # fmt: skip


def check_cycles(
    ids: Ids, edges: Edges, ancestry: Ancestry, derivations: tuple[int, ...], lenient: bool
) -> bool:  # fmt: skip
    """Return whether the graph is acyclic. PROV allows only cycles with an activity, which may use what it made."""
    count = len(ids)
    if len(ancestry.order) == count:
        return True
    none = np.zeros(0, np.int32)
    derived = Ancestry(count, none, none, none, none, *edges.of(DERIVED))
    invalid = len(derived.order) < count
    chosen = np.isin(edges.relation, (DERIVED,) if invalid else (USED, GENERATED, *derivations))
    shown = shown_cycle(
        ids, cycle_among(edges.source[chosen], edges.target[chosen], derived if invalid else ancestry, count)
    )
    if invalid and not lenient:
        raise BadGraph(f"a cycle of derivations, which is impossible in time: {shown}")
    warnings.warn(
        f"a cycle: {shown}. Questions still work, but finding similar paths takes time that grows with the square"
        " of the history, and is refused for large ones; give each version its own id to avoid this",
        GraphWarning, stacklevel=4,
    )  # fmt: skip
    return False


def shown_cycle(ids: Ids | Sequence[str], cycle: Sequence[int]) -> str:
    """A cycle as text: the ids of its first vertices."""
    return " -> ".join(repr(ids[vertex]) for vertex in cycle[:8]) + (" -> ..." if len(cycle) > 8 else "")


def cycle_among(source: Numbers, target: Numbers, ordered: Ancestry, count: int) -> list[int]:
    """Find a cycle: from a vertex without a topological position, follow edges to others without one."""
    left = np.ones(count, np.bool_)
    left[ordered.order] = False
    chosen = left[source] & left[target]
    onward = dict(zip(source[chosen].tolist(), target[chosen].tolist(), strict=True))
    vertex, seen = int(np.flatnonzero(left)[0]), dict[int, int]()
    while vertex not in seen:
        seen[vertex] = len(seen)
        vertex = onward[vertex]
    path = list(seen)[seen[vertex] :]
    return [*path, vertex]
