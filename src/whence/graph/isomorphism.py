"""Test whether two small labelled graphs with roots are isomorphic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

Step = tuple[int, int, int]  # direction (0 out, 1 in), relation, vertex
STEPS = 20_000  # steps of the search; if it finds nothing, the graphs count as different


@dataclass(frozen=True)
class Ball:
    """The vertices within k steps of a root. The root is vertex 0; `labels` and `steps` are by vertex."""

    labels: tuple[Hashable, ...]
    steps: tuple[tuple[Step, ...], ...]

    @property
    def is_tree(self) -> bool:
        """Whether there is only one path from the root to each vertex. Then colours alone distinguish the graphs."""
        return sum(map(len, self.steps)) == 2 * (len(self.labels) - 1)


def ball(root: int, k: int, steps: Sequence[Sequence[Step]], labels: Sequence[Hashable]) -> Ball:
    """The vertices within k steps of a vertex, in either direction, and all edges between them. Labels include the
    distance.
    """
    number, distance, frontier = {root: 0}, [0], [root]
    for away in range(1, k + 1):
        reached = []
        for vertex in frontier:
            for _, _, other in steps[vertex]:
                if other not in number:
                    number[other] = len(number)
                    distance.append(away)
                    reached.append(other)
        frontier = reached
    own = [
        tuple((side, relation, number[other]) for side, relation, other in steps[vertex] if other in number)
        for vertex in number
    ]
    return Ball(tuple(zip(distance, (labels[vertex] for vertex in number), strict=True)), tuple(own))


def colours(balls: Sequence[Ball]) -> list[list[int]]:
    """Refine the colours of the vertices of several balls until they are stable. A colour means the same in all
    balls.
    """
    table: dict[Hashable, int] = {}
    found = [[table.setdefault(label, len(table)) for label in each.labels] for each in balls]
    count = len(table)
    while True:
        table = {}
        found = [
            [
                table.setdefault((old[vertex], _coloured_steps(each.steps[vertex], old)), len(table))
                for vertex in range(len(each.labels))
            ]
            for each, old in zip(balls, found, strict=True)
        ]
        if len(table) == count:
            return found
        count = len(table)


def _coloured_steps(steps: Sequence[Step], colour: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    return tuple(sorted((side, relation, colour[other]) for side, relation, other in steps))


def isomorphic(a: Ball, b: Ball) -> bool:
    """Whether a bijection preserves root, labels and edges: compare colours, then search among vertices of the same
    colour.

    >>> tree = Ball(("r", "x"), (((0, 0, 1),), ((1, 0, 0),)))
    >>> isomorphic(tree, tree), isomorphic(tree, Ball(("r", "y"), tree.steps))
    (True, False)
    """
    if len(a.labels) != len(b.labels) or sum(map(len, a.steps)) != sum(map(len, b.steps)):
        return False
    first, second = colours([a, b])
    if Counter(first) != Counter(second):
        return False
    size = Counter(first)
    order = sorted(range(len(first)), key=lambda vertex: (size[first[vertex]], vertex))
    places: dict[int, list[int]] = {}
    for vertex, colour in enumerate(second):
        places.setdefault(colour, []).append(vertex)
    edges_a, edges_b = ([Counter(each) for each in graph.steps] for graph in (a, b))
    return _find_bijection(order, first, places, edges_a, edges_b)


def _find_bijection(
    order: Sequence[int], colour: Sequence[int], places: Mapping[int, Sequence[int]],
    edges_a: Sequence[Counter[Step]], edges_b: Sequence[Counter[Step]],
) -> bool:  # fmt: skip
    image: dict[int, int] = {}
    taken: set[int] = set()
    choices = [iter(places[colour[order[0]]])] if order else []
    left = STEPS
    while choices:
        vertex = order[len(choices) - 1]
        if vertex in image:  # undo the last choice
            taken.discard(image.pop(vertex))
        for other in choices[-1]:
            left -= 1
            if left < 0:
                return False
            if other not in taken and _agrees(vertex, other, image, edges_a, edges_b):
                image[vertex] = other
                taken.add(other)
                break
        else:
            choices.pop()
            continue
        if len(choices) == len(order):
            return True
        choices.append(iter(places[colour[order[len(choices)]]]))
    return not order


def _agrees(
    vertex: int,
    other: int,
    image: Mapping[int, int],
    edges_a: Sequence[Counter[Step]],
    edges_b: Sequence[Counter[Step]],
) -> bool:
    """Whether the edges to vertices that have an image match the edges between the images."""
    here = {
        (side, relation, other if end == vertex else image[end]): count
        for (side, relation, end), count in edges_a[vertex].items()
        if end == vertex or end in image
    }
    images = {*image.values(), other}
    there = {step: count for step, count in edges_b[other].items() if step[2] in images}
    return here == there
