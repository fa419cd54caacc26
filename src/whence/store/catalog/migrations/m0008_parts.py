"""Parts of large relations: the blobs in the index of a relation, so that they are not collected as garbage."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0008-parts"


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Create a table with a row for each part."""
    connection.exec_driver_sql(
        "CREATE TABLE parts (relation TEXT NOT NULL REFERENCES relations (hash), position INTEGER NOT NULL, "
        "hash TEXT NOT NULL, size BIGINT NOT NULL, PRIMARY KEY (relation, position))"
    )
    connection.exec_driver_sql("CREATE INDEX parts_by_hash ON parts (hash)")
