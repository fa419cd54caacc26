"""Agents: the people who ran what is recorded."""

from __future__ import annotations

import functools
import getpass
import os
import socket

import sqlalchemy as sa

from whence.store.catalog import schema as t
from whence.store.catalog.statements.inserting import insert


def agent_called(connection: sa.Connection, name: str | None) -> int:
    """Return the id of the agent of that name, created if missing; without a name, of the current user."""
    if name is None:
        return current_agent(connection)[0]
    chosen = sa.select(t.agents.c.id).where(t.agents.c.name == name).order_by(t.agents.c.id).limit(1)
    found = connection.execute(chosen).scalar_one_or_none()
    return insert(connection, t.agents, {"name": name, "kind": "person", "properties": {}}) if found is None else found


def current_agent(connection: sa.Connection) -> tuple[int, str]:
    """Return the id and name of the current user, recorded if missing."""
    name, kind = _user(os.getuid()), "person"
    found = connection.execute(
        sa.select(t.agents.c.id).where(t.agents.c.name == name, t.agents.c.kind == kind)
    ).scalar_one_or_none()
    if found is None:
        properties = {"host": socket.gethostname()}
        found = insert(connection, t.agents, {"name": name, "kind": kind, "properties": properties})
    return int(found), name


@functools.cache
def _user(uid: int) -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        return f"uid-{uid}"
