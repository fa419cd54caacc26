"""pSum, which the paper on PgSum compares with: merge answer graphs of keyword queries (Wu et al., PVLDB 2013).

Two additional vertices, start and end, are the keywords: start has an edge to all vertices without incoming edges, and
all vertices without outgoing edges have an edge to end. A vertex is dominated by another if each of its neighbours, on
either side, is dominated by a neighbour of the other. This is one relation for both sides, where PgSum has two.
Dominated vertices are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Edge = tuple[int, int, int]  # source, label, target


def dominance(labels: Sequence[object], edges: Iterable[Edge]) -> list[int]:
    """Return for each vertex the set of those that dominate it, including itself, as the bits of an integer."""
    count = len(labels)
    held = list(edges)
    heads, tails = {target for _, _, target in held}, {source for source, _, _ in held}
    names: list[object] = [*labels, ("start",), ("end",)]
    held += [(count, -1, v) for v in range(count) if v not in heads]
    held += [(v, -1, count + 1) for v in range(count) if v not in tails]
    around: list[dict[tuple[int, int], list[int]]] = [{} for _ in names]
    for source, label, target in held:
        around[source].setdefault((0, label), []).append(target)
        around[target].setdefault((1, label), []).append(source)
    alike: dict[object, int] = {}
    for vertex, name in enumerate(names):
        alike[name] = alike.get(name, 0) | 1 << vertex
    above = [alike[name] for name in names]
    waiting = set(range(len(names)))
    while waiting:
        vertex = waiting.pop()
        for (side, label), others in around[vertex].items():
            # The vertices with an edge of this type to a vertex that dominates `vertex`.
            reached, rest = 0, above[vertex]
            while rest:
                other = (rest & -rest).bit_length() - 1
                rest &= rest - 1
                for each in around[other].get((side, label), ()):
                    reached |= 1 << each
            for each in others:
                if above[each] & ~reached:
                    above[each] &= reached
                    waiting.add(each)
    return above[:count]


def psum(labels: Sequence[object], edges: Iterable[Edge]) -> int:
    """Return the number of vertices of pSum's summary: the classes of vertices that only their equals dominate."""
    above = dominance(labels, edges)
    kept = 0
    for vertex, own in enumerate(above):
        rest, first, greatest = own, True, True
        while rest and greatest:
            other = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            equal = above[other] >> vertex & 1
            greatest = bool(equal)
            first = first and not (equal and other < vertex)
        kept += first and greatest
    return kept
