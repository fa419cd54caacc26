"""Revisions: a version that overwrote another without reading it is not a derivation of it."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0006-revisions"
STATEMENTS = (
    """INSERT INTO statements (relation, source_kind, source, target_kind, target, properties)
    SELECT 'wasRevisionOf', 'entity', generated, 'entity', used, '{}' FROM was_derived_from WHERE kind = 'revision'
    ORDER BY id""",
    """DELETE FROM was_derived_from WHERE kind = 'revision' AND NOT EXISTS (
        SELECT 1 FROM was_generated_by AS g JOIN used AS u ON u.activity = g.activity
        WHERE g.entity = was_derived_from.generated AND u.entity = was_derived_from.used
    )""",
)


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Record each next version as a revision; keep the derivation only if its activity used the version before."""
    for statement in STATEMENTS:
        connection.exec_driver_sql(statement)
