"""The way to an answer, against brute force: random graphs of relations and activities, with cycles."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.store.derivations.adjacency import Adjacency, Direction, Way
from whence.store.derivations.walk import plan
from whence.testing.oracle import RawRelation, as_cells
from whence.testing.strategies import effort, shapes

Cell = tuple[int, ...]
Edge = tuple[str, str, RawRelation, str]
ActivityInfo = tuple[list[str], list[str]]


class Known:
    """Datasets, derivations with relations, and activities without: as the walk has them, and as pairs of cells."""

    def __init__(
        self, datasets: dict[str, tuple[int, ...]], edges: list[Edge], deeds: list[ActivityInfo], order: list[int]
    ):
        self.datasets, self.edges, self.deeds = datasets, edges, deeds
        self.graph = Adjacency()
        for name, shape in datasets.items():
            self.graph.add_dataset(name, shape)
        for place in order:  # relations and activities are recorded in any order
            if place < len(edges):
                output, source, _, kind = edges[place]
                self.graph.add_edge(output, source, str(place), kind, f"op#{place}")
            else:
                used, generated = deeds[place - len(edges)]
                self.graph.add_activity(place, f"act#{place}", used, generated)

    def load(self, way: Way) -> wh.Relation:
        raw = self.edges[int(way.hash)][2]
        return wh.compress(sorted(raw.tuples), raw.out_shape, raw.in_shape)

    def cells(self, name: str) -> set[Cell]:
        return set(itertools.product(*map(range, self.datasets[name])))

    def whole(self) -> set[tuple[str, str, str]]:
        """(output, input, activity) of what goes as a whole: no relation says where the output came from."""
        bound = {output for output, *_ in self.edges}
        return {
            (output, source, f"act#{len(self.edges) + place}")
            for place, (used, generated) in enumerate(self.deeds)
            for output in generated
            for source in used
            if output not in bound
        }

    def onward(self, direction: Direction, name: str, cells: set[Cell]) -> dict[tuple[str, str], set[Cell]]:
        """Where cells of one dataset lead in one step, by dataset and activity."""
        found: dict[tuple[str, str], set[Cell]] = {}
        for place, (output, source, raw, _) in enumerate(self.edges):
            here, there = (output, source) if direction == "backward" else (source, output)
            if here == name:
                reached = raw.backward(cells) if direction == "backward" else raw.forward(cells)
                found[there, f"op#{place}"] = set(reached)
        for output, source, label in self.whole():
            here, there = (output, source) if direction == "backward" else (source, output)
            if here == name and cells:
                found[there, label] = self.cells(there)
        return found

    def closure(self, direction: Direction, start: str, cells: set[Cell]) -> dict[str, set[Cell]]:
        reached, waiting = {start: set(cells)}, [start]
        while waiting:
            here = waiting.pop()
            for (there, _), found in self.onward(direction, here, reached[here]).items():
                if not found <= reached.setdefault(there, set()):
                    reached[there] |= found
                    waiting.append(there)
        return {name: found for name, found in reached.items() if found}


@st.composite
def known(draw: st.DrawFn) -> Known:
    names = [f"d{i}" for i in range(draw(st.integers(2, 6)))]
    datasets = {name: draw(shapes(max_axes=2, max_side=3, max_cells=6)) for name in names}
    edges: list[Edge] = []
    for _ in range(draw(st.integers(0, 6))):
        output, source = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        axes = (*datasets[output], *datasets[source])
        every = sorted(itertools.product(*map(range, axes)))
        tuples = draw(st.frozensets(st.sampled_from(every), min_size=min(3, len(every)))) if every else frozenset()
        raw = RawRelation(datasets[output], datasets[source], frozenset(tuples))
        edges.append((output, source, raw, draw(st.sampled_from(["boxes", "selection", "whole"]))))
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)
    deeds = [(draw(some), draw(some)) for _ in range(draw(st.integers(0, 3)))]
    order = draw(st.permutations(range(len(edges) + len(deeds))))
    return Known(datasets, edges, deeds, list(order))


def cells_of(selection: wh.Selection) -> set[Cell]:
    return set(as_cells(selection.cells()))


@given(known(), st.data())
@effort(200)
def test_steps_are_the_way(made: Known, data: st.DataObject) -> None:
    direction: Direction = data.draw(st.sampled_from(["backward", "forward"]))
    start = data.draw(st.sampled_from(sorted(made.datasets)))
    everything = sorted(made.cells(start))
    asked = set(data.draw(st.lists(st.sampled_from(everything), min_size=1, unique=True))) if everything else set()
    selection = wh.Selection.from_cells(sorted(asked), made.datasets[start])
    answer = plan(made.graph, start, direction, None).follow(selection, made.load)
    expected = made.closure(direction, start, asked)

    assert {name: cells_of(found) for name, found in answer.reached.items()} == expected
    for name, found in answer.items():
        assert cells_of(found) == expected.get(name, set())

    steps = {(step.previous, step.dataset, str(step.activity)): step for step in answer.steps}
    assert len(steps) == len(answer.steps)
    whole = {label for *_, label in made.whole()}
    ways = {
        (here, there, label): found
        for here, cells in expected.items()
        for (there, label), found in made.onward(direction, here, cells).items()
        if found
    }
    assert set(steps) <= set(ways)
    # Of an activity with several on both sides, not every pair is a step; of relations every one is.
    assert {way for way in ways if way[2] not in whole} <= set(steps)
    for way, step in steps.items():
        assert step.count == len(ways[way])
        assert step.direction == direction
        if way[2] in whole:
            assert step.how == "activity"
        assert (step.reason is not None) == (
            (step.how in ("activity", "whole")) and math.prod(made.datasets[step.dataset]) > 1
        )
    reached_by = {start, *(step.dataset for step in answer.steps)}
    assert reached_by >= set(expected)
    assert answer.precise == (not any(step.reason for step in answer.steps) and not _alone(made, expected, direction))


def _alone(made: Known, expected: dict[str, set[Cell]], direction: Direction) -> bool:
    """Whether something was reached that an activity made of nothing, and nothing else is known of."""
    if direction == "forward":
        return False
    bound = {output for output, *_ in made.edges} | {output for output, *_ in made.whole()}
    return any(
        each in expected and each not in bound for used, generated in made.deeds if not used for each in generated
    )


def test_a_step_around_a_cycle_counts_all_that_it_reached() -> None:
    following = frozenset((i, i + 1) for i in range(29))  # each cell came from the next one
    made = Known({"x": (30,)}, [("x", "x", RawRelation((30,), (30,), following), "boxes")], [], [0])
    answer = plan(made.graph, "x", "backward", None).follow(wh.Selection.parse("17", (30,)), made.load)
    [step] = answer.steps
    assert step.count == 12
    assert cells_of(answer["x"]) == {(i,) for i in range(17, 30)}
