"""Segments that share vertices: which of them can be put on top of each other without a new path.

In the union of segments, a path may enter a shared vertex in one segment and leave it in another, and then no segment
has it. Each edge belongs to some segments; a path of the union is one of a segment if a segment is among those of all
its edges. So for each vertex the sets of segments that paths to it can be left with are gathered, youngest vertex
first. If none of them is empty, the union has no other paths than the segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Key = tuple[int, int]  # a graph, and the number of a vertex or the row of an edge
WORK = 3_000_000  # steps that the search for groups may take; what is left then stays apart
_SETS = 64  # sets of segments at one vertex, beyond which a union is not followed


@dataclass(frozen=True)
class Part:
    """A segment, as a summary follows it: its vertices, and its edges with their younger and older end."""

    graph: int
    vertices: NDArray[np.int64]
    rows: NDArray[np.int64]
    younger: NDArray[np.int64]
    older: NDArray[np.int64]

    def edges(self) -> Iterator[tuple[Key, int, int]]:
        """Edges with their ends."""
        for row, younger, older in zip(self.rows.tolist(), self.younger.tolist(), self.older.tolist(), strict=True):
            yield (self.graph, row), younger, older

    def things(self) -> Iterator[tuple[int, int, bool]]:
        """All that it consists of."""
        yield from ((self.graph, number, False) for number in self.vertices.tolist())
        yield from ((self.graph, row, True) for row in self.rows.tolist())


class Unsure(Exception):
    """Whether a union has other paths would take too long to find out."""


class _Budget:
    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise Unsure


def groups(parts: Sequence[Part], work: int = WORK) -> list[int]:
    """For each part the number of its group; the union of a group has the paths of its members and no others.

    All that overlap are one group if that is possible. Otherwise a part belongs to one that contains it, and the
    largest are put together one by one, as long as no path is added.
    """
    budget = _Budget(work)
    found = list(range(len(parts)))
    for members in _components(parts):
        if _adds_no_path([parts[each] for each in members], budget):
            for each in members:
                found[each] = members[0]
            continue
        leaders = _contained(parts, members, found)
        gathered: list[list[int]] = []
        for leader in leaders:
            for group in gathered:
                if _adds_no_path([parts[each] for each in (*group, leader)], budget):
                    group.append(leader)
                    break
            else:
                gathered.append([leader])
        first = {leader: group[0] for group in gathered for leader in group}
        for each in members:
            found[each] = first[found[each]]
    return found


def _components(parts: Sequence[Part]) -> list[list[int]]:
    """The parts that overlap with each other, directly or by others."""
    parent = list(range(len(parts)))

    def root(each: int) -> int:
        while parent[each] != each:
            parent[each] = parent[parent[each]]
            each = parent[each]
        return each

    owner: dict[Key, int] = {}
    for place, part in enumerate(parts):
        for number in part.vertices.tolist():
            parent[root(place)] = root(owner.setdefault((part.graph, number), place))
    found: dict[int, list[int]] = {}
    for place in range(len(parts)):
        found.setdefault(root(place), []).append(place)
    return list(found.values())


def _contained(parts: Sequence[Part], members: Iterable[int], found: list[int]) -> list[int]:
    """Assign each part that another contains to that one; the others are returned, the largest first."""
    leaders: list[int] = []
    owners: dict[tuple[int, int, bool], int] = {}  # of each vertex and edge the leaders that have it, as bits
    for place in sorted(members, key=lambda each: -len(parts[each].vertices) - len(parts[each].rows)):
        common = (1 << len(leaders)) - 1
        for key in parts[place].things():
            common &= owners.get(key, 0)
            if not common:
                break
        if common:
            found[place] = leaders[(common & -common).bit_length() - 1]
            continue
        for key in parts[place].things():
            owners[key] = owners.get(key, 0) | 1 << len(leaders)
        leaders.append(place)
    return leaders


def _adds_no_path(parts: Sequence[Part], budget: _Budget) -> bool:
    """Whether the union certainly has no other paths than the parts."""
    if len(parts) == 1:
        return True
    try:
        return _is_covered(parts, budget)
    except Unsure:
        return False


def _is_covered(parts: Sequence[Part], budget: _Budget) -> bool:
    of_vertex: dict[int, int] = {}
    of_edge: dict[Key, int] = {}
    ends: dict[Key, tuple[int, int]] = {}
    for place, part in enumerate(parts):
        budget.spend(len(part.vertices) + len(part.rows))
        for number in part.vertices.tolist():
            of_vertex[number] = of_vertex.get(number, 0) | 1 << place
        for key, younger, older in part.edges():
            of_edge[key] = of_edge.get(key, 0) | 1 << place
            ends[key] = (younger, older)
    onward: dict[int, list[tuple[int, int]]] = {}
    waiting = dict.fromkeys(of_vertex, 0)
    for key, (younger, older) in ends.items():
        onward.setdefault(younger, []).append((older, of_edge[key]))
        waiting[older] += 1
    sets: dict[int, set[int]] = {}
    ready = [vertex for vertex, count in waiting.items() if not count]
    done = 0
    while ready:
        vertex = ready.pop()
        done += 1
        here = _smallest(sets.pop(vertex, {of_vertex[vertex]}))
        for older, segments in onward.get(vertex, ()):
            budget.spend(len(here))
            following = {each & segments for each in here}
            if 0 in following:
                return False
            held = sets.setdefault(older, set())
            held |= following
            waiting[older] -= 1
            if not waiting[older]:
                ready.append(older)
    return done == len(of_vertex)  # less if the union has a cycle, which none of the parts has


def _smallest(sets: set[int]) -> list[int]:
    """Those that contain no other: what is left of these is left of the others, too."""
    found: list[int] = []
    for each in sorted(sets, key=int.bit_count):
        if not any(other & each == other for other in found):
            found.append(each)
    if len(found) > _SETS:
        raise Unsure
    return found
