"""Small relations in the catalog: a file for each of the relations of a thousand calls is a thousand files too many."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0007-small"


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """A column for the content, which is NULL for relations that lie in the blobs."""
    connection.exec_driver_sql(f"ALTER TABLE relations ADD COLUMN data {types['bytes']}")
