"""Inserting rows whose key the database chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa


def insert(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> int:
    """Insert one row and return its key."""
    key = connection.execute(table.insert().values(**values)).inserted_primary_key
    if key is None:
        raise AssertionError(f"{table.name} gives its rows no key")
    return int(key[0])
