"""Unknown times: imported entities and activities may have none."""

from __future__ import annotations

import sqlalchemy as sa

NAME = "0005-times"
COLUMNS = (("entities", "created"), ("activities", "started"), ("activities", "ended"))


def apply(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    """Allow NULL in the columns; SQLite can only do so by replacing the column."""
    for table, column in COLUMNS:
        if connection.dialect.name == "postgresql":
            statements = [f"ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL"]
        else:
            statements = [
                f"ALTER TABLE {table} ADD COLUMN {column}_or_null TEXT",
                f"UPDATE {table} SET {column}_or_null = {column}",
                f"ALTER TABLE {table} DROP COLUMN {column}",
                f"ALTER TABLE {table} RENAME COLUMN {column}_or_null TO {column}",
            ]
        for statement in statements:
            connection.exec_driver_sql(statement)
