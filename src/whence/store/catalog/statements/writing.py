"""Adding datasets, operations, and derivations with their relations to the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from whence.store.catalog import schema as t
from whence.store.catalog.clock import now
from whence.store.catalog.statements.agents import current_agent
from whence.store.catalog.statements.inserting import insert
from whence.store.catalog.statements.reading import ids_of, relations
from whence.store.records import Dataset, Derivation, Operation


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored relation: its bytes are a blob or, if they are few, `data` in the catalog."""

    hash: str
    size: int
    boxes: int
    tuples: int
    data: bytes | None = None
    parts: tuple[tuple[str, int], ...] = ()  # hash and size of each part of a large relation

    def row(self, created: str) -> dict[str, Any]:
        """Return its row in the catalog."""
        return {
            "hash": self.hash, "size": self.size, "boxes": self.boxes, "tuples": str(self.tuples), "created": created,
            "data": self.data,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edge:
    """A derivation to be recorded."""

    output: str
    input: str
    relation: Stored
    kind: str = "boxes"  # or "selection": cells that only influenced the selection


def add_dataset(
    connection: sa.Connection, name: str, kind: str, shape: tuple[int, ...], properties: Mapping[str, Any]
) -> Dataset:
    """Record a new dataset."""
    created, (agent, by) = now(), current_agent(connection)
    entity = insert(
        connection,
        t.entities,
        {"name": name, "kind": kind, "shape": list(shape), "created": created, "properties": dict(properties)},
    )
    connection.execute(t.was_attributed_to.insert().values(entity=entity, agent=agent))
    return Dataset(name, kind, shape, created, by, properties)


def add_operation(
    connection: sa.Connection,
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    args: Mapping[str, Any],
    started: str,
    reuse: bool,
) -> Operation:
    """Record an operation with its inputs and outputs."""
    ended, (agent, by) = now(), current_agent(connection)
    ids = ids_of(connection, {*inputs, *outputs})
    activity = insert(
        connection,
        t.activities,
        {"name": name, "args": dict(args), "started": started, "ended": ended, "properties": {"reuse": reuse}},
    )
    connection.execute(t.was_associated_with.insert().values(activity=activity, agent=agent))
    for table, members in ((t.used, inputs), (t.was_generated_by, outputs)):
        rows = [{"activity": activity, "position": i, "entity": ids[member]} for i, member in enumerate(members)]
        if rows:
            connection.execute(table.insert(), rows)
    return Operation(activity, name, tuple(inputs), tuple(outputs), args, started, ended, by, reuse)


def add_edges(connection: sa.Connection, edges: Sequence[Edge], operation: Operation | None) -> list[Derivation]:
    """Record derivations, each with its relation."""
    if not edges:
        return []
    time = now()
    ids = ids_of(connection, {name for edge in edges for name in (edge.output, edge.input)})
    stored = {edge.relation.hash: edge.relation for edge in edges}
    known = relations(connection, stored)
    new = [item.row(time) for hash, item in stored.items() if hash not in known]
    if new:
        connection.execute(t.relations.insert(), new)
    parts = [
        {"relation": hash, "position": position, "hash": part, "size": size}
        for hash, item in stored.items()
        if hash not in known
        for position, (part, size) in enumerate(item.parts)
    ]
    if parts:
        connection.execute(t.parts.insert(), parts)
    connection.execute(
        t.was_derived_from.insert(),
        [
            {
                "generated": ids[edge.output],
                "used": ids[edge.input],
                "activity": operation.id if operation else None,
                "kind": edge.kind,
                "relation": edge.relation.hash,
                "created": time,
            }
            for edge in edges
        ],
    )
    return [
        Derivation(
            edge.output,
            edge.input,
            edge.kind,
            edge.relation.hash,
            edge.relation.boxes,
            edge.relation.tuples,
            edge.relation.size,
            time,
            operation.name if operation else None,
        )
        for edge in edges
    ]
