"""Reading the catalog: datasets, operations, derivations, blobs in use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from whence.errors import ShapeMismatch, UnknownName
from whence.store.catalog import schema as t
from whence.store.catalog.database import Stamp
from whence.store.records import Dataset, Derivation, Operation


def log_id(connection: sa.Connection) -> str:
    """Return the log's id, which was chosen when it was created."""
    return str(connection.execute(sa.select(t.log.c.id)).scalar_one())


def stamp(connection: sa.Connection) -> Stamp:
    """Return the counts of changes and removals, as this transaction sees them."""
    return Stamp(*connection.execute(sa.select(t.log.c.changes, t.log.c.removals)).one())


def names(connection: sa.Connection) -> list[str]:
    """Return the names of all datasets."""
    return list(connection.execute(sa.select(t.entities.c.name)).scalars())


def datasets(connection: sa.Connection, name: str | None = None) -> list[Dataset]:
    """Return all datasets, oldest first, or only the one with that name, if it exists."""
    by = _first_agent(t.was_attributed_to, t.was_attributed_to.c.entity == t.entities.c.id)
    query = sa.select(t.entities, by).order_by(t.entities.c.id)
    if name is not None:
        query = query.where(t.entities.c.name == name)
    return [
        Dataset(row.name, row.kind, tuple(row.shape), row.created, row.by, row.properties)
        for row in connection.execute(query)
    ]


def dataset(connection: sa.Connection, name: str) -> Dataset:
    """Return the dataset with that name, or raise UnknownName."""
    found = datasets(connection, name)
    if not found:
        raise UnknownName.of("dataset", name, names(connection))
    return found[0]


def operations(connection: sa.Connection, dataset: str | None = None) -> list[Operation]:
    """Return all operations, or those that used or generated the dataset, oldest first."""
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
    """Return all derivations, or those of one output or one input, oldest first."""
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


def counts(connection: sa.Connection) -> tuple[int, int, int]:
    """Return the number of datasets, operations and derivations."""
    tables = (t.entities, t.activities, t.was_derived_from)
    row = connection.execute(
        sa.select(*(sa.select(sa.func.count()).select_from(table).scalar_subquery() for table in tables))
    ).one()
    return row[0], row[1], row[2]


def referenced(connection: sa.Connection, among: Iterable[str] | None = None) -> set[str]:
    """Return the hashes of all blobs in use, or those of the given hashes that are in use."""
    among = None if among is None else list(among)
    tables = (t.relations, t.parts, t.results, t.table_rows)
    return set().union(*(_hashes(connection, table, among) for table in tables))


def relations(connection: sa.Connection, among: Iterable[str]) -> set[str]:
    """Return the given hashes that are relations in the catalog."""
    return _hashes(connection, t.relations, list(among))


def content(connection: sa.Connection, hash: str) -> bytes | None:
    """Return the bytes of a relation that is stored in the catalog, else None."""
    found = connection.execute(sa.select(t.relations.c.data).where(t.relations.c.hash == hash)).scalar_one_or_none()
    return None if found is None else bytes(found)


def _hashes(connection: sa.Connection, table: sa.Table, among: list[str] | None) -> set[str]:
    query = sa.select(table.c.hash)
    if among is not None:
        query = query.where(table.c.hash.in_(among))
    return set(connection.execute(query).scalars())


def require_shapes(connection: sa.Connection, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise an error if a dataset was deleted or redefined since its shape was read."""
    rows = connection.execute(
        sa.select(t.entities.c.name, t.entities.c.shape).where(t.entities.c.name.in_(list(shapes)))
    )
    present = {name: tuple(shape) for name, shape in rows}
    for name, shape in shapes.items():
        if name not in present:
            raise UnknownName.of("dataset", name, names(connection))
        if present[name] != shape:
            raise ShapeMismatch(
                f"{name!r} had the shape {shape} when its lineage was recorded, and now has {present[name]}: record"
                " it again"
            )


def ids_of(connection: sa.Connection, wanted: Iterable[str]) -> dict[str, int]:
    """Return the ids of datasets by name, or raise UnknownName."""
    wanted = list(wanted)
    rows = connection.execute(sa.select(t.entities.c.name, t.entities.c.id).where(t.entities.c.name.in_(wanted)))
    ids = {row.name: int(row.id) for row in rows}
    for name in wanted:
        if name not in ids:
            raise UnknownName.of("dataset", name, names(connection))
    return ids
