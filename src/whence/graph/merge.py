"""Merge the vertices of a labelled graph without adding paths (Lemmas 3 and 5 of the paper).

Two vertices may be merged if the same paths lead to them, or if the same paths start at them, or if one dominates the
other in both. The first two conditions apply to whole classes at once: in the merged graph, every path to a class was a
path to each of its members. The third does not: merging u into v adds paths to the successors of u and from its
predecessors. So only vertices without paths between them are merged in one step.

The paths to and from a vertex are compared by simulation, which is fast. It merges a little less than possible, but
never incorrectly. If the remaining graph is small enough, its paths are then compared exactly (`traces`).
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

MANY = 5_000  # in graphs of up to this many vertices, several orders of merging are tried
SMALL = 2_000  # in graphs of up to this many vertices, paths are compared exactly at the end
EXACT = 300_000  # the budget of one exact comparison of one side: vertices followed, and pairs compared
SIMULATED = 60_000  # the most vertices for simulation, because its memory grows with the square
ORDERS = (("dominated", "in", "out"), ("in", "out", "dominated"), ("out", "in", "dominated"))


def unique_rows(*columns: NDArray[np.integer[Any]]) -> tuple[Numbers, ...]:
    """The distinct rows of columns of small integers, sorted. Each row is packed into one integer, which is fast to
    sort.

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
    """A graph with labels on vertices and edges; no edge occurs twice."""

    labels: Numbers
    source: Numbers
    target: Numbers
    edge: Numbers

    def __len__(self) -> int:
        return len(self.labels)

    def seen(self, side: str) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """The arguments of the kernels: from each vertex to its children (`out`), or to its parents (`in`)."""
        ends = (self.source, self.target) if side == "out" else (self.target, self.source)
        return self.labels, *ends, self.edge

    def steps(self, side: str) -> list[list[tuple[int, int]]]:
        """The same as lists of (edge label, vertex)."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(len(self))]
        _, here, there, edge = self.seen(side)
        for a, b, label in zip(here.tolist(), there.tolist(), edge.tolist(), strict=True):
            found[a].append((label, b))
        return found

    def merged(self, classes: Numbers) -> Labelled:
        """The graph with one vertex for each class of vertices."""
        count = int(classes.max()) + 1 if len(classes) else 0
        labels = np.zeros(count, np.int32)
        labels[classes] = self.labels
        edge, source, target = unique_rows(self.edge, classes[self.source], classes[self.target])
        return Labelled(labels, source, target, edge)


@dataclass(frozen=True)
class Merged:
    """The class of each vertex. If `exact`, paths were compared exactly, and no two vertices can be merged any more."""

    graph: Labelled
    classes: Numbers
    exact: bool

    @property
    def count(self) -> int:
        """The number of vertices after merging."""
        return len(self.graph)

    def then(self, other: Merged) -> Merged:
        """Combine this merge with one of the merged graph."""
        return Merged(other.graph, other.classes[self.classes], other.exact)


def merge(graph: Labelled) -> Merged:
    """Return the smallest graph found. Every order of merging gives a valid one."""
    start = _bisimilar(graph)
    tries = [_merge(start.graph, order, exact=False) for order in (ORDERS if len(graph) <= MANY else ORDERS[1:2])]
    found = start.then(min(tries, key=lambda each: each.count))
    if found.count > SMALL:
        return found
    return found.then(_merge(found.graph, ORDERS[1], exact=True))


def _bisimilar(graph: Labelled) -> Merged:
    """Merge bisimilar vertices, in time linear in the graph."""
    classes = np.arange(len(graph), dtype=np.int32)
    while True:
        before = len(graph)
        for side in ("in", "out"):
            own = bisimulation(*graph.seen(side))
            graph, classes = graph.merged(own), own[classes]
        if len(graph) == before:
            return Merged(graph, classes, False)


def _merge(graph: Labelled, order: Sequence[str], exact: bool) -> Merged:
    """Repeat the steps in this order until none of them merges anything."""
    classes = np.arange(len(graph), dtype=np.int32)
    idle, turn = 0, 0
    while idle < len(order):
        before, step = len(graph), order[turn]
        try:
            own = _dominated(graph, exact) if step == "dominated" else _classes_of_traces(graph, step, exact)
        except Unaffordable:
            return Merged(graph, classes, False)
        graph, classes = graph.merged(own), own[classes]
        # A step on a large graph takes long: repeat it only if it merged more than a few vertices.
        few = before // 100 if before > MANY else 0
        idle = idle + 1 if before - len(graph) <= few else 0
        if idle or step != "dominated":  # a step merges only some of the dominated vertices: repeat it
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
    """Classes that join each chosen vertex with one that dominates it on both sides."""
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
    for vertex in chosen:  # the target may itself be merged into another
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
    """Choose vertices such that no path leads from one to another."""
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
