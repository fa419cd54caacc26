"""The log as a project graph: datasets, operations and people as W3C PROV in memory, for segments and summaries."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from whence.graph import Graph, GraphWarning

# Plain statements, because a million rows are to be read in about a second. Each table's rows come by ascending id.
_ENTITIES = "SELECT id, name, kind, created, properties FROM entities ORDER BY id"
_ACTIVITIES = "SELECT id, name, started, ended, args, properties FROM activities ORDER BY id"
_AGENTS = "SELECT id, name, kind, properties FROM agents ORDER BY id"
_EDGES = {
    "used": ("activity", "entity", "used"),
    "wasGeneratedBy": ("entity", "activity", "was_generated_by"),
    "wasDerivedFrom": ("generated", "used", "was_derived_from"),
    "wasAssociatedWith": ("activity", "agent", "was_associated_with"),
    "wasAttributedTo": ("entity", "agent", "was_attributed_to"),
}
_KIND = {"entity": 0, "generated": 0, "used": 0, "activity": 1, "agent": 2}
Row = Sequence[Any]


def graph_of(connection: sa.Connection) -> Graph:
    """The graph of all that the catalog holds.

    A dataset is called by its name, an operation `name#number`, a person by name; where a dataset has that name, they
    are `activity:name#number` and `agent:name`.
    """
    tables = [connection.exec_driver_sql(text).fetchall() for text in (_ENTITIES, _ACTIVITIES, _AGENTS)]
    entities, activities, agents = tables
    names = [row[1] for row in entities]
    taken = set(names)
    names += [_free(f"{row[1]}#{row[0]}", "activity", taken) for row in activities]
    names += [_free(row[1], "agent", taken) for row in agents]
    starts = np.cumsum([0, *map(len, tables)])
    numbers = [np.fromiter((row[0] for row in table), np.int64, len(table)) for table in tables]
    edges = {
        relation: _edges(connection, relation, source, target, table, numbers, starts)
        for relation, (source, target, table) in _EDGES.items()
    }
    columns: dict[str, tuple[list[int], list[Any]]] = {}

    def put(name: str, rows: Sequence[int], values: Sequence[Any]) -> None:
        held = columns.setdefault(name, ([], []))
        held[0].extend(rows)
        held[1].extend(values)

    for start, table, fixed, json_at in (
        (0, entities, {"kind": 2, "created": 3}, (4,)),
        (int(starts[1]), activities, {"command": 1, "started": 2, "ended": 3}, (4, 5)),
        (int(starts[2]), agents, {"name": 1, "kind": 2}, (3,)),
    ):
        for name, place in fixed.items():
            put(name, range(start, start + len(table)), [row[place] for row in table])
        _put_json(put, start, table, json_at)
    return Graph.from_arrays(
        np.repeat(np.array([0, 1, 2], np.uint8), [len(table) for table in tables]), edges, ids=names, lenient=True,
        properties={name: _sorted(rows, values) for name, (rows, values) in columns.items()},
    )  # fmt: skip


def _free(name: str, prefix: str, taken: set[str]) -> str:
    found = name if name not in taken else f"{prefix}:{name}"
    while found in taken:
        found += "'"
    taken.add(found)
    return found


def _edges(
    connection: sa.Connection, relation: str, source: str, target: str, table: str,
    numbers: list[NDArray[np.int64]], starts: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:  # fmt: skip
    """The edges of one relation, each once, as numbers of vertices."""
    rows = connection.exec_driver_sql(f"SELECT {source}, {target} FROM {table}").fetchall()
    pairs = np.fromiter((value for row in rows for value in row), np.int64, 2 * len(rows)).reshape(-1, 2)
    for place, end in enumerate((source, target)):
        kind = _KIND[end]
        pairs[:, place] = np.searchsorted(numbers[kind], pairs[:, place]) + starts[kind]
    pairs = np.unique(pairs, axis=0)
    itself = pairs[:, 0] == pairs[:, 1]
    if itself.any():
        warnings.warn(
            f"{int(itself.sum())} dataset(s) were derived from themselves; the graph leaves these edges out",
            GraphWarning, stacklevel=5,
        )  # fmt: skip
        pairs = pairs[~itself]
    return pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)


def _put_json(put: Any, start: int, table: Sequence[Row], places: tuple[int, ...]) -> None:
    """Properties that the catalog holds as JSON; a database may hand them over read or as text."""
    for number, row in enumerate(table, start):
        for place in places:
            held = row[place]
            if not held or held == "{}":
                continue
            for name, value in (json.loads(held) if isinstance(held, str) else held).items():
                if value is not None:
                    put(name, (number,), (value,))


def _sorted(rows: list[int], values: list[Any]) -> tuple[NDArray[np.int32], list[Any]]:
    """A column by ascending row; of two values of one row (an argument called like a property) the first counts."""
    order = np.argsort(np.array(rows, np.int64), kind="stable")
    own = np.array(rows, np.int32)[order]
    first = np.concatenate([[True], own[1:] != own[:-1]]) if len(own) else np.zeros(0, np.bool_)
    return own[first], [values[place] for place in order[first].tolist()]
