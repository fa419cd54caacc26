"""The catalog's statements about reuse rules: the lineage of earlier calls, and how often it was reused."""

from __future__ import annotations

import hashlib
from typing import Any

import sqlalchemy as sa

from whence.arrays.reuse.learned import Level, ReuseRule
from whence.store.catalog import schema as t
from whence.store.catalog.clock import now

Count = tuple[str, Level, str]  # identity, level, signature


def key_of(level: str, signature: str) -> str:
    """Return the key of a rule, unique for its function."""
    return hashlib.sha256(f"{level} {signature}".encode()).hexdigest()[:32]


def load(connection: sa.Connection, identity: str | None = None) -> list[ReuseRule]:
    """Return all reuse rules, or those of one function, oldest first."""
    query = sa.select(t.views).order_by(t.views.c.id)
    if identity is not None:
        query = query.where(t.views.c.identity == identity)
    return [
        ReuseRule(row.function, row.level, row.signature, row.state, row.hits, row.misses, row.identity, row.payload)
        for row in connection.execute(query)
    ]


def put(connection: sa.Connection, rule: ReuseRule) -> None:
    """Store a rule, replacing an older one; observations that another program stored meanwhile are kept."""
    key = key_of(rule.level, rule.signature)
    same = (t.views.c.identity == rule.identity) & (t.views.c.key == key)
    known = connection.execute(sa.select(t.views.c.state, t.views.c.payload).where(same)).one_or_none()
    values: dict[str, Any] = {"state": rule.state, "payload": _merged_observations(rule, known)}
    if known is None:
        connection.execute(
            t.views.insert().values(
                function=rule.function, identity=rule.identity, level=rule.level, key=key, signature=rule.signature,
                hits=0, misses=0, created=now(), **values,
            )
        )  # fmt: skip
    else:
        connection.execute(t.views.update().where(same).values(**values))


def _merged_observations(rule: ReuseRule, known: Any) -> dict[str, Any]:
    """Merge the observations of several programs; the rule is refused if any of them refused it."""
    if known is None or rule.level != "gen" or not known.payload:
        return rule.payload
    merged = dict(rule.payload)
    merged["divisors"] = sorted({*merged["divisors"], *known.payload["divisors"]})
    merged["refused"] = merged["refused"] or known.payload["refused"]
    every = (*known.payload["observations"], *merged["observations"])
    seen = {(*each["sizes"], *each["given"]): each for each in every}
    merged["observations"] = list(seen.values())
    return merged


def count(connection: sa.Connection, what: Count, hits: int, misses: int) -> None:
    """Add to the counts of how often a rule was used, and how often it was missing."""
    identity, level, signature = what
    same = (t.views.c.identity == identity) & (t.views.c.key == key_of(level, signature))
    connection.execute(
        t.views.update().where(same).values(hits=t.views.c.hits + hits, misses=t.views.c.misses + misses)
    )
