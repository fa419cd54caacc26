"""Previews of arrays in the log, each stored as a blob."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from whence.arrays.preview import TILES, Preview, preview_from, preview_of
from whence.errors import BadType, Damaged, ShapeMismatch
from whence.relation.parts import hash_of
from whence.store.catalog import schema as t
from whence.store.catalog import statements
from whence.store.recording.writer import commit

if TYPE_CHECKING:
    from whence.store import Store


@dataclass(frozen=True, slots=True)
class PreviewBlob:
    """A preview as a blob."""

    data: bytes

    @property
    def hash(self) -> str:
        return hash_of(self.data)

    @property
    def size(self) -> int:
        return len(self.data)


def given_preview(name: str, shape: tuple[int, ...], array: object, preview: object) -> Preview | None:
    """Return the preview for the arguments of `log.array`; None if there is none."""
    if preview is None or preview is False:
        return None
    if preview is True or isinstance(preview, int):
        if not isinstance(array, np.ndarray):
            raise BadType(f"a preview of {name!r} needs its values: log.array({name!r}, array, preview=True)")
        return preview_of(array, TILES if preview is True else preview)
    found: Any = np.asanyarray(preview)
    if found.shape != shape:
        raise ShapeMismatch(f"the preview of {name!r} is an array of shape {found.shape}, and {name!r} has {shape}")
    return preview_of(found)


def save_preview(store: Store, name: str, preview: Preview) -> None:
    """Save the preview of a dataset, replacing an earlier one."""
    blob = PreviewBlob(preview.to_bytes())
    of = t.table_rows.c

    def write(connection: sa.Connection) -> None:
        statements.require_shapes(connection, {name: preview.shape})
        entity = statements.ids_of(connection, {name})[name]
        connection.execute(t.table_rows.delete().where(of.entity == entity))
        values = {"entity": entity, "position": 0, "hash": blob.hash, "size": blob.size}
        connection.execute(t.table_rows.insert().values(**values))

    commit(store, [blob], write)


def previewed(store: Store) -> dict[str, str]:
    """Return the arrays that have a preview, each with the hash of its blob."""
    chosen = sa.select(t.entities.c.name, t.table_rows.c.hash).join_from(t.table_rows, t.entities)
    with store.database.read() as connection:
        return {str(name): str(hash) for name, hash in connection.execute(chosen.where(t.entities.c.kind == "array"))}


def saved_preview(store: Store, name: str, shape: tuple[int, ...], known: str | None = None) -> Preview | None:
    """Return the verified preview of a dataset, or None. `known` is its hash, if the caller has it."""
    blob = known or previewed(store).get(name)
    if blob is None:
        return None
    title = f"the preview of {name!r}"
    found = preview_from(store.blobs.local(blob, title).read_bytes(), title)
    if found.shape != shape:
        raise Damaged(f"{title} is of an array of shape {found.shape}, and {name!r} has {shape}: save it again")
    return found
