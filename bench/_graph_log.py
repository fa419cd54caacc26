"""Time to open the graph of a log that has a large graph."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench._common import Claim, claim

import whence as wh
from whence.testing.graphs.generators import Arrays

_TIME = "2026-01-01T00:00:00.000000Z"
_COLUMNS = {  # tables and columns of the rows that are read one by one
    "entities": "id, name, kind, created, properties",
    "activities": "id, name, started, ended, args, properties",
    "agents": "id, name, kind, properties",
    "used": "activity, entity",
    "was_generated_by": "entity, activity",
    "was_associated_with": "activity, agent",
}


def opening(arrays: Arrays, at_most: float) -> Claim:
    """Time to read the graph of a log from its catalog, over a new connection; files and commands have properties as in
    runs.

    This is processor time, because other programs use the machine as well; the database runs in this process.
    """
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as place:
        where = Path(place, "project.whence")
        wh.open(where).close()
        counts = fill(where / "catalog.sqlite", arrays)
        times, agree = [], True
        for _ in range(3):
            with wh.open(where) as log:
                start = time.process_time()
                graph = log.graph
                times.append(time.process_time() - start)
                agree &= (len(graph), len(graph.edge_table)) == counts
        rows = min(_row_by_row(where / "catalog.sqlite") for _ in range(2))
    return claim(
        f"opening the graph of a log of {counts[0]:,} vertices", min(times),
        {"fetching the rows with sqlite3, no graph made": rows}, unit="s of processor time", at_most=at_most,
        true=agree,
    )  # fmt: skip


def fill(catalog: Path, arrays: Arrays) -> tuple[int, int]:
    """Write a graph into an empty catalog, as runs would, but at once. Return the numbers of vertices and edges."""
    places = [np.flatnonzero(arrays.kinds == kind) for kind in range(3)]
    number = np.zeros(len(arrays.kinds), np.int64)
    for own in places:
        number[own] = np.arange(1, len(own) + 1)
    with sqlite3.connect(catalog) as connection:
        connection.executemany("INSERT INTO agents VALUES (?, ?, 'person', '{}')", _agents(len(places[2])))
        connection.executemany(
            "INSERT INTO entities (id, name, kind, shape, created, properties) VALUES (?, ?, 'file', '[]', ?, ?)",
            ((i, f"data/part-{i}.csv@v1", _TIME, _file(i)) for i in range(1, len(places[0]) + 1)),
        )
        connection.executemany(
            "INSERT INTO activities (id, name, args, started, ended, properties) VALUES (?, 'train.py', '{}', ?, ?, ?)",
            ((i, _TIME, _TIME, _command(i)) for i in range(1, len(places[1]) + 1)),
        )
        edges = {name: (number[one].tolist(), number[other].tolist()) for name, (one, other) in arrays.edges.items()}
        pairs: dict[str, Any] = {name: list(zip(*ends, strict=True)) for name, ends in edges.items()}
        for table, relation, first in (("used", "used", 0), ("was_generated_by", "wasGeneratedBy", 1)):
            connection.executemany(
                f"INSERT INTO {table} (activity, position, entity) VALUES (?, ?, ?)",
                ((pair[first], place, pair[1 - first]) for place, pair in enumerate(pairs[relation])),
            )
        connection.executemany("INSERT INTO was_associated_with VALUES (?, ?)", pairs["wasAssociatedWith"])
    kept = ("used", "wasGeneratedBy", "wasAssociatedWith")
    return len(arrays.kinds), sum(len(arrays.edges[name][0]) for name in kept)


def _agents(count: int) -> list[tuple[int, str]]:
    return [(i, f"person {i}") for i in range(1, count + 1)]


def _file(i: int) -> str:
    return f'{{"artifact": "data/part-{i}.csv", "version": 1, "sha256": "{i:064x}", "size": {i}}}'


def _command(i: int) -> str:
    return f'{{"command": "python train.py {i}", "exit_code": 0}}'


def _row_by_row(catalog: Path) -> float:
    start = time.process_time()
    with sqlite3.connect(catalog) as connection:
        for table, columns in _COLUMNS.items():
            connection.execute(f"SELECT {columns} FROM {table}").fetchall()
    return time.process_time() - start
