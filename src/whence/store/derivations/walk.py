"""The graph of derivations in memory: which relations a question must pass through, and in what order.

Plans are immutable and made while the log's lock is held; following them needs no lock.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from whence.errors import BadType, Damaged, NoLineage, UnknownName
from whence.relation import RelationLike
from whence.selection import Selection
from whence.store.answers import Answers

WEIGHT = "weight "
"""How the kind of an uncertain derivation begins; its weight follows."""

RUN = "run"
"""The kind of a derivation whose relation is not stored: a run of a pipeline is asked."""

Direction = Literal["backward", "forward"]
Lineage = Literal["value", "value+selection"]
Load = Callable[[str], RelationLike]
Neighbours = dict[str, dict[str, tuple[str, ...]]]


def table_called(name: str) -> str:
    """What the table of a directory is called that has this name itself."""
    return f"{name} (table)"


@dataclass(slots=True)
class Adjacency:
    """Datasets by name, and for each the relations that lead to its inputs and to its outputs.

    `backward["B"]["A"]` and `forward["A"]["B"]` name the same relations: those of B derived from A.
    """

    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    backward: Neighbours = field(default_factory=dict)
    forward: Neighbours = field(default_factory=dict)
    endpoints: dict[str, tuple[str, str]] = field(default_factory=dict)  # of each relation, one (output, input)
    weights: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)  # of relations that are uncertain
    levels: dict[tuple[str, str], set[float]] = field(default_factory=dict)  # all that were recorded between two
    certain: set[tuple[str, str, str]] = field(default_factory=set)  # (output, input, relation) of the others
    valued: set[tuple[str, str, str]] = field(
        default_factory=set
    )  # those of cells that went in, and did not only decide

    notes: dict[str, str] = field(default_factory=dict)  # what is to be said of a dataset: "starts at a.py:3"
    versions: dict[str, dict[int, str]] = field(default_factory=dict)  # of arrays and tables, by name
    files: dict[str, dict[int, str]] = field(default_factory=dict)  # the same of files and directories

    variables: dict[str, str] = field(default_factory=dict)  # the latest result that was assigned to a variable

    def describe(self, name: str, kind: str, properties: Mapping[str, Any]) -> None:
        """What else is known of a dataset: whether it is a version, and a note."""
        match properties:
            case {"artifact": str(own), "version": int(version)}:
                is_file = "sha256" in properties or "fingerprint" in properties
                (self.files if is_file else self.versions).setdefault(own, {})[version] = name
        if isinstance(variable := properties.get("variable"), str):
            self.variables[variable] = name
        if isinstance(note := properties.get("note"), str):
            self.notes[name] = note

    def meant(self, name: str) -> str:
        """The dataset that a name stands for: the latest of several versions, `B@v1` for the first; or UnknownName."""
        every = self.every(name)
        if not every:
            raise UnknownName.of("dataset", name, self.shapes)
        return every[-1]

    def every(self, name: str) -> list[str]:
        """All datasets that have a name, the latest last; if none has, the versions of the file, or the result that a
        variable of that name got."""
        name = table_called(name) if table_called(name) in self.shapes else name
        later = self.versions.get(name)
        if later is not None:
            first = [name] if name in self.shapes and 1 not in later else []
            return first + [later[number] for number in sorted(later)]
        if name in self.shapes:
            return [name]
        own = name.removesuffix("@v1")
        if own != name and own in self.shapes:
            return [own]
        if name in self.files:
            return [self.files[name][number] for number in sorted(self.files[name])]
        return [self.variables[name]] if name in self.variables else []

    def public(self, name: str) -> str:
        """What a dataset is called in answers: the first of several versions `B@v1`."""
        return f"{name}@v1" if name in self.versions and 1 not in self.versions[name] else name

    def add_dataset(self, name: str, shape: tuple[int, ...]) -> None:
        """A dataset that nothing is known of yet."""
        self.shapes[name] = shape
        self.backward.setdefault(name, {})
        self.forward.setdefault(name, {})

    def add_edge(self, output: str, input: str, hash: str, kind: str = "boxes") -> None:
        """One more derivation; there may be several between the same two, even with the same relation."""
        if kind.startswith(WEIGHT):
            level = weight_of(kind)
            known_weights = self.weights.setdefault((output, input), {})
            # Several levels may share a relation: all bands without tuples are the same blob.
            known_weights[hash] = max(level, known_weights.get(hash, 0.0))
            self.levels.setdefault((output, input), set()).add(level)
        else:
            self.certain.add((output, input, hash))
        if kind != "selection":
            self.valued.add((output, input, hash))
        self.endpoints.setdefault(hash, (output, input))
        for neighbours, here, there in ((self.backward, output, input), (self.forward, input, output)):
            known = neighbours[here].get(there, ())
            if hash not in known:
                neighbours[here][there] = (*known, hash)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a dataset, or UnknownName."""
        return self.shapes[self.meant(name)]

    def at_least(self, output: str, input: str, hashes: tuple[str, ...], above: float | None) -> tuple[str, ...]:
        """The relations between two whose weight is so much, and all that are certain.

        Weights are known in bands, so it is only known at the levels where these begin.
        """
        weights = self.weights.get((output, input)) if above is not None else None
        if weights is None or above is None:
            return hashes
        known = self.levels[output, input]
        if not any(math.isclose(above, level) for level in known):
            levels = ", ".join(f"{level:g}" for level in sorted(known))
            raise NoLineage(
                f"contributions of {input!r} to {output!r} were kept at the levels {levels}, so those above {above:g} "
                "are not known exactly: ask for one of these, or keep other levels"
            )
        return tuple(
            each
            for each in hashes
            if (output, input, each) in self.certain or (level := weights[each]) >= above or math.isclose(level, above)
        )

    def asked_for(
        self, output: str, input: str, hashes: tuple[str, ...], above: float | None, lineage: Lineage
    ) -> tuple[str, ...]:
        """The relations between two that a question is about."""
        if lineage not in ("value", "value+selection"):
            raise BadType(f"lineage is 'value' or 'value+selection', not {lineage!r}")
        if lineage == "value":
            hashes = tuple(each for each in hashes if (output, input, each) in self.valued)
        return self.at_least(output, input, hashes, above)

    def neighbours(self, direction: Direction) -> Neighbours:
        """The edges, each pointing in the direction of the walk."""
        return self.backward if direction == "backward" else self.forward


def weight_of(kind: str) -> float:
    """The weight of an uncertain derivation.

    >>> weight_of("weight 0.25")
    0.25
    """
    try:
        return float(kind.removeprefix(WEIGHT))
    except ValueError:
        raise Damaged(f"the catalog has a derivation of the unknown kind {kind!r}; restore it from a backup") from None


def moved(relation: RelationLike, selection: Selection, direction: Direction, shape: tuple[int, ...]) -> Selection:
    """What cells lead to in a dataset of that shape; Damaged if the relation is one of other shapes."""
    shapes = relation.out_shape, relation.in_shape
    expected = (selection.shape, shape) if direction == "backward" else (shape, selection.shape)
    if shapes != expected:
        raise Damaged(
            f"the blob of a relation is of shapes {shapes[0]} <- {shapes[1]}, and its datasets are of shapes "
            f"{expected[0]} <- {expected[1]}: `whence check` names them; record this lineage again"
        )
    return relation.backward(selection) if direction == "backward" else relation.forward(selection)


@dataclass(frozen=True, slots=True)
class Step:
    """From one dataset of a path to the next: through these relations, backward and forward."""

    shape: tuple[int, ...]  # of the dataset it leads to
    backward: tuple[str, ...]
    forward: tuple[str, ...]

    def follow(self, selection: Selection, load: Load) -> Selection:
        """What the selection leads to, the union over all relations."""
        found: Selection | None = None
        for hash in self.backward:
            reached = moved(load(hash), selection, "backward", self.shape)
            found = reached if found is None else found | reached
        for hash in self.forward:
            reached = moved(load(hash), selection, "forward", self.shape)
            found = reached if found is None else found | reached
        return Selection.empty(self.shape) if found is None else found


@dataclass(frozen=True, slots=True)
class Route:
    """A path, step by step."""

    steps: tuple[Step, ...]

    def follow(self, selection: Selection, load: Load) -> Selection:
        """The cells of the last dataset that the selection leads to."""
        for step in self.steps:
            selection = step.follow(selection, load)
        return selection


def route(
    graph: Adjacency, path: Sequence[str], above: float | None = None, lineage: Lineage = "value+selection"
) -> Route:
    """The way along a path of names, through contributions above a level; NoLineage where two are not connected."""
    path = _versions(graph, path)
    return Route(tuple(_step(graph, here, there, above, lineage) for here, there in pairwise(path)))


def _versions(graph: Adjacency, path: Sequence[str]) -> list[str]:
    """The datasets of a path: the latest version of the first, then the latest that is connected to the one before."""
    found: list[str] = []
    for name in path:
        latest = graph.meant(name)
        beside = {**graph.backward[found[-1]], **graph.forward[found[-1]]} if found else {}
        found.append(next((each for each in reversed(graph.every(name)) if each in beside), latest))
    return found


def _step(graph: Adjacency, here: str, there: str, above: float | None, lineage: Lineage) -> Step:
    backward, forward = graph.backward[here].get(there, ()), graph.forward[here].get(there, ())
    if not backward and not forward:
        raise NoLineage(
            f"there is no lineage between {here!r} and {there!r}: {_connections(graph, here)}; "
            f"{_connections(graph, there)}"
        )
    return Step(
        graph.shapes[there],
        graph.asked_for(here, there, backward, above, lineage),
        graph.asked_for(there, here, forward, above, lineage),
    )


def _connections(graph: Adjacency, name: str) -> str:
    parts = []
    for text, neighbours in (("comes from", graph.backward[name]), ("led to", graph.forward[name])):
        if neighbours:
            parts.append(f"{text} {_some(neighbours)}")
    return f"{name!r} {' and '.join(parts)}" if parts else f"{name!r} is connected to nothing"


def _some(names: Iterable[str], most: int = 5) -> str:
    quoted = [repr(name) for name in names]
    return ", ".join(quoted[:most]) + (f" and {len(quoted) - most} more" if len(quoted) > most else "")


@dataclass(frozen=True, slots=True)
class Plan:
    """A walk from one dataset through all paths at once.

    `order` holds the datasets so that, but for cycles, each comes after all that lead to it; `edges` are the
    relations out of each; `ends` are the datasets that were asked for.
    """

    direction: Direction
    start: str
    order: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]
    edges: Mapping[str, tuple[tuple[str, str], ...]]
    ends: tuple[str, ...]
    notes: Mapping[str, str] = field(default_factory=dict)  # of datasets on the way
    said: tuple[str, ...] = ()  # whatever the cells are
    public: Mapping[str, str] = field(default_factory=dict)  # what ends are called in the answer

    def follow(self, selection: Selection, load: Load) -> Answers:
        """The cells of each end that the selection leads to.

        Each dataset passes on only what is new to it. Without cycles that is once for each, in order; around a
        cycle it goes on until nothing is new, which comes to pass because selections only grow.
        """
        position = {name: i for i, name in enumerate(self.order)}
        reached: dict[str, Selection] = {self.start: selection}
        passed_on: dict[str, Selection] = {}
        waiting = [position[self.start]]
        queued = {self.start}
        while waiting:
            here = self.order[heapq.heappop(waiting)]
            queued.remove(here)
            moving = reached[here]
            if here in passed_on:
                moving = moving - passed_on[here]
                if not moving:
                    continue
            passed_on[here] = reached[here]
            for there, hash in self.edges[here]:
                arrived = moved(load(hash), moving, self.direction, self.shapes[there])
                reached[there] = reached[there] | arrived if there in reached else arrived
                if there not in queued:
                    queued.add(there)
                    heapq.heappush(waiting, position[there])
        found = {
            self.public.get(name, name): reached.get(name) or Selection.empty(self.shapes[name]) for name in self.ends
        }
        return Answers(found, notes=(*self.said, *self._notes(reached, found)))

    def _notes(self, reached: Mapping[str, Selection], found: Mapping[str, Selection]) -> Iterable[str]:
        for name, note in self.notes.items():
            if reached.get(name):
                yield f"{self.public.get(name, name)!r} {note}"
        if self.direction == "backward" and self.edges[self.start] and reached[self.start] and not any(found.values()):
            yield (
                f"these cells of {self.public.get(self.start, self.start)!r} hold no value of what it came from: they "
                "are constant, or values only decided them, which log.track(..., lineage='value+selection') records"
            )


def plan(
    graph: Adjacency,
    start: str,
    direction: Direction,
    to: str | None,
    above: float | None = None,
    lineage: Lineage = "value+selection",
) -> Plan:
    """The walk from `start` to the dataset `to`, or to every dataset where the walk can only end.

    With `above`, each step is through contributions of at least that weight: a path is as strong as its weakest step.
    """
    start = graph.meant(start)
    neighbours = graph.neighbours(direction)
    wanted = _reachable(neighbours, start)
    said: list[str] = []
    if to is not None:
        versions = [each for each in graph.every(to) if each in wanted]
        end = versions[-1] if versions else graph.meant(to)
        back = graph.neighbours("forward" if direction == "backward" else "backward")
        wanted &= _reachable(back, end)
        if not wanted:
            raise NoLineage(
                f"{to!r} cannot be reached {direction} from {start!r}: {_connections(graph, start)}; "
                f"{_connections(graph, end)}"
            )
        if len(versions) > 1:
            others = ", ".join(repr(graph.public(each)) for each in versions[:-1])
            said.append(f"{to!r} is {graph.public(end)!r} here, the latest version; there is a way to {others}, too")
        to = end
    components = _components(neighbours, start, wanted)
    order = tuple(name for component in reversed(components) for name in component)
    ends = (to,) if to is not None else tuple(_final(neighbours, components))

    def asked_for(here: str, there: str, hashes: tuple[str, ...]) -> tuple[str, ...]:
        output, input = (here, there) if direction == "backward" else (there, here)
        return graph.asked_for(output, input, hashes, above, lineage)

    edges = {
        name: tuple(
            (there, hash)
            for there, hashes in neighbours[name].items()
            if there in wanted
            for hash in asked_for(name, there, hashes)
        )
        for name in order
    }
    if lineage == "value" and sum(map(len, edges.values())) < sum(
        len(hashes) for name in order for there, hashes in neighbours[name].items() if there in wanted
    ):
        said.append("what only decided is left out: lineage='value+selection' asks for it, too")
    return Plan(
        direction, start, order, {name: graph.shapes[name] for name in (*order, *ends)}, edges, ends,
        {name: graph.notes[name] for name in order if name in graph.notes}, tuple(said),
        {name: own for name in (*order, *ends) if (own := graph.public(name)) != name},
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
    """The strongly connected components among `wanted`, each before those that lead to it (Tarjan, no recursion)."""
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
    """The datasets from which the walk leads nowhere else: the sources, when it goes backward.

    A cycle that has no way out counts as a whole; otherwise what flows into it would be lost from the answer.
    """
    for component in components:
        members = set(component)
        if all(there in members for name in component for there in neighbours[name]):
            yield from component
