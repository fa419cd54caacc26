"""Files with a saved dataset: an array that is loaded is the one that was saved, cell for cell.

A save records which datasets it wrote, each with a digest. If a file has the same content, and the loaded array has the
same digest, the array is that dataset, also in another program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from whence.arrays.linking.content import digest_of
from whence.arrays.linking.frames import array_behind, table_digest
from whence.store.catalog import schema as t

if TYPE_CHECKING:
    from whence.store import Store
    from whence.store.recording.artifacts import Content

HOLDS = "saved_datasets"
"""The property of a save with the datasets that it wrote, and the fingerprint of each."""


def fingerprint(value: Any) -> str | None:
    """Return a string that is equal if two arrays or tables have the same cells; None if it cannot be computed.

    >>> fingerprint(np.arange(3)) == fingerprint(np.arange(3)), fingerprint(np.arange(3)) == fingerprint(np.arange(3.0))
    (True, False)
    """
    array = array_behind(value)
    digest = table_digest(value) if array is None else digest_of(array)
    if not digest:
        return None
    kind = type(value).__name__ if array is None else str(array.dtype)
    return f"{digest.hex()} {kind} {'x'.join(map(str, np.shape(value)))}"


def saved_dataset(store: Store, content: Content, value: Any) -> str | None:
    """Return the one dataset that was saved to a file with this content and equals the value; else None."""
    mark = fingerprint(value)
    if mark is None:
        return None
    of = t.snapshots.c
    versions = sa.select(of.entity).where(of.artifact == content.artifact, of.hash == content.hash)
    with store.database.read() as connection:
        found = {name for name, held in _saved(connection, versions) if held == mark}
        return _of_shape(connection, found, np.shape(value))


def saved_table(connection: sa.Connection, version: str, shape: tuple[int, ...]) -> str | None:
    """Return the dataset that was saved as this version of a file, if there is one and it has this shape; else None."""
    versions = sa.select(t.entities.c.id).where(t.entities.c.name == version)
    return _of_shape(connection, {name for name, _ in _saved(connection, versions)}, shape)


def _saved(connection: sa.Connection, versions: sa.Select[Any]) -> list[tuple[str, str]]:
    """Return the datasets and fingerprints of the last save that made one of these versions."""
    saves = sa.select(t.was_generated_by.c.activity).where(t.was_generated_by.c.entity.in_(versions))
    every = sa.select(t.activities.c.properties).where(t.activities.c.id.in_(saves)).order_by(t.activities.c.id.desc())
    for properties in connection.execute(every).scalars():
        match properties.get(HOLDS):
            case [*pairs] if all(isinstance(each, list) and len(each) == 2 for each in pairs):
                return [(str(name), str(held)) for name, held in pairs]
    return []


def _of_shape(connection: sa.Connection, names: set[str], shape: tuple[int, ...]) -> str | None:
    if len(names) != 1:
        return None
    (name,) = names
    known = connection.execute(sa.select(t.entities.c.shape).where(t.entities.c.name == name)).scalar_one_or_none()
    return name if known is not None and tuple(known) == shape else None
