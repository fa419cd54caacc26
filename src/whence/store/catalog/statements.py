"""The catalog's statements: what is asked of the tables, and what is written to them."""

from __future__ import annotations

import functools
import getpass
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from whence.errors import ShapeMismatch, UnknownName
from whence.store.catalog import schema as t
from whence.store.catalog.clock import now
from whence.store.catalog.database import Stamp
from whence.store.records import Dataset, Derivation, Operation


@dataclass(frozen=True, slots=True)
class Stored:
    """A relation as the catalog refers to it; it lies in the blobs or, if it is small, in the catalog as `data`."""

    hash: str
    size: int
    boxes: int
    tuples: int
    data: bytes | None = None
    parts: tuple[tuple[str, int], ...] = ()  # hash and size of each, of a relation of many

    def row(self, created: str) -> dict[str, Any]:
        """Its row in the catalog."""
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
    kind: str = "boxes"  # or "selection": cells that decided, and went into nothing


def log_id(connection: sa.Connection) -> str:
    """The log's own identity, made with it."""
    return str(connection.execute(sa.select(t.log.c.id)).scalar_one())


def stamp(connection: sa.Connection) -> Stamp:
    """How much the catalog has changed, as this transaction sees it."""
    return Stamp(*connection.execute(sa.select(t.log.c.changes, t.log.c.removals)).one())


def names(connection: sa.Connection) -> list[str]:
    """The names of all datasets."""
    return list(connection.execute(sa.select(t.entities.c.name)).scalars())


# --- reading


def datasets(connection: sa.Connection, name: str | None = None) -> list[Dataset]:
    """All datasets, oldest first; or the one of that name, if it is there."""
    by = _first_agent(t.was_attributed_to, t.was_attributed_to.c.entity == t.entities.c.id)
    query = sa.select(t.entities, by).order_by(t.entities.c.id)
    if name is not None:
        query = query.where(t.entities.c.name == name)
    return [
        Dataset(row.name, row.kind, tuple(row.shape), row.created, row.by, row.properties)
        for row in connection.execute(query)
    ]


def operations(connection: sa.Connection, dataset: str | None = None) -> list[Operation]:
    """All operations, oldest first; or those that used or generated the dataset."""
    by = _first_agent(t.was_associated_with, t.was_associated_with.c.activity == t.activities.c.id)
    query = sa.select(t.activities, by).order_by(t.activities.c.id)
    if dataset is not None:
        touched = [
            sa.select(table.c.activity).join(t.entities).where(t.entities.c.name == dataset)
            for table in (t.used, t.was_generated_by)
        ]
        query = query.where(t.activities.c.id.in_(sa.union(*touched)))
    rows = connection.execute(query).all()
    wanted = None if dataset is None else [row.id for row in rows]
    inputs, outputs = (_names_by_activity(connection, table, wanted) for table in (t.used, t.was_generated_by))
    return [
        Operation(
            row.id,
            row.name,
            tuple(inputs.get(row.id, ())),
            tuple(outputs.get(row.id, ())),
            row.args,
            row.started,
            row.ended,
            row.by,
            bool(row.properties.get("reuse")),
            {name: value for name, value in row.properties.items() if name != "reuse"},
        )
        for row in rows
    ]


def _first_agent(table: sa.Table, joined: sa.ColumnElement[bool]) -> sa.Label[str]:
    query = sa.select(t.agents.c.name).join(table, table.c.agent == t.agents.c.id).where(joined)
    return query.order_by(t.agents.c.id).limit(1).scalar_subquery().label("by")


def _names_by_activity(
    connection: sa.Connection, table: sa.Table, activities: list[int] | None
) -> dict[int, list[str]]:
    query = sa.select(table.c.activity, t.entities.c.name).join(t.entities).order_by(table.c.activity, table.c.position)
    if activities is not None:
        query = query.where(table.c.activity.in_(activities))
    members: dict[int, list[str]] = {}
    for activity, name in connection.execute(query):
        members.setdefault(activity, []).append(name)
    return members


def derivations(connection: sa.Connection, *, output: str | None = None, input: str | None = None) -> list[Derivation]:
    """All derivations, oldest first; or those of one output, or of one input."""
    generated, used = t.entities.alias("generated_entity"), t.entities.alias("used_entity")
    edges = t.was_derived_from
    query = (
        sa.select(
            generated.c.name.label("output"),
            used.c.name.label("input"),
            edges.c.kind,
            *(column for column in t.relations.c if column is not t.relations.c.data),
            edges.c.created.label("at"),
            t.activities.c.name.label("operation"),
        )
        .select_from(edges)
        .join(generated, generated.c.id == edges.c.generated)
        .join(used, used.c.id == edges.c.used)
        .join(t.relations, t.relations.c.hash == edges.c.relation)
        .outerjoin(t.activities, t.activities.c.id == edges.c.activity)
        .order_by(edges.c.id)
    )
    if output is not None:
        query = query.where(generated.c.name == output)
    if input is not None:
        query = query.where(used.c.name == input)
    return [
        Derivation(
            row.output, row.input, row.kind, row.hash, row.boxes, int(row.tuples), row.size, row.at, row.operation
        )
        for row in connection.execute(query)
    ]


def datasets_after(connection: sa.Connection, last: int) -> Sequence[sa.Row[Any, Any, Any, Any, Any]]:
    """(id, name, shape, kind, properties) of the datasets recorded after that one."""
    columns = (t.entities.c.id, t.entities.c.name, t.entities.c.shape, t.entities.c.kind, t.entities.c.properties)
    return connection.execute(sa.select(*columns).where(t.entities.c.id > last).order_by(t.entities.c.id)).all()


class Derived(NamedTuple):
    """A derivation as the graph in memory takes it; `activity` is a label, `hash` None where there is no relation."""

    id: int
    output: int
    input: int
    hash: str | None
    kind: str
    in_catalog: bool
    activity: str | None


def edges_after(connection: sa.Connection, last: int) -> list[Derived]:
    """The derivations after that one; what is only a revision is left out."""
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
    """What an activity is called: as the document did that it was imported from, or by its number."""
    return identifier or f"{name}#{id}"


@dataclass(frozen=True, slots=True)
class Loose:
    """An activity by number and label: ids of what it used, and of what it generated without any relation."""

    number: int
    label: str
    kind: str  # "commit"; "operation", which knows the cells of what it computed; or "activity"
    used: tuple[int, ...]
    generated: tuple[int, ...]


def loose_after(connection: sa.Connection, last: int) -> list[Loose]:
    """The activities after that one which generated something that no relation leads from."""
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
    """Whether an activity is a commit of a repository: what it changed is a file's history, and no lineage."""
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
    """The number of the latest activity."""
    return int(connection.execute(sa.select(sa.func.max(t.activities.c.id))).scalar_one() or -1)


def counts(connection: sa.Connection) -> tuple[int, int, int]:
    """How many datasets, operations and derivations there are."""
    tables = (t.entities, t.activities, t.was_derived_from)
    row = connection.execute(
        sa.select(*(sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in tables))
    ).one()
    return row[0], row[1], row[2]


def referenced(connection: sa.Connection, among: Iterable[str] | None = None) -> set[str]:
    """The hashes of all blobs that are in use, or of those among the given ones that are."""
    among = None if among is None else list(among)
    tables = (t.relations, t.parts, t.results, t.table_rows)
    return set().union(*(_hashes(connection, table, among) for table in tables))


def relations(connection: sa.Connection, among: Iterable[str]) -> set[str]:
    """Those of the hashes that are relations in the catalog."""
    return _hashes(connection, t.relations, list(among))


def content(connection: sa.Connection, hash: str) -> bytes | None:
    """The bytes of a relation that lies in the catalog."""
    found = connection.execute(sa.select(t.relations.c.data).where(t.relations.c.hash == hash)).scalar_one_or_none()
    return None if found is None else bytes(found)


def _hashes(connection: sa.Connection, table: sa.Table, among: list[str] | None) -> set[str]:
    query = sa.select(table.c.hash)
    if among is not None:
        query = query.where(table.c.hash.in_(among))
    return set(connection.execute(query).scalars())


def dataset(connection: sa.Connection, name: str) -> Dataset:
    """The dataset of that name, or UnknownName."""
    found = datasets(connection, name)
    if not found:
        raise UnknownName.of("dataset", name, names(connection))
    return found[0]


# --- writing


def add_dataset(
    connection: sa.Connection, name: str, kind: str, shape: tuple[int, ...], properties: Mapping[str, Any]
) -> Dataset:
    """Record a dataset that is not there yet."""
    created, (agent, by) = now(), _agent(connection)
    entity = _insert(
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
    """Record an operation with what it used and what it generated."""
    ended, (agent, by) = now(), _agent(connection)
    ids = _ids(connection, {*inputs, *outputs})
    activity = _insert(
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
    ids = _ids(connection, {name for edge in edges for name in (edge.output, edge.input)})
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


def delete_dataset(connection: sa.Connection, name: str) -> None:
    """Remove a dataset with its derivations, and the operations and relations that nothing is left of.

    What it lay between keeps a mark of that, lest answers seem to be complete.
    """
    entity = _ids(connection, {name})[name]
    edges = t.was_derived_from
    _mark_gap(connection, name, entity)
    connection.execute(edges.delete().where((edges.c.generated == entity) | (edges.c.used == entity)))
    touched = list(
        connection.execute(
            sa.union(
                *(sa.select(table.c.activity).where(table.c.entity == entity) for table in (t.used, t.was_generated_by))
            )
        ).scalars()
    )
    for table in (t.used, t.was_generated_by, t.was_attributed_to, t.snapshots, t.table_rows):
        connection.execute(table.delete().where(table.c.entity == entity))
    _delete_statements(connection, "entity", [entity])
    connection.execute(t.entities.delete().where(t.entities.c.id == entity))
    left = sa.union(sa.select(t.used.c.activity), sa.select(t.was_generated_by.c.activity))
    empty = list(
        connection.execute(
            sa.select(t.activities.c.id).where(t.activities.c.id.in_(touched), t.activities.c.id.not_in(left))
        ).scalars()
    )
    connection.execute(t.was_associated_with.delete().where(t.was_associated_with.c.activity.in_(empty)))
    _delete_statements(connection, "activity", empty)
    connection.execute(t.activities.delete().where(t.activities.c.id.in_(empty)))
    forget_relations(connection)


def _mark_gap(connection: sa.Connection, name: str, entity: int) -> None:
    """Note in what came from a dataset, and in what it came from, that there was something in between."""
    edges, used, made = t.was_derived_from.c, t.used.c, t.was_generated_by.c
    by_activity = sa.join(t.used, t.was_generated_by, used.activity == made.activity)
    known = sa.select(edges.id).where(edges.generated == made.entity, edges.relation.is_not(None)).exists()
    heirs = sa.union(
        sa.select(edges.generated).where(edges.relation.is_not(None), edges.used == entity),
        sa.select(made.entity).select_from(by_activity).where(used.entity == entity, ~known),
    )
    sources = sa.union(
        sa.select(edges.used).where(edges.relation.is_not(None), edges.generated == entity),
        sa.select(used.entity).select_from(by_activity).where(made.entity == entity, ~known),
    )
    if not {*connection.execute(heirs).scalars()} - {entity}:
        return
    of = t.entities.c
    for key, entities in (("lost", heirs), ("lost_results", sources)):
        wanted = {*connection.execute(entities).scalars()} - {entity}
        for id, own in connection.execute(sa.select(of.id, of.properties).where(of.id.in_(wanted))).all():
            marked = {**own, key: [*own.get(key, ()), name]}
            connection.execute(t.entities.update().where(of.id == id).values(properties=marked))


def _delete_statements(connection: sa.Connection, kind: str, ids: Sequence[int]) -> None:
    of = t.statements.c
    ends = ((of.source_kind, of.source), (of.target_kind, of.target))
    connection.execute(t.statements.delete().where(sa.or_(*((kinds == kind) & at.in_(ids) for kinds, at in ends))))


def forget_relations(connection: sa.Connection) -> None:
    """Drop the relations that no derivation refers to; garbage collection then removes their blobs."""
    edges = t.was_derived_from
    connection.execute(
        t.parts.delete().where(
            t.parts.c.relation.not_in(sa.select(edges.c.relation).where(edges.c.relation.is_not(None)))
        )
    )
    in_use = sa.select(edges.c.relation).where(edges.c.relation == t.relations.c.hash)
    connection.execute(t.relations.delete().where(~in_use.exists()))


def require_shapes(connection: sa.Connection, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Make sure that nobody deleted or redefined the datasets since their shapes were looked up."""
    rows = connection.execute(
        sa.select(t.entities.c.name, t.entities.c.shape).where(t.entities.c.name.in_(list(shapes)))
    )
    present = {name: tuple(shape) for name, shape in rows}
    for name, shape in shapes.items():
        if name not in present:
            raise UnknownName.of("dataset", name, names(connection))
        if present[name] != shape:
            raise ShapeMismatch(
                f"{name!r} had the shape {shape} when its lineage was captured, and now has {present[name]}: "
                "capture it again"
            )


def _ids(connection: sa.Connection, wanted: Iterable[str]) -> dict[str, int]:
    wanted = list(wanted)
    rows = connection.execute(sa.select(t.entities.c.name, t.entities.c.id).where(t.entities.c.name.in_(wanted)))
    ids = {row.name: int(row.id) for row in rows}
    for name in wanted:
        if name not in ids:
            raise UnknownName.of("dataset", name, names(connection))
    return ids


def _insert(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> int:
    key = connection.execute(table.insert().values(**values)).inserted_primary_key
    if key is None:
        raise AssertionError(f"{table.name} gives its rows no key")
    return int(key[0])


def agent_called(connection: sa.Connection, name: str | None) -> int:
    """The agent of that name, made if it is not there; without a name, the person who runs this."""
    if name is None:
        return _agent(connection)[0]
    chosen = sa.select(t.agents.c.id).where(t.agents.c.name == name).order_by(t.agents.c.id).limit(1)
    found = connection.execute(chosen).scalar_one_or_none()
    return _insert(connection, t.agents, {"name": name, "kind": "person", "properties": {}}) if found is None else found


def _agent(connection: sa.Connection) -> tuple[int, str]:
    name, kind = _user(os.getuid()), "person"
    found = connection.execute(
        sa.select(t.agents.c.id).where(t.agents.c.name == name, t.agents.c.kind == kind)
    ).scalar_one_or_none()
    if found is None:
        properties = {"host": socket.gethostname()}
        found = _insert(connection, t.agents, {"name": name, "kind": kind, "properties": properties})
    return int(found), name


@functools.cache
def _user(uid: int) -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return f"uid-{uid}"
