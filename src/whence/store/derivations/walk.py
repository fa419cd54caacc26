"""Planning which derivations a question follows, and in what order.

Plans are immutable and created while the log's lock is held; following them needs no lock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

from whence.errors import Damaged, NoLineage
from whence.relation import RelationLike, Traced
from whence.relation.parts import asked_how
from whence.selection import Selection
from whence.store.answers import Answer
from whence.store.derivations.adjacency import LOOSE, Adjacency, Direction, Lineage, Neighbours, Way, is_activity
from whence.store.derivations.trail import Trail

Load = Callable[[Way], RelationLike]
_NAMED_CUTS = 3  # notes in an error


def moved(
    way: Way, selection: Selection, direction: Direction, shape: tuple[int, ...], load: Load,
    lineage: Lineage | Literal["cells"] = "value+selection",
) -> Traced:  # fmt: skip
    """Follow a derivation to a dataset of that shape; raise Damaged if the relation has other shapes."""
    if way.hash == LOOSE:
        return Traced(Selection.all(shape) if selection else Selection.empty(shape), None, "whole")
    relation = load(way)
    shapes = relation.out_shape, relation.in_shape
    expected = (selection.shape, shape) if direction == "backward" else (shape, selection.shape)
    if shapes != expected:
        raise Damaged(
            f"the blob of a relation has the shapes {shapes[0]} <- {shapes[1]}, and its datasets have the shapes "
            f"{expected[0]} <- {expected[1]}: `whence check` names them; record this lineage again"
        )
    traced = getattr(relation, "traced", None)
    if traced is not None:
        found: Traced = traced(selection, direction, lineage)
        return found
    how = asked_how(way.kind, relation, selection, direction == "backward")
    return Traced(relation.backward(selection) if direction == "backward" else relation.forward(selection), None, how)


def connections(graph: Adjacency, name: str) -> str:
    """Describe what a dataset is connected to, for an error."""
    parts = []
    for text, neighbours in (("comes from", graph.backward[name]), ("led to", graph.forward[name])):
        if neighbours:
            parts.append(f"{text} {_some(graph.public(each) for each in neighbours)}")
    return f"{name!r} {' and '.join(parts)}" if parts else f"{name!r} is connected to nothing"


def _some(names: Iterable[str], most: int = 5) -> str:
    quoted = [repr(name) for name in names]
    return ", ".join(quoted[:most]) + (f" and {len(quoted) - most} more" if len(quoted) > most else "")


@dataclass(frozen=True, slots=True)
class Plan:
    """A walk from one dataset along all paths.

    `order` is a topological order, except for cycles; `edges` are the derivations to follow from each dataset; `ends`
    are the datasets of the answer.
    """

    direction: Direction
    start: str
    order: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]
    edges: Mapping[str, tuple[Way, ...]]
    ends: tuple[str, ...]
    notes: Mapping[str, str] = field(default_factory=dict)  # of the datasets in `order`
    said: tuple[str, ...] = ()  # notes that do not depend on the cells
    public: Mapping[str, str] = field(default_factory=dict)  # names of datasets and activities in the answer
    gaps: tuple[tuple[str, str], ...] = ()  # (dataset, note) of missing inputs or outputs
    cycles: tuple[tuple[str, ...], ...] = ()  # datasets that came from each other
    coarse: tuple[str, ...] = ()  # datasets with cells whose further lineage is only known as a whole
    lineage: Lineage = "value+selection"
    doubts: frozenset[str] = frozenset()  # datasets whose note says that their lineage may not be exact
    by_cells: bool = False  # the question is about cells of a table, even if these are all cells of a row

    def follow(self, selection: Selection, load: Load) -> Answer:
        """Return the cells of each end that the selection leads to.

        Each dataset passes on only the cells that are new to it: without cycles once, in order; in a cycle until
        nothing is new. This ends because selections only grow.
        """
        position = {name: i for i, name in enumerate(self.order)}
        reached: dict[str, Selection] = {self.start: selection}
        passed_on: dict[str, Selection] = {}
        waiting = [position[self.start]]
        queued = {self.start}
        trail = Trail(self)
        while waiting:
            here = self.order[heapq.heappop(waiting)]
            queued.remove(here)
            moving = reached[here]
            by_cells = self.by_cells and here == self.start and self.lineage == "value+selection"
            if here in passed_on:
                moving = moving - passed_on[here]
            passed_on[here] = reached[here]
            if not moving:
                continue
            for way in self.edges[here]:
                there, began = way.there, perf_counter()
                lineage = "cells" if by_cells else self.lineage
                arrived = moved(way, moving, self.direction, self.shapes[there], load, lineage)
                trail.add(here, way, arrived, perf_counter() - began)
                reached[there] = reached[there] | arrived.selection if there in reached else arrived.selection
                if there not in queued:
                    queued.add(there)
                    heapq.heappush(waiting, position[there])
        return self._answer(selection, reached, trail)

    def _answer(self, asked: Selection, reached: Mapping[str, Selection], trail: Trail) -> Answer:
        found = {self.public.get(name, name): reached[name] for name in self.coarse if reached.get(name)}
        for name in self.ends:
            found[self.public.get(name, name)] = reached.get(name) or Selection.empty(self.shapes[name])
        gaps = [text for name, text in self.gaps if reached.get(name)]
        return Answer(
            found,
            notes=(*self.said, *self._notes(reached, found), *gaps),
            steps=trail.steps(),
            reached={
                self.public.get(name, name): cells for name, cells in reached.items() if cells and not is_activity(name)
            },
            reasons=gaps,
            asked=(self.public.get(self.start, self.start), asked),
        )

    def _notes(self, reached: Mapping[str, Selection], found: Mapping[str, Selection]) -> Iterable[str]:
        for name, note in self.notes.items():
            if reached.get(name):
                yield f"{self.public.get(name, name)!r} {note}"
        for names in self.cycles:
            if any(reached.get(name) for name in names):
                yield f"{_some(names)} came from each other, in a cycle"
        if self.direction == "backward" and self.edges[self.start] and reached[self.start] and not any(found.values()):
            yield (
                f"these cells of {self.public.get(self.start, self.start)!r} hold no value of what it came from:"
                " they are constant, or values only selected them, which log.track(..., lineage='value+selection')"
                " records"
            )


def plan(
    graph: Adjacency,
    start: str,
    direction: Direction,
    to: str | None,
    above: float | None = None,
    lineage: Lineage = "value+selection",
    by_cells: bool = False,
) -> Plan:
    """Plan the walk from `start` to the dataset `to`, or to every source (or final result).

    With `above`, each step follows only contributions of at least that weight. With `by_cells`, a question about all
    columns of a row of a table is about these cells, not about the row.
    """
    said = [note for name in (start, to) if name is not None and (note := graph.other_meaning(name))]
    start = graph.meant(start)
    neighbours = graph.neighbours(direction)
    wanted = _reachable(neighbours, start)
    if to is not None:
        versions = [each for each in graph.every(to) if each in wanted]
        end = versions[-1] if versions else graph.meant(to)
        back = graph.neighbours("forward" if direction == "backward" else "backward")
        wanted &= _reachable(back, end)
        if not wanted:
            known = _reachable(graph.neighbours("backward"), start if direction == "backward" else end)
            cuts = [f"; {graph.public(each)!r} {note}" for each, note in graph.notes.items() if each in known]
            raise NoLineage(
                f"{to!r} cannot be reached {direction} from {start!r}: {connections(graph, start)}; "
                f"{connections(graph, end)}{''.join(cuts[:_NAMED_CUTS])}"
            )
        if len(versions) > 1:
            others = ", ".join(repr(graph.public(each)) for each in versions[:-1])
            said.append(f"{to!r} is {graph.public(end)!r} here, the latest version; the lineage leads to {others}, too")
        to = end
    components = _components(neighbours, start, wanted)
    order = tuple(name for component in reversed(components) for name in component)
    final = (to,) if to is not None else _final(neighbours, components)
    ends = tuple(each for each in final if not is_activity(each))

    def asked_for(here: str, there: str, hashes: tuple[str, ...]) -> tuple[str, ...]:
        output, input = (here, there) if direction == "backward" else (there, here)
        return graph.asked_for(output, input, hashes, above, lineage)

    edges = {
        name: tuple(
            way
            for there, hashes in neighbours[name].items()
            if there in wanted
            for way in graph.ways(name, there, asked_for(name, there, hashes), direction)
        )
        for name in order
    }
    if lineage == "value" and sum(map(len, edges.values())) < sum(
        len(hashes) for name in order for there, hashes in neighbours[name].items() if there in wanted
    ):
        said.append("cells that only selected values are left out: lineage='value+selection' adds them")
    coarse = () if to is not None else tuple(_coarse(graph, start, edges))
    return Plan(
        direction, start, order, {name: graph.shapes.get(name, ()) for name in (*order, *ends)}, edges, ends,
        {name: graph.notes[name] for name in order if name in graph.notes}, tuple(said),
        {name: own for name in (*order, *ends) if (own := graph.public(name)) != name},
        tuple(graph.gaps(order, direction)), tuple(_met(components)), coarse, lineage,
        frozenset(graph.doubts.intersection(order)), by_cells,
    )  # fmt: skip


def _reachable(neighbours: Neighbours, start: str) -> set[str]:
    seen, stack = {start}, [start]
    while stack:
        for there in neighbours[stack.pop()]:
            if there not in seen:
                seen.add(there)
                stack.append(there)
    return seen


def _components(neighbours: Neighbours, start: str, wanted: set[str]) -> list[list[str]]:
    """Return the strongly connected components of `wanted`, each before those that lead to it (Tarjan, iterative)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    on_path: set[str] = set()
    found: list[list[str]] = []
    work = [(start, iter(neighbours[start]))]
    index[start] = low[start] = 0
    path.append(start)
    on_path.add(start)
    while work:
        here, rest = work[-1]
        for there in rest:
            if there not in wanted:
                continue
            if there not in index:
                index[there] = low[there] = len(index)
                path.append(there)
                on_path.add(there)
                work.append((there, iter(neighbours[there])))
                break
            if there in on_path:
                low[here] = min(low[here], index[there])
        else:
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[here])
            if low[here] == index[here]:
                component = [path.pop()]
                while component[-1] != here:
                    component.append(path.pop())
                on_path.difference_update(component)
                found.append(component)
    return found


def _final(neighbours: Neighbours, components: list[list[str]]) -> Iterable[str]:
    """Yield the datasets where the walk ends: backward, the sources.

    If a walk ends in a cycle, all datasets of the cycle are ends; otherwise the answer would lack them.
    """
    for component in components:
        members = set(component)
        if all(there in members for name in component for there in neighbours[name]):
            yield from component


def _met(components: list[list[str]]) -> Iterable[tuple[str, ...]]:
    """Yield the datasets of each cycle."""
    for component in components:
        if len(component) > 1:
            yield tuple(sorted(each for each in component if not is_activity(each)))


def _coarse(graph: Adjacency, start: str, edges: Mapping[str, tuple[Way, ...]]) -> Iterable[str]:
    """Yield the datasets with cells whose further lineage is only known as a whole."""
    for name, ways in edges.items():
        if ways and name != start and graph.shapes.get(name) and all(way.kind == "whole" for way in ways):
            yield name
