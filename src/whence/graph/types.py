"""Decide which vertices of segments may be merged: those with equal kept properties and equal neighbourhoods
(provenance types).

The neighbourhood of a vertex is that in the union of all segments of its graph, so a vertex has one type even if it is
in several segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType
from whence.graph.columns import hashable
from whence.graph.isomorphism import Ball, Step, ball, isomorphic
from whence.graph.model import KINDS, Kind, Numbers
from whence.graph.programs import program_of

if TYPE_CHECKING:
    from whence.graph._graph import Graph
    from whence.graph.segment import Segment

Keep = Mapping[str, Sequence[str]]
Description = tuple[Kind, tuple[tuple[str, Any], ...]]  # kind, kept properties


def kept(keep: object) -> dict[str, tuple[str, ...]]:
    """Normalize `keep` to a mapping from kinds to properties."""
    if keep is None:
        keep = {}
    if not isinstance(keep, Mapping):
        raise BadType(f"keep maps kinds to properties, such as {{'entity': ['filename']}}, not {keep!r}")
    found = {}
    for kind, names in keep.items():
        if kind not in KINDS:
            raise BadType(f"keep takes {', '.join(KINDS)}, not {kind!r}")
        own = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (names,)
        if not all(isinstance(name, str) for name in own):
            raise BadType(f"keep[{kind!r}] is a list of names of properties, not {names!r}")
        found[kind] = own
    return found


class Classes:
    """The equivalence classes of all vertices of some segments, as integers. `descriptions[c]` describes class c."""

    def __init__(self, segments: Sequence[Segment], keep: Mapping[str, Sequence[str]], k: int) -> None:
        self.descriptions: list[Description] = []
        self._base: dict[tuple[object, ...], int] = {}
        self._named: list[Description] = []
        self.of: dict[int, Numbers] = {}  # by id() of the graph: the class of each of its vertices, or -1
        self._types: dict[tuple[int, object], list[tuple[Ball | None, int]]] = {}
        self._colours: dict[object, int] = {}
        graphs = {id(segment.graph): segment.graph for segment in segments}
        for key, graph in graphs.items():
            own = [segment for segment in segments if segment.graph is graph]
            self.of[key] = self._classes(graph, own, keep, k)

    def _classes(self, graph: Graph, segments: Sequence[Segment], keep: Mapping[str, Sequence[str]], k: int) -> Numbers:
        numbers = np.unique(np.concatenate([segment.numbers for segment in segments]))
        found = np.full(len(graph), -1, np.int32)
        labels = self._labels(graph, numbers, keep)
        if k == 0:
            found[numbers] = [self._number(label, None, None) for label in labels]
            return found
        steps = _steps_of_vertices(graph, numbers, np.unique(np.concatenate([segment.rows for segment in segments])))
        colour = list(labels)
        for _ in range(k):
            colour = [
                self._colours.setdefault(
                    (colour[v], tuple(sorted((s, r, colour[w]) for s, r, w in steps[v]))), len(self._colours)
                )
                for v in range(len(numbers))
            ]
        for v, number in enumerate(numbers.tolist()):
            around = ball(v, k, steps, labels) if not _star(v, steps, k) else None
            if around is not None and around.is_tree:
                around = None
            found[number] = self._number(labels[v], colour[v], around)
        return found

    def _labels(self, graph: Graph, numbers: Numbers, keep: Mapping[str, Sequence[str]]) -> list[int]:
        """Integers for vertices, equal if kind and kept properties are equal."""
        labels = np.zeros(len(numbers), np.int64)
        for code, kind in enumerate(KINDS):
            places = np.flatnonzero(graph.kinds[numbers] == code)
            names = keep.get(kind, ())
            columns = [_property_values(graph, name, numbers[places]) for name in names]
            for at, place in enumerate(places.tolist()):
                values = [column[at] for column in columns]
                key = (kind, *map(hashable, values))
                label = self._base.get(key)
                if label is None:
                    label = self._base[key] = len(self._base)
                    self._named.append((kind, tuple(zip(names, values, strict=True))))
                labels[place] = label
        return labels.tolist()

    def _number(self, label: int, colour: int | None, around: Ball | None) -> int:
        """The class of a vertex: same label and colours, and isomorphic neighbourhoods if the colours are not
        enough.
        """
        known = self._types.setdefault((label, colour), [])
        for other, number in known:
            if (around is None) == (other is None) and (around is None or other is None or isomorphic(around, other)):
                return number
        number = len(self.descriptions)
        self.descriptions.append(self._named[label])
        known.append((around, number))
        return number


def _property_values(graph: Graph, name: str, numbers: Numbers) -> list[Any]:
    """The values of a property. An activity without the property `program` has the program of its command."""
    found = graph.properties.column(name, numbers)
    if name == "program" and None in found:
        commands = graph.properties.column("command", numbers)
        texts = {each for each in commands if isinstance(each, str)}
        known: dict[Any, str] = {each: program_of({"command": each}) for each in texts}
        pairs = zip(found, commands, strict=True)
        found = [known.get(hashable(command), command) if value is None else value for value, command in pairs]
    return found


def _steps_of_vertices(graph: Graph, numbers: Numbers, rows: NDArray[np.int64]) -> list[list[Step]]:
    """For each vertex, its edges within the union of the segments: direction, relation, index of the other end."""
    place = np.full(len(graph), -1, np.int64)
    place[numbers] = np.arange(len(numbers))
    table = graph.edge_table
    steps: list[list[Step]] = [[] for _ in range(len(numbers))]
    ends = (place[table.source[rows]].tolist(), table.relation[rows].tolist(), place[table.target[rows]].tolist())
    for source, relation, target in zip(*ends, strict=True):
        steps[source].append((0, relation, target))
        steps[target].append((1, relation, source))
    return steps


def _star(vertex: int, steps: Sequence[Sequence[Step]], k: int) -> bool:
    """Whether the neighbourhood is a star: one step, and no edges between the neighbours."""
    if k != 1:
        return False
    around = {other for _, _, other in steps[vertex]}
    if len(around) < len(steps[vertex]):
        return False
    return all(other == vertex or other not in around for each in around for _, _, other in steps[each])
