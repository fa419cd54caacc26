"""The first tables: entities, activities and agents of W3C PROV, the relations between them, and the log itself."""

from __future__ import annotations

import uuid

import sqlalchemy as sa

NAME = "0001-prov"

# {id} and {json} differ between SQLite and PostgreSQL. Uniqueness is declared by indexes, which a later migration can
# replace; SQLite cannot drop a constraint of a table.
STATEMENTS = (
    """
    CREATE TABLE log (
        one INTEGER PRIMARY KEY NOT NULL CHECK (one = 1),
        id TEXT NOT NULL,
        created TEXT NOT NULL,
        changes BIGINT NOT NULL,
        removals BIGINT NOT NULL
    )
    """,
    """
    CREATE TABLE entities (
        id {id},
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        shape {json},
        created TEXT NOT NULL,
        properties {json} NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX entities_by_name ON entities (name)",
    """
    CREATE TABLE activities (
        id {id},
        name TEXT NOT NULL,
        args {json} NOT NULL,
        started TEXT NOT NULL,
        ended TEXT NOT NULL,
        properties {json} NOT NULL
    )
    """,
    "CREATE INDEX activities_by_name ON activities (name)",
    """
    CREATE TABLE agents (
        id {id},
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        properties {json} NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX agents_by_name ON agents (kind, name)",
    """
    CREATE TABLE relations (
        hash TEXT PRIMARY KEY NOT NULL,
        size BIGINT NOT NULL,
        boxes BIGINT NOT NULL,
        tuples TEXT NOT NULL,
        created TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE used (
        activity BIGINT NOT NULL REFERENCES activities (id),
        position INTEGER NOT NULL,
        entity BIGINT NOT NULL REFERENCES entities (id),
        PRIMARY KEY (activity, position)
    )
    """,
    "CREATE INDEX used_by_entity ON used (entity)",
    """
    CREATE TABLE was_generated_by (
        activity BIGINT NOT NULL REFERENCES activities (id),
        position INTEGER NOT NULL,
        entity BIGINT NOT NULL REFERENCES entities (id),
        PRIMARY KEY (activity, position)
    )
    """,
    "CREATE INDEX was_generated_by_by_entity ON was_generated_by (entity)",
    """
    CREATE TABLE was_derived_from (
        id {id},
        generated BIGINT NOT NULL REFERENCES entities (id),
        used BIGINT NOT NULL REFERENCES entities (id),
        activity BIGINT REFERENCES activities (id),
        kind TEXT NOT NULL,
        relation TEXT REFERENCES relations (hash),
        created TEXT NOT NULL
    )
    """,
    "CREATE INDEX was_derived_from_by_generated ON was_derived_from (generated)",
    "CREATE INDEX was_derived_from_by_used ON was_derived_from (used)",
    "CREATE INDEX was_derived_from_by_activity ON was_derived_from (activity)",
    "CREATE INDEX was_derived_from_by_relation ON was_derived_from (relation)",
    """
    CREATE TABLE was_associated_with (
        activity BIGINT NOT NULL REFERENCES activities (id),
        agent BIGINT NOT NULL REFERENCES agents (id),
        PRIMARY KEY (activity, agent)
    )
    """,
    """
    CREATE TABLE was_attributed_to (
        entity BIGINT NOT NULL REFERENCES entities (id),
        agent BIGINT NOT NULL REFERENCES agents (id),
        PRIMARY KEY (entity, agent)
    )
    """,
)


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Create the tables of a new log and give it its id."""
    for statement in STATEMENTS:
        connection.exec_driver_sql(statement.format(**types))
    connection.execute(
        sa.text("INSERT INTO log (one, id, created, changes, removals) VALUES (1, :id, :now, 0, 0)"),
        {"id": uuid.uuid4().hex, "now": now},
    )
