"""The log as a project graph: datasets, operations and people as W3C PROV in memory, for segments and summaries.

A column comes as one JSON array, which the database puts together: row by row, a million would take several times as
long.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from whence.graph import Graph, GraphWarning
from whence.store import schema as t
from whence.store.statements import identifiers, joined, statements

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Part:
    """One kind of vertices: its table, the columns that are properties, and those that hold properties as JSON."""

    table: sa.Table
    columns: dict[str, str]
    documents: tuple[str, ...]


_PARTS = (
    _Part(t.entities, {"kind": "kind", "created": "created"}, ("properties",)),
    _Part(t.activities, {"name": "command", "started": "started", "ended": "ended"}, ("args", "properties")),
    _Part(t.agents, {"name": "name", "kind": "kind"}, ("properties",)),
)
_EDGES = {  # relation: its source and target, each with the kind it is of
    "used": (t.used.c.activity, 1, t.used.c.entity, 0),
    "wasGeneratedBy": (t.was_generated_by.c.entity, 0, t.was_generated_by.c.activity, 1),
    "wasDerivedFrom": (t.was_derived_from.c.generated, 0, t.was_derived_from.c.used, 0),
    "wasAssociatedWith": (t.was_associated_with.c.activity, 1, t.was_associated_with.c.agent, 2),
    "wasAttributedTo": (t.was_attributed_to.c.entity, 0, t.was_attributed_to.c.agent, 2),
}


def graph_of(connection: sa.Connection) -> Graph:
    """The graph of all that the catalog holds.

    A dataset is called by its name, an operation `name#number`, or by the id it was imported with, a person by name;
    where a dataset has that name, they are `activity:name#number` and `agent:name`.
    """
    found = [_vertices(connection, part) for part in _PARTS]
    numbers = [ids for ids, _ in found]
    starts = [0, len(numbers[0]), len(numbers[0]) + len(numbers[1])]
    names: list[str] = found[0][1].pop("name")
    taken = set(names)
    labels = zip(found[1][1]["command"], numbers[1].tolist(), strict=True)
    imported = identifiers(connection)
    names += [_free(imported.get(number, f"{name}#{number}"), "activity", taken) for name, number in labels]
    names += [_free(name, "agent", taken) for name in found[2][1]["name"]]
    columns: dict[str, list[tuple[Ints, list[Any]]]] = {}
    for start, part, (ids, own) in zip(starts, _PARTS, found, strict=True):
        for name, values in own.items():
            if name != "command":
                columns.setdefault(name, []).append((np.arange(start, start + len(ids)), values))
        for name, rows, values in _documents(connection, part):
            columns.setdefault(name, []).append((np.searchsorted(ids, rows) + start, values))
        if "command" in own:  # comes last, because an operation's name is its command only if it has no other
            columns.setdefault("command", []).append((np.arange(start, start + len(ids)), own["command"]))
    edges = {relation: _edges(connection, relation, numbers, starts) for relation in _EDGES}
    attributes = joined(edges, statements(connection, numbers, starts))
    return Graph.from_arrays(
        np.repeat(np.array([0, 1, 2], np.uint8), [len(ids) for ids in numbers]),
        edges, ids=names, lenient=True, properties={name: _column(parts) for name, parts in columns.items()},
        edge_properties=attributes,
    )  # fmt: skip


def _vertices(connection: sa.Connection, part: _Part) -> tuple[Ints, dict[str, list[Any]]]:
    """The ids of one kind, ascending, and the columns that all of them have."""
    wanted = {"name": "name", **part.columns}
    ids, *columns = connection.execute(sa.select(*_texts(connection, part.table, ["id", *wanted]))).one()
    numbers = np.array(_read(ids), np.int64)
    order = np.argsort(numbers, kind="stable")
    found: dict[str, list[Any]] = {}
    for name, text in zip(wanted.values(), columns, strict=True):
        values = _read(text)
        found[name] = values if _ascending(order) else [values[place] for place in order.tolist()]
    return numbers[order], found


def _texts(connection: sa.Connection, table: sa.Table, names: Iterable[str]) -> list[sa.ColumnElement[Any]]:
    """Columns as JSON arrays, all in the same order."""
    gather = sa.func.json_group_array if connection.dialect.name == "sqlite" else sa.func.json_agg
    return [gather(table.c[name], type_=sa.Text) for name in names]


def _read(text: Any) -> list[Any]:
    """A JSON array; a database may hand it over as text or read, or as nothing if it has no rows."""
    found: list[Any] = json.loads(text) if isinstance(text, str) else (text or [])
    return found


def _ascending(order: Ints) -> bool:
    return bool((order[1:] > order[:-1]).all())


def _documents(connection: sa.Connection, part: _Part) -> Iterable[tuple[str, list[int], list[Any]]]:
    """The properties that are held as JSON, by name: the ids that have them, and the values."""
    for document in part.documents:
        column = part.table.c[document]
        gathered: dict[str, tuple[list[int], list[Any]]] = {}
        query = sa.select(part.table.c.id, column).where(sa.cast(column, sa.Text) != "{}").order_by(part.table.c.id)
        for number, held in connection.execute(query):
            for name, value in held.items():
                if value is not None:
                    rows, values = gathered.setdefault(name, ([], []))
                    rows.append(number)
                    values.append(value)
        for name, (rows, values) in gathered.items():
            yield name, rows, values


def _column(parts: list[tuple[Ints, list[Any]]]) -> tuple[NDArray[np.int32], list[Any]]:
    """A column by ascending row; of two values of one row (an argument called like a property) the first counts."""
    rows = np.concatenate([own for own, _ in parts])
    values = [value for _, own in parts for value in own]
    if _ascending(rows):
        return rows.astype(np.int32), values
    rows, first = np.unique(rows, return_index=True)
    return rows.astype(np.int32), [values[place] for place in first.tolist()]


def _free(name: str, prefix: str, taken: set[str]) -> str:
    found = name if name not in taken else f"{prefix}:{name}"
    while found in taken:
        found += "'"
    taken.add(found)
    return found


def _edges(
    connection: sa.Connection, relation: str, numbers: list[Ints], starts: list[int]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The edges of one relation, each once, as numbers of vertices."""
    source, source_kind, target, target_kind = _EDGES[relation]
    texts = connection.execute(sa.select(*_texts(connection, source.table, [source.name, target.name]))).one()
    ends = []
    for kind, text in zip((source_kind, target_kind), texts, strict=True):
        ends.append(np.searchsorted(numbers[kind], np.array(_read(text), np.int64)) + starts[kind])
    count = starts[2] + len(numbers[2]) + 1
    key = np.sort(ends[0] * count + ends[1])
    key = key[np.diff(key, prepend=-1) > 0]
    pairs = (key // count).astype(np.int32), (key % count).astype(np.int32)
    itself = pairs[0] == pairs[1]
    if itself.any():
        warnings.warn(
            f"{int(itself.sum())} dataset(s) were derived from themselves; the graph leaves these edges out",
            GraphWarning, stacklevel=5,
        )  # fmt: skip
    return pairs[0][~itself], pairs[1][~itself]
