"""Paths between two vertices along ancestry edges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import TooLarge
from whence.graph.model import GENERATED, USED, Mask

if TYPE_CHECKING:
    from whence.graph._graph import Graph

Path = list[tuple[str, str, str]]


def shortest_path(graph: Graph, start: str, end: str) -> Path | None:
    """Return the edges of one shortest path back, or None if there is none."""
    first, last = int(graph.numbers(start)[0]), int(graph.numbers(end)[0])
    before = graph.ancestry.shortest(np.array([first], np.int32), True)
    if before[last] < 0:
        return None
    steps = [last]
    while steps[-1] != first:
        steps.append(int(before[steps[-1]]))
    steps.reverse()
    onward = _onward(graph, _mask_of(graph, steps))
    rows = [onward[source][target][0] for source, target in pairwise(steps)]
    return graph.edges_at(np.array(rows, np.int64))


def paths(graph: Graph, start: str, end: str, most: int) -> Iterator[Path]:
    """Yield all paths back that visit no vertex twice, depth first."""
    first, last = int(graph.numbers(start)[0]), int(graph.numbers(end)[0])
    between = graph.ancestry.reach(np.array([first], np.int32), True).astype(np.bool_)
    between &= graph.ancestry.reach(np.array([last], np.int32), False).astype(np.bool_)
    onward = _onward(graph, between)
    found = 0
    path: list[int] = []  # rows of the edge table
    here, on_path = [first], {first}
    choices = [iter([(row, target) for target, rows in onward.get(first, {}).items() for row in rows])]
    if first == last:
        return
    while choices:
        step = next(choices[-1], None)
        if step is None:
            choices.pop()
            on_path.discard(here.pop())
            if path:
                path.pop()
            continue
        row, vertex = step
        if vertex in on_path:
            continue
        if vertex == last:
            found += 1
            if found > most:
                raise TooLarge(f"there are more than {most:,} paths from {start!r} to {end!r}: give a greater `most`")
            yield graph.edges_at(np.array([*path, row], np.int64))
            continue
        path.append(row)
        here.append(vertex)
        on_path.add(vertex)
        choices.append(iter([(row, target) for target, rows in onward.get(vertex, {}).items() for row in rows]))


def _mask_of(graph: Graph, vertices: list[int]) -> Mask:
    mask = np.zeros(len(graph), np.bool_)
    mask[vertices] = True
    return mask


def _onward(graph: Graph, within: Mask) -> dict[int, dict[int, list[int]]]:
    """For each of these vertices, its older neighbours among them, with the rows of the edges."""
    table = graph.edge_table
    chosen = np.flatnonzero(
        np.isin(table.relation, (USED, GENERATED, *graph.derivations)) & within[table.source] & within[table.target]
    )
    found: dict[int, dict[int, list[int]]] = {}
    ends = (table.source[chosen].tolist(), table.target[chosen].tolist(), chosen.tolist())
    for source, target, row in zip(*ends, strict=True):
        found.setdefault(source, {}).setdefault(target, []).append(row)
    return found
