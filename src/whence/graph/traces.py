"""Compare traces exactly: which vertices have the same sets of paths, and which sets include others.

The code follows sets of vertices that are reached by the same word, instead of single vertices (the subset
construction). Sets with the same continuations get the same number, so two vertices are trace equivalent exactly if
their numbers are equal. This can take exponential time, so there is a budget.
"""

from __future__ import annotations

from collections.abc import Sequence

Step = tuple[int, int]  # edge label, vertex
Node = tuple[int, tuple[tuple[tuple[int, int], int], ...]]  # label; and for each (edge label, label), the next number


class Unaffordable(Exception):
    """Raised when the budget of the exact comparison is used up."""


class Traces:
    """The traces of all vertices of an acyclic graph, in one direction.

    >>> traces = Traces([0, 0, 1, 1], [[(0, 2)], [(0, 2), (0, 3)], [], []])
    >>> traces.number[0] == traces.number[1], traces.number[2] == traces.number[0], traces.below(2, 3)
    (True, False, True)
    """

    def __init__(self, labels: Sequence[int], steps: Sequence[Sequence[Step]], budget: int = 1 << 60) -> None:
        self.nodes: list[Node] = []
        self._labels, self._steps = labels, steps
        self._known: dict[Node, int] = {}
        self._sets: dict[frozenset[int], int] = {}
        self._below: dict[tuple[int, int], bool] = {}
        self._left = budget
        self.number = [self._follow(frozenset((vertex,))) for vertex in range(len(labels))]

    def _spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise Unaffordable

    def below(self, u: int, v: int) -> bool:
        """Whether every trace of u is a trace of v."""
        return self._included(self.number[u], self.number[v])

    def _follow(self, start: frozenset[int]) -> int:
        """Return the number of a set of vertices. Sets with the same continuations have the same number."""
        stack = [start]
        while stack:
            here = stack[-1]
            if here in self._sets:
                stack.pop()
                continue
            onward = self._onward(here)
            missing = [each for each in onward.values() if each not in self._sets]
            if missing:
                stack += missing
                continue
            stack.pop()
            label = self._labels[next(iter(here))]
            node = (label, tuple(sorted((key, self._sets[each]) for key, each in onward.items())))
            number = self._known.setdefault(node, len(self.nodes))
            if number == len(self.nodes):
                self.nodes.append(node)
            self._sets[here] = number
            self._spend(len(here))
        return self._sets[start]

    def _onward(self, here: frozenset[int]) -> dict[tuple[int, int], frozenset[int]]:
        gathered: dict[tuple[int, int], set[int]] = {}
        for vertex in here:
            for edge, other in self._steps[vertex]:
                gathered.setdefault((edge, self._labels[other]), set()).add(other)
        return {key: frozenset(each) for key, each in gathered.items()}

    def _included(self, a: int, b: int) -> bool:
        """Whether all continuations of a are continuations of b. Not recursive, because paths may be long."""
        stack = [(a, b)]
        while stack:
            pair = stack[-1]
            self._spend(1)
            if pair in self._below:
                stack.pop()
                continue
            (label_a, steps_a), (label_b, steps_b) = self.nodes[pair[0]], self.nodes[pair[1]]
            onward = dict(steps_b)
            if pair[0] == pair[1]:
                self._below[pair] = True
            elif label_a != label_b or any(key not in onward for key, _ in steps_a):
                self._below[pair] = False
            else:
                following = [(number, onward[key]) for key, number in steps_a]
                if any(self._below.get(each) is False for each in following):
                    self._below[pair] = False
                elif missing := next((each for each in following if each not in self._below), None):
                    stack.append(missing)
                else:
                    self._below[pair] = True
        return self._below[a, b]
