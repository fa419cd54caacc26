"""Find which segments that share vertices can be overlaid without adding paths.

In the union of segments, a path may enter a shared vertex in one segment and leave it in another; then no segment has
the path. Each edge belongs to some segments. A path of the union is a path of a segment if some segment has all its
edges. So the code follows, from the youngest vertex on, the sets of segments that have all edges of a path to each
vertex. If none of these sets is empty, the union has only paths of the segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence import _core

Array = NDArray[np.int64]
Sets = NDArray[np.uint64]  # bit sets: row i is a set of integers below 64 times the number of columns
WORK = 3_000_000  # the budget of the search for groups; parts that it does not reach stay separate
_SETS = 64  # the most sets of segments at one vertex; a union with more is not followed


@dataclass(frozen=True)
class Part:
    """A segment in the form for summaries: its vertices, and its edges with their younger and older ends."""

    graph: int
    vertices: Array
    rows: Array
    younger: Array
    older: Array

    @property
    def size(self) -> int:
        """The number of vertices and edges."""
        return len(self.vertices) + len(self.rows)


def groups(parts: Sequence[Part], work: int = WORK) -> list[int]:
    """Return the group of each part. The union of a group has the paths of its members, and no others.

    A part that is contained in another belongs to that one's group. The other parts become one group if that is
    possible; otherwise they are added to groups one by one, the largest first, as long as no path is added.
    """
    judge = _Judge(work)
    found = list(range(len(parts)))
    for members in _overlapping_groups(parts):
        leaders = _contained(parts, members, found)
        gathered: list[list[int]] = []
        if judge.adds_no_path([parts[each] for each in leaders]):
            gathered.append(leaders)
        else:
            for leader in leaders:
                for group in gathered:
                    if judge.adds_no_path([parts[each] for each in (*group, leader)]):
                        group.append(leader)
                        break
                else:
                    gathered.append([leader])
        first = {leader: min(group) for group in gathered for leader in group}
        for each in members:
            found[each] = first[found[each]]
    return found


def _overlapping_groups(parts: Sequence[Part]) -> list[list[int]]:
    """The connected components of parts that overlap."""
    parent = list(range(len(parts)))

    def root(each: int) -> int:
        while parent[each] != each:
            parent[each] = parent[parent[each]]
            each = parent[each]
        return each

    for graph in dict.fromkeys(part.graph for part in parts):
        own = [place for place, part in enumerate(parts) if part.graph == graph]
        _, things = union([parts[place].vertices for place in own])
        owner = np.full(max((int(each.max(initial=-1)) for each in things), default=-1) + 1, -1, np.int64)
        for place, held in zip(own, things, strict=True):
            for other in np.unique(owner[held]).tolist():
                if other >= 0:
                    parent[root(place)] = root(other)
            owner[held] = place
    found: dict[int, list[int]] = {}
    for place in range(len(parts)):
        found.setdefault(root(place), []).append(place)
    return list(found.values())


def _contained(parts: Sequence[Part], members: Sequence[int], found: list[int]) -> list[int]:
    """Assign each part that is contained in another to that one. Return the other parts, the largest first."""
    ordered = sorted(members, key=lambda each: -parts[each].size)
    things = [union([getattr(parts[place], name) for place in ordered]) for name in ("vertices", "rows")]
    owners = [no_sets(len(whole), len(ordered)) for whole, _ in things]  # the leaders that have each vertex or edge
    leaders: list[int] = []
    for at, place in enumerate(ordered):
        held = [each[at] for _, each in things]
        common = no_sets(1, len(ordered))[0] if not leaders else ~no_sets(1, len(ordered))[0]
        for own, sets in zip(held, owners, strict=True):
            common &= np.bitwise_and.reduce(sets[own], axis=0)
        bits = members_of(common)
        if bits and leaders:
            found[place] = leaders[bits[0]]
            continue
        for own, sets in zip(held, owners, strict=True):
            put(sets, own, len(leaders))
        leaders.append(place)
    return leaders


class _Judge:
    """Decides whether unions have other paths than their parts, within a budget."""

    def __init__(self, work: int) -> None:
        self.left = work

    def adds_no_path(self, parts: Sequence[Part]) -> bool:
        """Whether the union certainly has only paths of the parts. False if the budget is too small to tell."""
        work = sum(part.size for part in parts)
        if len(parts) == 1 or work > self.left:
            return len(parts) == 1
        whole, places = union([part.vertices for part in parts])
        _, rows = union([part.rows for part in parts])
        count = max((int(each.max(initial=-1)) for each in rows), default=-1) + 1
        ends = np.zeros((2, count), np.int32)
        of_vertex, of_edge = no_sets(len(whole), len(parts)), no_sets(count, len(parts))
        for number, (part, own, held) in enumerate(zip(parts, places, rows, strict=True)):
            put(of_vertex, own, number)
            put(of_edge, held, number)
            ends[0][held] = np.searchsorted(whole, part.younger)
            ends[1][held] = np.searchsorted(whole, part.older)
        verdict, self.left = _core.covered(ends[0], ends[1], of_vertex, of_edge, self.left - work, _SETS)
        return verdict == 1


def union(parts: Sequence[Array]) -> tuple[Array, list[Array]]:
    """The sorted distinct integers of several arrays, and the positions of each array's integers among them."""
    most = max((int(each.max(initial=-1)) for each in parts), default=-1) + 1
    if most > 8 * sum(map(len, parts)):  # sparse
        whole = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
        return whole, [np.searchsorted(whole, each) for each in parts]
    has = np.zeros(most, np.bool_)
    for each in parts:
        has[each] = True
    place = np.cumsum(has) - 1
    return np.flatnonzero(has), [place[each] for each in parts]


def no_sets(things: int, members: int) -> Sets:
    """An array of empty bit sets, each for integers below `members`."""
    return np.zeros((things, (members + 63) // 64 or 1), np.uint64)


def put(sets: Sets, things: Array, member: int) -> None:
    """Add an integer to the sets of these distinct indices."""
    sets[things, member // 64] |= np.uint64(1 << (member % 64))


def members_of(words: NDArray[np.uint64]) -> list[int]:
    """The integers in a bit set.

    >>> members_of(np.array([5, 1], np.uint64))
    [0, 2, 64]
    """
    return [64 * place + bit for place, word in enumerate(words.tolist()) for bit in range(64) if word >> bit & 1]
