"""The log as a W3C PROV graph in memory: datasets, operations and people, for segments and summaries.

Vertices and edges are read immediately. Properties are read as JSON strings, which are parsed when a question needs
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sqlalchemy as sa

from whence.graph import Graph, GraphWarning
from whence.graph.columns import Columns, Held, Ids
from whence.graph.validate import Edges
from whence.store.catalog import schema as t
from whence.store.catalog.columns import Batch, Ints, batches, pairs
from whence.store.catalog.kinds import refuse
from whence.store.prov.statements import Numbering, Relations, joined


@dataclass(frozen=True)
class _VertexTable:
    """One kind of vertex: its table, the columns that are properties, and the columns with properties as JSON."""

    table: sa.Table
    columns: dict[str, str]
    documents: tuple[str, ...]


_PARTS = (
    _VertexTable(t.entities, {"kind": "kind", "created": "created"}, ("properties",)),
    _VertexTable(t.activities, {"name": "command", "started": "started", "ended": "ended"}, ("args", "properties")),
    _VertexTable(t.agents, {"name": "name", "kind": "kind"}, ("properties",)),
)
_EDGES = {  # relation: source and target, each with the kind of its vertices
    "used": (t.used.c.activity, 1, t.used.c.entity, 0),
    "wasGeneratedBy": (t.was_generated_by.c.entity, 0, t.was_generated_by.c.activity, 1),
    "wasDerivedFrom": (t.was_derived_from.c.generated, 0, t.was_derived_from.c.used, 0),
    "wasAssociatedWith": (t.was_associated_with.c.activity, 1, t.was_associated_with.c.agent, 2),
    "wasAttributedTo": (t.was_attributed_to.c.entity, 0, t.was_attributed_to.c.agent, 2),
}


@dataclass(frozen=True)
class _Read:
    """The vertices of one kind, by column: names, properties, JSON documents of properties, identifiers."""

    part: _VertexTable
    rows: list[Batch]

    @classmethod
    def of(cls, connection: sa.Connection, part: _VertexTable) -> _Read:
        columns = ["name", *part.columns, *part.documents, *(["identifier"] if part.table is t.activities else [])]
        return cls(part, list(batches(connection, part.table, columns)))

    @cached_property
    def ids(self) -> Ints:
        return _concatenated([each.ids for each in self.rows])

    def column(self, place: int) -> list[Any]:
        return [value for batch in self.rows for value in batch.values(place)]

    def properties(self, start: int) -> Iterable[tuple[str, Ints, list[Any]]]:
        """Yield each property with the vertices that have it and their values; `start` is the first vertex."""
        everyone, names = np.arange(start, start + len(self.ids)), list(self.part.columns.values())
        for place, name in enumerate(names, 1):
            if name != "command":
                values = self.column(place)
                known = [value is not None for value in values]
                yield name, everyone[known], [value for value in values if value is not None]
        for place in range(len(names) + 1, len(names) + 1 + len(self.part.documents)):
            gathered: dict[str, tuple[list[int], list[Any]]] = {}
            for number, held in enumerate(self.column(place), start):
                if not isinstance(held, dict):
                    refuse(f"{held!r:.40} are no properties")
                for name, value in held.items():
                    if value is not None:
                        rows, values = gathered.setdefault(name, ([], []))
                        rows.append(number)
                        values.append(value)
            for name, (rows, values) in gathered.items():
                yield name, np.array(rows, np.int64), values
        if "command" in names:  # last: the name is the command only if there is no other
            yield "command", everyone, self.column(names.index("command") + 1)


def graph_of(connection: sa.Connection) -> Graph:
    """Return the graph of the whole catalog.

    The id of a dataset is its name; of an operation, `name#number` or the id it was imported with; of a person, their
    name. If a dataset has the same name, the ids are `activity:name#number` and `agent:name`.
    """
    found = [_Read.of(connection, part) for part in _PARTS]
    numbering = Numbering(tuple(each.ids for each in found))
    edges: Relations = {relation: _edges_of_relation(connection, relation, numbering) for relation in _EDGES}
    edge_properties = joined(connection, edges, numbering)

    def properties() -> Held:
        columns: dict[str, list[tuple[Ints, list[Any]]]] = {}
        for start, own in zip(numbering.starts[:3], found, strict=True):
            for name, rows, values in own.properties(start):
                columns.setdefault(name, []).append((rows, values))
        return {name: _property_column(parts) for name, parts in columns.items()}

    return Graph(
        _names_of_vertices(found), np.repeat(np.array([0, 1, 2], np.uint8), [len(ids) for ids in numbering.ids]),
        Edges.of_relations(edges), Columns(properties), edge_properties, lenient=True,
    )  # fmt: skip


def _names_of_vertices(found: Sequence[_Read]) -> Ids:
    """Return the ids of vertices; an index of the catalog ensures that names of datasets are unique."""
    entities, activities, agents = found
    columns = (activities.column(0), activities.ids.tolist(), activities.column(-1))
    labels = [identifier or f"{name}#{number}" for name, number, identifier in zip(*columns, strict=True)]
    names, people = entities.column(0), agents.column(0)
    others = {*labels, *people}
    if len(others) == len(labels) + len(people) and others.isdisjoint(names):
        return Ids([*names, *labels, *people], len(names) + len(others), unique=True)
    taken = set(names)
    names += [_free_name(name, "activity", taken) for name in labels]
    names += [_free_name(name, "agent", taken) for name in people]
    return Ids(names, len(names))


def _free_name(name: str, prefix: str, taken: set[str]) -> str:
    found = name if name not in taken else f"{prefix}:{name}"
    while found in taken:
        found += "'"
    taken.add(found)
    return found


def _property_column(parts: list[tuple[Ints, list[Any]]]) -> tuple[np.ndarray[Any, np.dtype[np.int32]], list[Any]]:
    """Return a column by ascending row; if a row has two values (an argument and a property), the first is used."""
    rows = _concatenated([own for own, _ in parts])
    values = [value for _, own in parts for value in own]
    if (rows[1:] > rows[:-1]).all():
        return rows.astype(np.int32), values
    rows, first = np.unique(rows, return_index=True)
    return rows.astype(np.int32), [values[place] for place in first.tolist()]


def _concatenated(parts: Sequence[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _edges_of_relation(connection: sa.Connection, relation: str, numbering: Numbering) -> tuple[Ints, Ints]:
    """Return the edges of one relation as indices of vertices, without duplicates."""
    source, source_kind, target, target_kind = _EDGES[relation]
    found = pairs(connection, source, target)
    ends = [numbering.of(kind, own) for kind, own in zip((source_kind, target_kind), found, strict=True)]
    key = np.sort(numbering.key(ends[0], ends[1]))
    key = key[np.diff(key, prepend=-1) > 0]
    one, other = numbering.ends(key)
    itself = one == other
    if itself.any():
        warnings.warn(
            f"{int(itself.sum())} dataset(s) were derived from themselves: the graph leaves out these edges",
            GraphWarning, stacklevel=5,
        )  # fmt: skip
    return one[~itself], other[~itself]
