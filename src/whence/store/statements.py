"""PROV statements with attributes, and those of relations that have no table: from the catalog into the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from whence.graph.model import KINDS
from whence.store import schema as t

Ends = tuple[NDArray[np.int32], NDArray[np.int32]]
Described = dict[str, list[tuple[int, int, dict[str, Any]]]]


def identifiers(connection: sa.Connection) -> dict[int, str]:
    """The ids that activities were imported with, by their numbers."""
    of = t.activities.c
    rows = connection.execute(sa.select(of.id, of.identifier).where(of.identifier.is_not(None)))
    return {int(number): str(name) for number, name in rows}


def statements(connection: sa.Connection, numbers: Sequence[NDArray[np.int64]], starts: Sequence[int]) -> Described:
    """For each relation its statements: two vertices by number, and attributes."""
    found: Described = {}
    for row in connection.execute(sa.select(t.statements).order_by(t.statements.c.id)):
        ends = []
        for name, id in ((row.source_kind, row.source), (row.target_kind, row.target)):
            kind = KINDS.index(name)
            ends.append(int(np.searchsorted(numbers[kind], id)) + starts[kind])
        found.setdefault(row.relation, []).append((ends[0], ends[1], row.properties))
    return found


def joined(edges: dict[str, Ends], described: Described) -> dict[str, tuple[NDArray[np.int32], list[Any]]]:
    """Take the statements into the edges, and return their attributes as columns.

    A statement with attributes stands for the same one without.
    """
    for relation, items in described.items():
        source, target = edges.get(relation, (np.zeros(0, np.int32), np.zeros(0, np.int32)))
        known = {(one, other) for one, other, _ in items}
        pairs = zip(source.tolist(), target.tolist(), strict=True)
        others = np.array([pair not in known for pair in pairs], np.bool_)
        ends = [np.array([item[place] for item in items], np.int32) for place in (0, 1)]
        edges[relation] = np.concatenate([ends[0], source[others]]), np.concatenate([ends[1], target[others]])
    columns: dict[str, tuple[list[int], list[Any]]] = {}
    row = 0
    for relation, (source, _) in edges.items():
        for number, (_, _, attributes) in enumerate(described.get(relation, ()), row):
            for name, value in attributes.items():
                rows, values = columns.setdefault(name, ([], []))
                rows.append(number)
                values.append(value)
        row += len(source)
    return {name: (np.array(rows, np.int32), values) for name, (rows, values) in columns.items()}
