"""Similar paths with equal properties on a graph that has a cycle: pairs of vertices, walked step by step together.

Without a cycle the native core does this in the order of the graph, and far faster; here there is no such order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whence.errors import TooLarge
from whence.graph.model import Numbers

if TYPE_CHECKING:
    from whence.graph.similar import Labels

Pair = tuple[int, int]
Steps = dict[int, list[tuple[int, int]]]  # the label of an edge, and the older vertex it leads to


def mark_matching(labels: Labels, sources: Numbers, destinations: Numbers, most: int, marks: NDArray[np.uint8]) -> None:
    """Mark the vertices of paths that run as one to a source does; TooLarge after `most` steps of pairs.

    Two walkers leave a destination together and take steps of equal labels, the second to a source. What lies between
    the ends has to be alike, the last entities need not be.
    """
    ends, vertex = set(sources.tolist()), labels.vertex.tolist()
    steps = {
        True: _steps_by_vertex(labels.generators, labels.generated),
        False: _steps_by_vertex(labels.inputs, labels.used),
    }
    before: dict[tuple[Pair, bool], list[tuple[Pair, bool]]] = {}  # the states that lead to one; True: of entities
    front: list[tuple[Pair, bool]] = [((each, each), True) for each in destinations.tolist()]
    seen = set(front)
    arrived: list[tuple[tuple[Pair, bool], int]] = []  # from here, the first walker gets there as the second arrives
    taken = 0
    while front:
        state = front.pop()
        for one, other in _steps_of_pair(state[0], steps[state[1]]):
            taken += 1
            if taken > most:
                raise TooLarge(
                    f"matching properties takes more than {most:,} steps, because the graph has a cycle: give each"
                    " version its own id, or exclude more"
                )
            if not state[1] and other in ends:
                arrived.append((state, one))
            if vertex[one] == vertex[other]:
                following = ((one, other), not state[1])
                before.setdefault(following, []).append(state)
                if following not in seen:
                    seen.add(following)
                    front.append(following)
    marks[[one for _, one in arrived]] = 1
    back = list(dict.fromkeys(state for state, _ in arrived))
    leading = set(back)
    while back:
        state = back.pop()
        marks[state[0][0]] = 1
        for earlier in before.get(state, ()):
            if earlier not in leading:
                leading.add(earlier)
                back.append(earlier)


def _steps_by_vertex(rows: tuple[Numbers, Numbers], labels: Numbers) -> Steps:
    starts, older = rows
    pairs = list(zip(labels.tolist(), older.tolist(), strict=True))
    bounds = starts.tolist()
    return {v: pairs[bounds[v] : bounds[v + 1]] for v in range(len(bounds) - 1) if bounds[v] < bounds[v + 1]}


def _steps_of_pair(pair: Pair, steps: Steps) -> Iterator[Pair]:
    for label, one in steps.get(pair[0], ()):
        for same, other in steps.get(pair[1], ()):
            if label == same:
                yield one, other
