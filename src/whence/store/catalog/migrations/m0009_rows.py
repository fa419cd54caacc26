"""The rows of tables that programs passed to Spark, stored as blobs."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0009-rows"

STATEMENTS = (
    """
    CREATE TABLE table_rows (
        entity BIGINT NOT NULL REFERENCES entities (id),
        position INTEGER NOT NULL,
        hash TEXT NOT NULL,
        size BIGINT NOT NULL,
        PRIMARY KEY (entity, position)
    )
    """,
    "CREATE INDEX table_rows_by_hash ON table_rows (hash)",
)


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Create the table."""
    for statement in STATEMENTS:
        connection.exec_driver_sql(statement.format(**types))
