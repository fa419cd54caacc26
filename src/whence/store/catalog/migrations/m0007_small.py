"""Small relations in the catalog: a thousand calls should not write a thousand files."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0007-small"


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Add a column for the content, which is NULL for relations in the blobs."""
    connection.exec_driver_sql(f"ALTER TABLE relations ADD COLUMN data {types['bytes']}")
