"""Find similar paths with equal properties on a graph with a cycle, by following pairs of vertices step by step.

Without a cycle, the native core does this in topological order, which is much faster. With a cycle there is no such
order.
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
Steps = dict[int, list[tuple[int, int]]]  # by vertex: the label of an edge, and the older vertex


def mark_matching(labels: Labels, sources: Numbers, destinations: Numbers, most: int, marks: NDArray[np.uint8]) -> None:
    """Mark the vertices on paths that match a path to a source; raise TooLarge after `most` steps of pairs.

    Two walkers start together at a destination and take steps with equal labels; the second walks to a source. The
    vertices between the ends must have equal labels; the last entities may differ.
    """
    ends, vertex = set(sources.tolist()), labels.vertex.tolist()
    steps = {
        True: _steps_by_vertex(labels.generators, labels.generated),
        False: _steps_by_vertex(labels.inputs, labels.used),
    }
    before: dict[tuple[Pair, bool], list[tuple[Pair, bool]]] = {}  # the states before a state; True: a pair of entities
    front: list[tuple[Pair, bool]] = [((each, each), True) for each in destinations.tolist()]
    seen = set(front)
    arrived: list[
        tuple[tuple[Pair, bool], int]
    ] = []  # the state before the second walker arrives, and the first one's end
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
