"""Deleting datasets and relations from the catalog."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from whence.store.catalog import schema as t
from whence.store.catalog.statements.reading import ids_of


def delete_dataset(connection: sa.Connection, name: str) -> None:
    """Remove a dataset with its derivations, and the operations and relations that nothing refers to any more.

    The datasets before and after it are marked, so that answers can say that they are incomplete.
    """
    entity = ids_of(connection, {name})[name]
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
    """Note the deleted dataset in the properties of its inputs and outputs, if it has outputs."""
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
    """Delete the relations that no derivation refers to; garbage collection then removes their blobs."""
    edges = t.was_derived_from
    connection.execute(
        t.parts.delete().where(
            t.parts.c.relation.not_in(sa.select(edges.c.relation).where(edges.c.relation.is_not(None)))
        )
    )
    in_use = sa.select(edges.c.relation).where(edges.c.relation == t.relations.c.hash)
    connection.execute(t.relations.delete().where(~in_use.exists()))
