"""The catalog's statements about views: what was learned of functions, and how often it was used."""

from __future__ import annotations

import hashlib
from typing import Any

import sqlalchemy as sa

from whence.arrays.reuse.views import Level, View
from whence.store.catalog import schema as t
from whence.store.catalog.clock import now

Count = tuple[str, Level, str]  # identity, level, signature


def key_of(level: str, signature: str) -> str:
    """A view's key among those of its function."""
    return hashlib.sha256(f"{level} {signature}".encode()).hexdigest()[:32]


def load(connection: sa.Connection, identity: str | None = None) -> list[View]:
    """All views, oldest first, or those of one function."""
    query = sa.select(t.views).order_by(t.views.c.id)
    if identity is not None:
        query = query.where(t.views.c.identity == identity)
    return [
        View(row.function, row.level, row.signature, row.state, row.hits, row.misses, row.identity, row.payload)
        for row in connection.execute(query)
    ]


def put(connection: sa.Connection, view: View) -> None:
    """Keep a view, in place of an older one; what another program learned meanwhile is not thrown away."""
    key = key_of(view.level, view.signature)
    same = (t.views.c.identity == view.identity) & (t.views.c.key == key)
    known = connection.execute(sa.select(t.views.c.state, t.views.c.payload).where(same)).one_or_none()
    values: dict[str, Any] = {"state": view.state, "payload": _merged(view, known)}
    if known is None:
        connection.execute(
            t.views.insert().values(
                function=view.function, identity=view.identity, level=view.level, key=key, signature=view.signature,
                hits=0, misses=0, created=now(), **values,
            )
        )  # fmt: skip
    else:
        connection.execute(t.views.update().where(same).values(**values))


def _merged(view: View, known: Any) -> dict[str, Any]:
    """Observations of several programs together; a doubt that any of them had stays."""
    if known is None or view.level != "gen" or not known.payload:
        return view.payload
    merged = dict(view.payload)
    merged["marks"] = sorted({*merged.get("marks", ()), *known.payload.get("marks", ())})
    for flag in ("values", "writes", "compared", "refused"):
        merged[flag] = bool(merged.get(flag)) or bool(known.payload.get(flag))
    seen = {tuple(each["sizes"]): each for each in (*known.payload["observations"], *merged["observations"])}
    merged["observations"] = list(seen.values())
    return merged


def count(connection: sa.Connection, what: Count, hits: int, misses: int) -> None:
    """A view was used so often, and so often not there when it was needed."""
    identity, level, signature = what
    same = (t.views.c.identity == identity) & (t.views.c.key == key_of(level, signature))
    connection.execute(
        t.views.update().where(same).values(hits=t.views.c.hits + hits, misses=t.views.c.misses + misses)
    )
