"""The table of reuse rules: lineage of tracked calls, for later calls."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0002-views"

# `key` is a hash of level and signature, because signatures may be too long for an index of PostgreSQL.
STATEMENTS = (
    """
    CREATE TABLE views (
        id {id},
        function TEXT NOT NULL,
        identity TEXT NOT NULL,
        level TEXT NOT NULL,
        key TEXT NOT NULL,
        signature TEXT NOT NULL,
        state TEXT NOT NULL,
        hits BIGINT NOT NULL,
        misses BIGINT NOT NULL,
        payload {json} NOT NULL,
        created TEXT NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX views_by_key ON views (identity, key)",
)


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Create the table."""
    for statement in STATEMENTS:
        connection.exec_driver_sql(statement.format(**types))
