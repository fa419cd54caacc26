"""Merging the vertices of a labelled graph, as far as that adds no path (Lemmas 3 and 5 of the paper).

Two vertices may be merged if the same paths lead to them, or the same paths lead on from them, or if one is dominated
by the other in both. The first two hold for whole classes at once: in the merged graph, whatever path leads to a class
led to each of its members. The third does not: merging u into v makes more paths lead to what follows u and on from
what precedes it, so that only vertices none of which follows another are merged in one go.

What leads to a vertex, and on from it, is compared by simulation, which is fast and merges a little less than could be
merged, but never wrongly. What is left is then, where that is affordable, compared exactly (`traces`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence._core import Preorder, bisimulation
from whence.graph.model import Numbers
from whence.graph.traces import Traces, Unaffordable

MANY = 5_000  # vertices up to which several orders of merging are tried
SMALL = 2_000  # ... up to which paths are compared exactly in the end
EXACT = 300_000  # budget of that, for one look at one side of the graph: vertices followed, and pairs compared
SIMULATED = 60_000  # vertices up to which simulation is computed: its memory grows with the square
ORDERS = (("dominated", "in", "out"), ("in", "out", "dominated"), ("out", "in", "dominated"))


def unique_rows(*columns: NDArray[np.integer[Any]]) -> tuple[Numbers, ...]:
    """The rows of columns of small numbers, each once and in order; rows become one number, which is quick to sort.

    >>> [each.tolist() for each in unique_rows(np.array([1, 0, 1]), np.array([2, 5, 2]))]
    [[0, 1], [5, 2]]
    """
    sides = [int(each.max(initial=0)) + 1 for each in columns]
    if math.prod(sides) >= 2**63:
        rows = np.unique(np.stack(columns, axis=1), axis=0)
        return tuple(np.ascontiguousarray(rows[:, place]).astype(np.int32) for place in range(len(columns)))
    key = np.zeros(len(columns[0]), np.int64)
    for each, side in zip(columns, sides, strict=True):
        key = key * side + each
    key = np.unique(key)
    found = []
    for side in reversed(sides):
        key, rest = np.divmod(key, side)
        found.append(rest.astype(np.int32))
    return tuple(reversed(found))


@dataclass(frozen=True)
class Labelled:
    """A graph whose vertices and edges have labels; no edge is there twice."""

    labels: Numbers
    source: Numbers
    target: Numbers
    edge: Numbers

    def __len__(self) -> int:
        return len(self.labels)

    def seen(self, side: str) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """As the kernels take it: from each vertex to its children (`out`), or to its parents (`in`)."""
        ends = (self.source, self.target) if side == "out" else (self.target, self.source)
        return self.labels, *ends, self.edge

    def steps(self, side: str) -> list[list[tuple[int, int]]]:
        """The same as lists: edge label and vertex."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(len(self))]
        _, here, there, edge = self.seen(side)
        for a, b, label in zip(here.tolist(), there.tolist(), edge.tolist(), strict=True):
            found[a].append((label, b))
        return found

    def merged(self, classes: Numbers) -> Labelled:
        """The graph whose vertices are the classes of vertices."""
        count = int(classes.max()) + 1 if len(classes) else 0
        labels = np.zeros(count, np.int32)
        labels[classes] = self.labels
        edge, source, target = unique_rows(self.edge, classes[self.source], classes[self.target])
        return Labelled(labels, source, target, edge)


@dataclass(frozen=True)
class Merged:
    """What each vertex became part of. `exact`: paths were compared exactly, and no two vertices are left to merge."""

    graph: Labelled
    classes: Numbers
    exact: bool

    @property
    def count(self) -> int:
        """How many vertices there are now."""
        return len(self.graph)

    def then(self, other: Merged) -> Merged:
        """Both, one after the other."""
        return Merged(other.graph, other.classes[self.classes], other.exact)


def merge(graph: Labelled) -> Merged:
    """The smallest graph found; every order of merging gives a valid one."""
    start = _bisimilar(graph)
    tries = [_merge(start.graph, order, exact=False) for order in (ORDERS if len(graph) <= MANY else ORDERS[1:2])]
    found = start.then(min(tries, key=lambda each: each.count))
    if found.count > SMALL:
        return found
    return found.then(_merge(found.graph, ORDERS[1], exact=True))


def _bisimilar(graph: Labelled) -> Merged:
    """The cheap part, linear in the graph: what comes about, or goes on, in the very same way is merged."""
    classes = np.arange(len(graph), dtype=np.int32)
    while True:
        before = len(graph)
        for side in ("in", "out"):
            own = bisimulation(*graph.seen(side))
            graph, classes = graph.merged(own), own[classes]
        if len(graph) == before:
            return Merged(graph, classes, False)


def _merge(graph: Labelled, order: Sequence[str], exact: bool) -> Merged:
    """One step after another, until none of them merges anything."""
    classes = np.arange(len(graph), dtype=np.int32)
    idle, turn = 0, 0
    while idle < len(order):
        before, step = len(graph), order[turn]
        try:
            own = _dominated(graph, exact) if step == "dominated" else _classes_of_traces(graph, step, exact)
        except Unaffordable:
            return Merged(graph, classes, False)
        graph, classes = graph.merged(own), own[classes]
        # Each look at a large graph takes long: it is worth another only if it merged more than a few vertices.
        few = before // 100 if before > MANY else 0
        idle = idle + 1 if before - len(graph) <= few else 0
        if idle or step != "dominated":  # only some of the dominated are merged in one go: look again
            turn = (turn + 1) % len(order)
    return Merged(graph, classes, exact)


def _classes_of_traces(graph: Labelled, side: str, exact: bool) -> Numbers:
    """Classes of vertices with the same traces on one side."""
    if exact:
        return _numbered(_traces(graph, side).number)
    if len(graph) > SIMULATED:
        return bisimulation(*graph.seen(side))
    return Preorder(*graph.seen(side)).classes()


def _traces(graph: Labelled, side: str) -> Traces:
    return Traces(graph.labels.tolist(), graph.steps(side), EXACT)


def _numbered(values: Sequence[int]) -> Numbers:
    table: dict[int, int] = {}
    return np.fromiter((table.setdefault(value, len(table)) for value in values), np.int32, len(values))


def _dominated(graph: Labelled, exact: bool) -> Numbers:
    """Classes in which vertices stand with one that dominates them on both sides."""
    if exact:
        above = _dominating(graph, _traces(graph, "in"), _traces(graph, "out"))
    elif len(graph) > SIMULATED:
        return np.arange(len(graph), dtype=np.int32)
    else:
        above = Preorder.above_in_both(Preorder(*graph.seen("in")), Preorder(*graph.seen("out")))
    chosen = _antichain(graph, np.flatnonzero(above >= 0).tolist())
    target = list(range(len(graph)))
    for vertex in chosen:
        target[vertex] = int(above[vertex])
    for vertex in chosen:  # what it is merged into may itself be merged into another
        seen = [vertex]
        while target[seen[-1]] != seen[-1] and target[seen[-1]] not in seen:
            seen.append(target[seen[-1]])
        for each in seen:
            target[each] = seen[-1]
    return _numbered(target)


def _dominating(graph: Labelled, before: Traces, after: Traces) -> Numbers:
    blocks: dict[int, list[int]] = {}
    for vertex, label in enumerate(graph.labels.tolist()):
        blocks.setdefault(label, []).append(vertex)
    above = np.full(len(graph), -1, np.int32)
    for block in blocks.values():
        for u in block:
            for v in block:
                if v != u and before.below(u, v) and after.below(u, v):
                    above[u] = v
                    break
    return above


def _antichain(graph: Labelled, candidates: Sequence[int]) -> list[int]:
    """Some of the vertices, such that no path leads from one to another."""
    if not candidates:
        return []
    sides = [graph.steps("out"), graph.steps("in")]
    blocked: list[set[int]] = [set(), set()]
    chosen = []
    for vertex in candidates:
        if vertex in blocked[0] or vertex in blocked[1]:
            continue
        chosen.append(vertex)
        for steps, seen in zip(sides, blocked, strict=True):
            stack = [vertex]
            while stack:
                for _, other in steps[stack.pop()]:
                    if other not in seen:
                        seen.add(other)
                        stack.append(other)
    return chosen
