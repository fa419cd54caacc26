"""Reading what was recorded after a given row, to update the graph in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from whence.store.catalog import schema as t


def datasets_after(connection: sa.Connection, last: int) -> Sequence[sa.Row[Any, Any, Any, Any, Any]]:
    """Return (id, name, shape, kind, properties) of the datasets recorded after that one."""
    columns = (t.entities.c.id, t.entities.c.name, t.entities.c.shape, t.entities.c.kind, t.entities.c.properties)
    return connection.execute(sa.select(*columns).where(t.entities.c.id > last).order_by(t.entities.c.id)).all()


class Derived(NamedTuple):
    """A derivation for the graph in memory; `activity` is a label, `hash` is None if there is no relation."""

    id: int
    output: int
    input: int
    hash: str | None
    kind: str
    in_catalog: bool
    activity: str | None


def edges_after(connection: sa.Connection, last: int) -> list[Derived]:
    """Return the derivations recorded after that one, without revisions."""
    edges, made = t.was_derived_from, t.activities
    columns = (edges.c.id, edges.c.generated, edges.c.used, edges.c.relation, edges.c.kind)
    chosen = (
        sa.select(*columns, t.relations.c.data.is_not(None), made.c.id, made.c.name, made.c.identifier)
        .select_from(edges)
        .outerjoin(t.relations, t.relations.c.hash == edges.c.relation)
        .outerjoin(made, made.c.id == edges.c.activity)
        .where(edges.c.id > last, edges.c.relation.is_not(None) | (edges.c.kind != "revision"))
        .order_by(edges.c.id)
    )
    return [
        Derived(id, output, input, hash, kind, in_catalog, None if name is None else label(number, name, identifier))
        for id, output, input, hash, kind, in_catalog, number, name, identifier in connection.execute(chosen)
    ]


def label(id: int, name: str, identifier: str | None) -> str:
    """Return the label of an activity: its id in the document it was imported from, else name and id."""
    return identifier or f"{name}#{id}"


@dataclass(frozen=True, slots=True)
class Loose:
    """An activity with the ids of the entities it used, and of those it generated that have no relation."""

    number: int
    label: str
    kind: str  # "commit", "operation" (a recorded computation), or "activity"
    used: tuple[int, ...]
    generated: tuple[int, ...]


def loose_after(connection: sa.Connection, last: int) -> list[Loose]:
    """Return the activities recorded after that one that generated an entity without relations to its inputs."""
    edges, made = t.was_derived_from, t.activities
    related = sa.select(edges.c.id).where(
        edges.c.generated == t.was_generated_by.c.entity, edges.c.relation.is_not(None)
    )
    chosen = (
        sa.select(made.c.id, made.c.name, made.c.identifier, made.c.properties, t.was_generated_by.c.entity)
        .join(t.was_generated_by)
        .where(made.c.id > last, ~related.exists())
        .order_by(made.c.id, t.was_generated_by.c.position)
    )
    found: dict[int, tuple[str, str, list[int]]] = {}
    for id, name, identifier, own, entity in connection.execute(chosen):
        kind = "commit" if is_commit(name, own) else "operation" if "reuse" in own else "activity"
        found.setdefault(id, (label(id, name, identifier), kind, []))[2].append(entity)
    used = _entities(connection, t.used, list(found))
    return [
        Loose(id, called, kind, tuple(used.get(id, ())), tuple(entities))
        for id, (called, kind, entities) in found.items()
    ]


def is_commit(name: str, properties: Mapping[str, Any]) -> bool:
    """Whether an activity is a commit of a repository: it records the history of files, not their lineage."""
    return name == "git commit" and "git_commit" in properties


def _entities(connection: sa.Connection, table: sa.Table, activities: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for start in range(0, len(activities), 500):
        chosen = sa.select(table.c.activity, table.c.entity).where(
            table.c.activity.in_(activities[start : start + 500])
        )
        for activity, entity in connection.execute(chosen.order_by(table.c.activity, table.c.position)):
            found.setdefault(activity, []).append(entity)
    return found


def last_activity(connection: sa.Connection) -> int:
    """Return the id of the latest activity, -1 if there is none."""
    return int(connection.execute(sa.select(sa.func.max(t.activities.c.id))).scalar_one() or -1)
