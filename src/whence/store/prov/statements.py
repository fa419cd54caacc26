"""Reading PROV statements, with attributes or of relations without a table, into the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sqlalchemy as sa

from whence.graph.columns import Columns, Held
from whence.graph.model import KINDS
from whence.store.catalog import schema as t
from whence.store.catalog.columns import Batch, Ints, batches

Relations = dict[str, tuple[Ints, Ints]]  # sources and targets of edges by relation, as indices of vertices


@dataclass(frozen=True)
class Numbering:
    """The vertices of a graph: entities, activities and agents, each by ascending ids of their table."""

    ids: tuple[Ints, ...]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The index of the first vertex of each kind, and the number of all vertices."""
        return tuple(int(each) for each in np.cumsum([0, *map(len, self.ids)]))

    def of(self, kind: int, ids: Ints) -> Ints:
        """Return the indices of vertices of one kind by their ids."""
        own = self.ids[kind]
        if len(own) and own[-1] - own[0] == len(own) - 1:  # ids without gaps
            return ids + (self.starts[kind] - int(own[0]))
        return np.searchsorted(own, ids) + self.starts[kind]

    def key(self, source: Ints, target: Ints) -> Ints:
        """Encode each pair of vertices as one integer."""
        return source * (self.starts[3] + 1) + target

    def ends(self, key: Ints) -> tuple[Ints, Ints]:
        """Decode the integers of `key` into pairs of vertices."""
        return key // (self.starts[3] + 1), key % (self.starts[3] + 1)


def joined(connection: sa.Connection, edges: Relations, numbering: Numbering) -> Columns:
    """Add the statements to the edges, and return their attributes.

    A statement replaces the edge of the same relation with the same ends.
    """
    names = ["relation", "source_kind", "source", "target_kind", "target", "properties"]
    read = list(batches(connection, t.statements, names))
    if not read:
        return Columns()
    relation = np.array([value for batch in read for value in batch.values(0)])
    source, target = (_vertex_numbers(read, place, numbering) for place in (1, 3))
    found_at: list[tuple[Ints, Ints]] = []  # indices of statements and of their edges
    row = 0
    for name in dict.fromkeys([*edges, *relation.tolist()]):
        own = np.flatnonzero(relation == name)
        one, other = edges.get(name, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
        if len(own):
            known = numbering.key(source[own], target[own])
            left = ~np.isin(numbering.key(one, other), known)
            one, other = (np.concatenate([source[own], one[left]]), np.concatenate([target[own], other[left]]))
            edges[name] = one, other
            found_at.append((own, np.arange(row, row + len(own))))
        row += len(one)

    def attributes() -> Held:
        rows = np.zeros(len(relation), np.int64)
        for own, places in found_at:
            rows[own] = places
        columns: dict[str, tuple[list[int], list[Any]]] = {}
        documents = [held for batch in read for held in batch.values(5)]
        for place in np.argsort(rows).tolist():
            for name, value in documents[place].items():
                numbers, values = columns.setdefault(name, ([], []))
                numbers.append(int(rows[place]))
                values.append(value)
        return {name: (np.array(numbers, np.int32), values) for name, (numbers, values) in columns.items()}

    return Columns(attributes)


def _vertex_numbers(read: Sequence[Batch], place: int, numbering: Numbering) -> Ints:
    """Return the vertices at one end of the statements: column `place` has their kinds, the next their ids."""
    kinds = np.array([value for batch in read for value in batch.values(place)])
    ids = np.array([value for batch in read for value in batch.values(place + 1)], np.int64)
    found = np.zeros(len(ids), np.int64)
    for code, kind in enumerate(KINDS):
        own = kinds == kind
        found[own] = numbering.of(code, ids[own])
    return found
