"""Runs of pipelines: their sources, and the intermediate results that are saved to trace rows."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0004-runs"

STATEMENTS = (
    """
    CREATE TABLE runs (
        id {id},
        activity BIGINT NOT NULL REFERENCES activities (id),
        pipeline TEXT NOT NULL,
        fingerprint TEXT,
        document {json} NOT NULL,
        created TEXT NOT NULL
    )
    """,
    "CREATE INDEX runs_by_fingerprint ON runs (fingerprint)",
    "CREATE INDEX runs_by_pipeline ON runs (pipeline)",
    """
    CREATE TABLE results (
        run BIGINT NOT NULL REFERENCES runs (id),
        position INTEGER NOT NULL,
        hash TEXT NOT NULL,
        size BIGINT NOT NULL,
        PRIMARY KEY (run, position)
    )
    """,
    "CREATE INDEX results_by_hash ON results (hash)",
)


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Create the tables."""
    for statement in STATEMENTS:
        connection.exec_driver_sql(statement.format(**types))
