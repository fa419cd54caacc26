"""Artifacts: versions of files, ids of imported activities, and PROV statements without a table of their own."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0003-artifacts"

# A statement is any PROV relation. Five of them have a table of their own; for these, a statement has only the
# attributes.
STATEMENTS = (
    """
    CREATE TABLE snapshots (
        entity BIGINT PRIMARY KEY NOT NULL REFERENCES entities (id),
        artifact TEXT NOT NULL,
        version BIGINT NOT NULL,
        hash TEXT NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX snapshots_by_artifact ON snapshots (artifact, version)",
    """
    CREATE TABLE statements (
        id {id},
        relation TEXT NOT NULL,
        source_kind TEXT NOT NULL,
        source BIGINT NOT NULL,
        target_kind TEXT NOT NULL,
        target BIGINT NOT NULL,
        properties {json} NOT NULL
    )
    """,
    "CREATE INDEX statements_by_source ON statements (source_kind, source)",
    "CREATE INDEX statements_by_target ON statements (target_kind, target)",
    "CREATE TABLE prefixes (prefix TEXT PRIMARY KEY NOT NULL, uri TEXT NOT NULL)",
    "ALTER TABLE activities ADD COLUMN identifier TEXT",
    "CREATE UNIQUE INDEX activities_by_identifier ON activities (identifier)",
)


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Create the tables."""
    for statement in STATEMENTS:
        connection.exec_driver_sql(statement.format(**types))
