"""Combine the vertices of several segments in one graph, overlaid or side by side, and report how they were merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whence.graph.columns import Ids
from whence.graph.merge import Labelled, unique_rows
from whence.graph.model import CODES, Numbers
from whence.graph.overlap import Array, Part, Sets, no_sets, put, union

_INVALIDATED = CODES["wasInvalidatedBy"]


@dataclass(frozen=True)
class Block:
    """The parts of one group, overlaid: each vertex and each edge once. `first` is the first part that has a vertex."""

    graph: int  # the `graph` of its parts
    start: int  # the index of its first vertex
    vertices: Array
    first: Array
    rows: Array
    younger: Array  # the ends of the edges, as indices
    older: Array
    relation: Array


@dataclass(frozen=True)
class Laid:
    """All blocks, side by side. `groups` has the index of each part's block."""

    blocks: list[Block]
    labels: Numbers
    groups: list[int]

    def graph(self) -> Labelled:
        """The graph, with each edge once."""
        columns = ([getattr(block, name) for block in self.blocks] for name in ("younger", "older", "relation"))
        return Labelled(self.labels, *unique_rows(*(np.concatenate(each) for each in columns)))


def lay(
    parts: Sequence[Part], relations: Sequence[Array], classes: Mapping[int, Numbers], groups: Sequence[int]
) -> Laid:  # fmt: skip
    """Overlay the parts of each group. `classes` has the label of each vertex, by graph."""
    together: dict[tuple[int, int], list[int]] = {}
    for place, (part, group) in enumerate(zip(parts, groups, strict=True)):
        together.setdefault((group, part.graph), []).append(place)
    blocks: list[Block] = []
    labels: list[Numbers] = []
    start, numbers = 0, [0] * len(parts)
    for (_, graph), own in together.items():
        vertices, first = np.unique(np.concatenate([parts[each].vertices for each in own]), return_index=True)
        bounds = np.cumsum([len(parts[each].vertices) for each in own])
        rows, one = np.unique(np.concatenate([parts[each].rows for each in own]), return_index=True)
        ends = (np.concatenate([getattr(parts[each], name) for each in own])[one] for name in ("younger", "older"))
        younger, older = (np.searchsorted(vertices, each) + start for each in ends)
        held = np.array(own, np.int64)[np.searchsorted(bounds, first, side="right")]
        relation = np.concatenate([relations[each] for each in own])[one]
        for each in own:
            numbers[each] = len(blocks)
        blocks.append(Block(graph, start, vertices, held, rows, younger, older, relation))
        labels.append(classes[graph][vertices])
        start += len(vertices)
    return Laid(blocks, np.concatenate(labels).astype(np.int32), numbers)


class Merged:
    """Maps the vertices and edges of the parts to the classes into which the combined graph was merged."""

    def __init__(self, laid: Laid, parts: Sequence[Part], numbers: Sequence[int], classes: Numbers, count: int) -> None:
        self.laid, self.parts, self.numbers, self.classes = laid, parts, numbers, classes
        self.types = np.zeros(count, np.int64)
        self.types[classes] = laid.labels

    def places(self) -> list[Numbers]:
        """For each part, the classes of its vertices."""
        blocks = (self.laid.blocks[group] for group in self.laid.groups)
        return [
            self.classes[np.searchsorted(block.vertices, part.vertices) + block.start]
            for block, part in zip(blocks, self.parts, strict=True)
        ]

    @cached_property
    def _vertices(self) -> dict[int, tuple[Array, Sets]]:
        return self._having("vertices")

    @property
    def size(self) -> int:
        """The number of distinct vertices of the parts."""
        return sum(len(whole) for whole, _ in self._vertices.values())

    def _having(self, name: str) -> dict[int, tuple[Array, Sets]]:
        """For each graph, all vertices or rows of its parts, and for each of them the set of parts that have it."""
        found = {}
        for graph in dict.fromkeys(part.graph for part in self.parts):
            own = [place for place, part in enumerate(self.parts) if part.graph == graph]
            whole, places = union([getattr(self.parts[each], name) for each in own])
            sets = no_sets(len(whole), len(self.parts))
            for number, held in zip(own, places, strict=True):
                put(sets, held, number)
            found[graph] = whole, sets
        return found

    def members(self, ids: Sequence[Ids]) -> list[list[str]]:
        """For each class, the names of its vertices, those of the first part first. `ids` has the names of each
        part.
        """
        columns = [
            (self.classes[block.start : block.start + len(block.vertices)], block.first, block.vertices)
            for block in self.laid.blocks
        ]
        place, first, vertex = (np.concatenate([each[column] for each in columns]) for column in range(3))
        order = np.lexsort((vertex, first, place))
        found: list[list[str]] = [[] for _ in self.types]
        for at, part, number in zip(*(each[order].tolist() for each in (place, first, vertex)), strict=True):
            found[at].append(ids[part][number])
        return found

    def shares(self) -> list[int]:
        """For each class, the number of parts that have one of its vertices."""
        places, sets = [], []
        for block in self.laid.blocks:
            whole, having = self._vertices[block.graph]
            places.append(self.classes[block.start : block.start + len(block.vertices)].astype(np.int64))
            sets.append(having[np.searchsorted(whole, block.vertices)])
        return _counts(np.concatenate(places), np.concatenate(sets), len(self.types))

    def edges(self) -> list[tuple[int, int, int, int]]:
        """The edges of the summary as in PROV: source, relation, target, and the number of parts that have one of them.

        A part has a summary edge if it has a graph edge that was merged into it, in this part's block or in another.
        """
        held = self._having("rows")
        columns, sets = [], []
        for block in self.laid.blocks:
            whole, having = held[block.graph]
            younger, older = (self.classes[each].astype(np.int64) for each in (block.younger, block.older))
            ended = block.relation == _INVALIDATED
            columns.append((np.where(ended, older, younger), block.relation, np.where(ended, younger, older)))
            sets.append(having[np.searchsorted(whole, block.rows)])
        source, relation, target = (np.concatenate([each[place] for each in columns]) for place in range(3))
        key = (source * len(CODES) + relation) * len(self.types) + target
        edges, edge = np.unique(key, return_inverse=True)
        counts = _counts(edge, np.concatenate(sets), len(edges))
        ends, target = np.divmod(edges, len(self.types))
        source, relation = np.divmod(ends, len(CODES))
        return list(zip(source.tolist(), relation.tolist(), target.tolist(), counts, strict=True))


def _counts(classes: NDArray[np.int64], sets: Sets, count: int) -> list[int]:
    """For each of `count` nonempty classes, the size of the union of its sets."""
    if not len(classes):
        return [0] * count
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
    whole = np.bitwise_or.reduceat(sets[order], starts, axis=0)
    found: list[int] = np.bitwise_count(whole).sum(axis=1).tolist()
    return found
