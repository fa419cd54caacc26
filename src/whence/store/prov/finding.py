"""Finding the dataset that a name means; for a file, the version when it was last seen."""

from __future__ import annotations

import sqlalchemy as sa

from whence.errors import Ambiguous
from whence.graph.finding import split_version
from whence.store.catalog import schema as t
from whence.store.recording.artifacts import latest_version


def dataset_meant(connection: sa.Connection, name: str) -> str | None:
    """Return the dataset that a name means, or None. The end of a file's path is enough if it is unique."""
    if _is_dataset(connection, name):
        return name
    artifact, version = split_version(name)
    path = _artifact(connection, artifact)
    if path is None:
        return None
    if version:
        return f"{path}{version}" if _is_dataset(connection, f"{path}{version}") else None
    return latest_version(connection, path)


def _is_dataset(connection: sa.Connection, name: str) -> bool:
    return connection.execute(sa.select(t.entities.c.id).where(t.entities.c.name == name)).first() is not None


def _artifact(connection: sa.Connection, name: str) -> str | None:
    of = t.snapshots.c.artifact
    if connection.execute(sa.select(of).where(of == name).limit(1)).first() is not None:
        return name
    ending = sa.select(of).where(of.endswith(f"/{name}", autoescape=True)).distinct().order_by(of)
    found = [each for each in connection.execute(ending).scalars() if each.endswith(f"/{name}")]  # LIKE ignores case
    if len(found) > 1:
        raise Ambiguous.of(name, found)
    return found[0] if found else None
