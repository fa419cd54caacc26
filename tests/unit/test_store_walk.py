"""Walks over the graph of derivations: every path counts, once, and cycles end; against a brute-force closure."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.errors import NoLineage, UnknownName
from whence.store.derivations.adjacency import Adjacency, Direction, Way
from whence.store.derivations.route import route
from whence.store.derivations.walk import plan
from whence.testing.oracle import RawRelation, as_cells
from whence.testing.strategies import effort, shapes, unions

Cell = tuple[int, ...]
Edge = tuple[str, str, RawRelation]


class Graph:
    """Some datasets and derivations, as the walk sees them and as the brute force does."""

    def __init__(self, datasets: dict[str, tuple[int, ...]], edges: list[Edge]) -> None:
        self.datasets, self.edges = datasets, edges
        self.adjacency = Adjacency()
        self.loaded: Counter[str] = Counter()
        for name, shape in datasets.items():
            self.adjacency.add_dataset(name, shape)
        for i, (output, source, _) in enumerate(edges):
            self.adjacency.add_edge(output, source, str(i))

    def load(self, way: Way) -> wh.Relation:
        self.loaded[way.hash] += 1
        raw = self.edges[int(way.hash)][2]
        return wh.compress(sorted(raw.tuples), raw.out_shape, raw.in_shape)

    def closure(self, direction: Direction, start: str, cells: frozenset[Cell]) -> set[tuple[str, Cell]]:
        """Every (dataset, cell) that can be reached, one tuple at a time."""
        reached = {(start, cell) for cell in cells}
        waiting = list(reached)
        while waiting:
            name, cell = waiting.pop()
            for output, source, raw in self.edges:
                here, there = (output, source) if direction == "backward" else (source, output)
                if here != name:
                    continue
                found = raw.backward([cell]) if direction == "backward" else raw.forward([cell])
                for each in found:
                    if (there, each) not in reached:
                        reached.add((there, each))
                        waiting.append((there, each))
        return reached

    def ask(self, direction: Direction, start: str, cells: frozenset[Cell], to: str | None) -> dict[str, set[Cell]]:
        made = plan(self.adjacency, start, direction, to)
        asked = wh.Selection.from_cells(sorted(cells), shape=self.datasets[start])
        return {name: set(as_cells(found.cells())) for name, found in made.follow(asked, self.load).items()}


@st.composite
def graphs(draw: st.DrawFn, cycles: bool) -> Graph:
    names = [f"d{i}" for i in range(draw(st.integers(1, 6)))]
    datasets = {name: draw(shapes(max_axes=2, max_side=3, max_cells=6)) for name in names}
    edges: list[Edge] = []
    for _ in range(draw(st.integers(0, 9))):
        i, j = draw(st.integers(0, len(names) - 1)), draw(st.integers(0, len(names) - 1))
        if not cycles:
            if i == j:
                continue
            i, j = max(i, j), min(i, j)
        raw = draw(unions(datasets[names[i]], datasets[names[j]]))
        edges.append((names[i], names[j], RawRelation.from_rows(*raw)))
    return Graph(datasets, edges)


@given(st.data())
@effort(150)
def test_all_paths_at_once(data: st.DataObject) -> None:
    graph = data.draw(graphs(cycles=data.draw(st.booleans())))
    direction: Direction = data.draw(st.sampled_from(("backward", "forward")))
    start = data.draw(st.sampled_from(sorted(graph.datasets)))
    every = sorted(wh.Selection.all(graph.datasets[start]))
    cells = frozenset(data.draw(st.lists(st.sampled_from(every)))) if every else frozenset()
    closure = graph.closure(direction, start, cells)
    neighbours = graph.adjacency.neighbours(direction)
    reachable = {start}
    while more := {there for name in reachable for there in neighbours[name]} - reachable:
        reachable |= more
    for to in sorted(graph.datasets):
        if to in reachable:
            expected = {cell for name, cell in closure if name == to}
            assert graph.ask(direction, start, cells, to) == {to: expected}
        else:
            with pytest.raises(NoLineage, match=f"'{to}' cannot be reached {direction} from '{start}'"):
                graph.ask(direction, start, cells, to)
    ends = graph.ask(direction, start, cells, None)
    assert ends
    for name, found in ends.items():
        assert found == {cell for each, cell in closure if each == name}
        assert name in reachable
    # From every reachable dataset the walk leads to an end, and from an end to nothing but its own cycle.
    for name in reachable:
        onward = {name}
        while more := {there for each in onward for there in neighbours[each]} - onward:
            onward |= more
        assert onward & ends.keys()
        if name in ends:
            assert onward <= ends.keys()


def test_each_relation_is_asked_once_however_many_paths_there_are() -> None:
    """Forty diamonds in a row have 2^40 paths."""
    one = RawRelation.identity((2,))
    datasets: dict[str, tuple[int, ...]] = {"d0": (2,)}
    edges: list[Edge] = []
    for i in range(40):
        for side in ("left", "right"):
            datasets[f"{side}{i}"] = (2,)
            edges += [(f"{side}{i}", f"d{i}", one), (f"d{i + 1}", f"{side}{i}", one)]
        datasets[f"d{i + 1}"] = (2,)
    graph = Graph(datasets, edges)
    assert graph.ask("backward", "d40", frozenset({(1,)}), None) == {"d0": {(1,)}}
    assert set(graph.loaded.values()) == {1}
    assert len(graph.loaded) == 160


def test_a_long_chain_needs_no_recursion() -> None:
    length = 20_000
    adjacency = Adjacency()
    for i in range(length):
        adjacency.add_dataset(f"d{i}", (3,))
    for i in range(length - 1):
        adjacency.add_edge(f"d{i + 1}", f"d{i}", "identity")
    identity = wh.Relation.identity((3,))
    found = plan(adjacency, f"d{length - 1}", "backward", None).follow(
        wh.Selection.of([(2,)], (3,)), lambda _: identity
    )
    assert {name: each.cells().tolist() for name, each in found.items()} == {"d0": [[2]]}


def test_a_cycle_is_followed_until_nothing_is_new() -> None:
    """x[i] from x[i - 1], over and over: all that lies below."""
    shift = RawRelation((30,), (30,), frozenset((i, i - 1) for i in range(1, 30)))
    graph = Graph({"x": (30,)}, [("x", "x", shift)])
    assert graph.ask("backward", "x", frozenset({(17,)}), "x") == {"x": {(i,) for i in range(18)}}
    assert graph.ask("backward", "x", frozenset({(17,)}), None) == {"x": {(i,) for i in range(18)}}
    assert graph.ask("forward", "x", frozenset({(17,)}), None) == {"x": {(i,) for i in range(17, 30)}}


def test_a_route_is_a_hop_at_a_time() -> None:
    raw = RawRelation((2,), (2,), frozenset({(0, 1)}))
    graph = Graph({"A": (2,), "B": (2,), "C": (2,)}, [("B", "A", raw), ("B", "A", RawRelation.identity((2,)))])
    [hop] = route(graph.adjacency, ["B", "A"]).hops
    assert ([way.hash for way in hop.backward], hop.forward) == (["0", "1"], ())
    [hop] = route(graph.adjacency, ["A", "B"]).hops
    assert (hop.backward, [way.hash for way in hop.forward]) == ((), ["0", "1"])
    assert set(as_cells(hop.follow(wh.Selection.of([(1,)], (2,)), graph.load).cells())) == {(0,), (1,)}
    assert route(graph.adjacency, ["A"]).hops == ()
    with pytest.raises(NoLineage, match="between 'B' and 'C': 'B' comes from 'A'; 'C' is connected to nothing"):
        route(graph.adjacency, ["A", "B", "C"])
    with pytest.raises(UnknownName, match="'D'"):
        route(graph.adjacency, ["A", "D"])


def test_many_neighbours_are_not_all_named() -> None:
    adjacency = Adjacency()
    for name in ("hub", "alone", *(f"spoke{i}" for i in range(20))):
        adjacency.add_dataset(name, ())
    for i in range(20):
        adjacency.add_edge("hub", f"spoke{i}", "whole")
    with pytest.raises(NoLineage, match=r"comes from 'spoke0', .* 'spoke4' and 15 more; 'alone'"):
        route(adjacency, ["hub", "alone"])
