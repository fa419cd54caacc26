"""Artifacts: each content of a file that was seen is a version, an entity; versions form a chain."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from whence.errors import BadType, StoreError
from whence.store.catalog import schema as t
from whence.store.catalog.clock import now
from whence.store.catalog.statements import insert
from whence.store.values import LONGEST_NAME, plain

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Content:
    """The content of an artifact: for a file, its name, path, and the SHA-256 of its bytes.

    For other artifacts, such as tables, `hash` is any string that differs if the content does. `properties` are those
    of the version.
    """

    artifact: str
    path: str
    hash: str
    size: int
    kind: str = "file"
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def described(self) -> dict[str, Any]:
        """The properties that identify the content."""
        if self.kind == "file":
            return {"sha256": self.hash, "size": self.size, **self.properties}
        return {"fingerprint": self.hash, **({"size": self.size} if self.size else {}), **self.properties}


@dataclass(frozen=True, slots=True)
class Gone:
    """A removed file: its name, size and modification time."""

    artifact: str
    size: int
    changed: int  # nanoseconds, as in os.stat


def project_of(where: str) -> Path:
    """Return the directory that names of artifacts are relative to: the one that contains the log."""
    return Path.cwd() if "://" in where else Path(where).absolute().parent


def artifact_name(path: str | os.PathLike[str], project: Path) -> str:
    """Return the name of a file: its path relative to the project, else its absolute path.

    >>> artifact_name("/home/ada/project/data/raw.csv", Path("/home/ada/project"))
    'data/raw.csv'
    """
    whole = Path(os.path.abspath(path))
    for place, root in ((whole, project), (whole.resolve(), project.resolve())):
        if place.is_relative_to(root):
            whole = place.relative_to(root)
            break
    name = whole.as_posix()
    # File names may have any characters, names in a log may not. Backslashes are escaped, too, to keep names unique.
    if not name.isprintable() or name != name.strip() or "\\" in name:
        name = name.encode("unicode_escape", "surrogateescape").decode("ascii").replace(" ", "\\x20")
    if len(name) > LONGEST_NAME - 20:
        raise BadType(f"the path {name[:40]!r}... is too long: the log takes {LONGEST_NAME - 20} characters")
    return name


def content_of(path: str | os.PathLike[str], project: Path) -> Content:
    """Return the current content of a file."""
    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except IsADirectoryError as error:
        raise StoreError(f"{path} is a directory: name the files in it") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    return Content(artifact_name(path, project), os.fspath(path), digest.hexdigest(), size)


def found(connection: sa.Connection, content: Content) -> tuple[int, str]:
    """Return the version of a file that was read: the latest with its content, else a new one."""
    of = t.snapshots.c
    chosen = sa.select(of.entity, of.version).where(of.artifact == content.artifact, of.hash == content.hash)
    known = connection.execute(chosen.order_by(of.version.desc()).limit(1)).one_or_none()
    if known is not None:
        return int(known.entity), f"{content.artifact}@v{known.version}"
    return _add_version(connection, content, _latest(connection, content.artifact), is_derived=False)


def made(connection: sa.Connection, content: Content, agent: int, used: Collection[int] = ()) -> tuple[int, str]:
    """Return the version of a file that was written: the one with this content if there is one, else a new one.

    Equal content is a new version only if the entities in `used` came from the known version, which would otherwise
    come from itself. A new version is a revision of the one before, and derived from it only if that is in `used`.
    """
    of = t.snapshots.c
    equal = sa.select(of.entity, of.version).where(of.artifact == content.artifact, of.hash == content.hash)
    for known in connection.execute(equal.order_by(of.version.desc())).all():
        if not _came_from(connection, used, int(known.entity)):
            entity, name = int(known.entity), f"{content.artifact}@v{known.version}"
            break
    else:
        latest = _latest(connection, content.artifact)
        is_derived = latest is not None and int(latest.entity) in used
        entity, name = _add_version(connection, content, latest, is_derived=is_derived)
    of_agent = t.was_attributed_to.c
    attributed = sa.select(of_agent.entity).where(of_agent.entity == entity, of_agent.agent == agent)
    if connection.execute(attributed).first() is None:
        connection.execute(t.was_attributed_to.insert().values(entity=entity, agent=agent))
    return entity, name


def _came_from(connection: sa.Connection, entities: Collection[int], origin: int) -> bool:
    """Whether any of the entities, other than the origin itself, came from the origin."""
    wanted, seen, frontier = {*entities} - {origin}, {origin}, [origin]
    steps = (
        sa.select(t.was_generated_by.c.entity)
        .join(t.used, t.used.c.activity == t.was_generated_by.c.activity)
        .where(t.used.c.entity.in_(sa.bindparam("origins", expanding=True))),
        sa.select(t.was_derived_from.c.generated).where(
            t.was_derived_from.c.used.in_(sa.bindparam("origins", expanding=True))
        ),
    )
    while wanted and frontier:
        found: set[int] = set()
        for start in range(0, len(frontier), 500):
            for step in steps:
                found.update(connection.execute(step, {"origins": frontier[start : start + 500]}).scalars())
        if found & wanted:
            return True
        frontier = sorted(found - seen)
        seen |= found
    return False


def unchanged(connection: sa.Connection, artifact: str, size: int, changed: int) -> str | None:
    """Return the hash of the latest version of a file, if the size is equal and the file was not changed since."""
    latest = _latest(connection, artifact)
    if latest is None or not _is_unchanged(connection, latest, size, changed):
        return None
    return str(latest.hash)


def removed(connection: sa.Connection, gone: Gone) -> tuple[int, str] | None:
    """Return the version of a removed file; None if it may have been changed after its latest version."""
    latest = _latest(connection, gone.artifact)
    if latest is None:
        return None
    name = connection.execute(sa.select(t.entities.c.name).where(t.entities.c.id == latest.entity)).scalar_one()
    return (int(latest.entity), str(name)) if _is_unchanged(connection, latest, gone.size, gone.changed) else None


def _is_unchanged(connection: sa.Connection, latest: sa.Row[*tuple[Any, ...]], size: int, changed: int) -> bool:
    of = t.entities.c
    created, properties = connection.execute(sa.select(of.created, of.properties).where(of.id == latest.entity)).one()
    recorded = max(filter(None, (created, latest.made)), default=None)
    if recorded is None:
        return False
    before = dt.datetime.fromtimestamp(changed / 1e9, dt.UTC) <= dt.datetime.fromisoformat(recorded)
    return before and properties.get("size") == size


def invalidate(connection: sa.Connection, entities: Sequence[int], activity: int) -> None:
    """Record that the activity invalidated these versions."""
    rows = [
        {"relation": "wasInvalidatedBy", "source_kind": "entity", "source": each, "target_kind": "activity",
         "target": activity, "properties": {}}
        for each in entities
    ]  # fmt: skip
    if rows:
        connection.execute(t.statements.insert(), rows)


def _latest(connection: sa.Connection, artifact: str) -> sa.Row[*tuple[Any, ...]] | None:
    """Return the version of the artifact when it was last seen, which may be an old one; `made` is when it was made."""
    of = t.snapshots.c
    chosen = sa.select(of.entity, of.version, of.hash, _last(t.was_generated_by).label("made"))
    seen = sa.func.coalesce(_last(t.was_generated_by), ""), sa.func.coalesce(_last(t.used), "")
    later = sa.case((seen[0] > seen[1], seen[0]), else_=seen[1])
    newest = chosen.where(of.artifact == artifact).order_by(later.desc(), of.version.desc()).limit(1)
    return connection.execute(newest).one_or_none()


def _last(table: sa.Table) -> sa.ScalarSelect[Any]:
    """Return a subquery for the time when the last activity that made, or used, a version ended."""
    joined = table.join(t.activities, t.activities.c.id == table.c.activity)
    ended = sa.select(sa.func.max(t.activities.c.ended)).select_from(joined)
    return ended.where(table.c.entity == t.snapshots.c.entity).scalar_subquery()


def latest_version(connection: sa.Connection, artifact: str) -> str | None:
    """Return the name of the version of the artifact when it was last seen; None if it never was."""
    latest = _latest(connection, artifact)
    if latest is None:
        return None
    return str(connection.execute(sa.select(t.entities.c.name).where(t.entities.c.id == latest.entity)).scalar_one())


def _add_version(
    connection: sa.Connection, content: Content, latest: sa.Row[*tuple[Any, ...]] | None, *, is_derived: bool
) -> tuple[int, str]:
    time, name, version = now(), *_next_version(connection, content.artifact)
    properties = plain(
        {**content.described, "artifact": content.artifact, "version": version}, f"a property of {name!r}"
    )
    row = {"name": name, "kind": content.kind, "shape": [], "created": time, "properties": properties}
    entity = insert(connection, t.entities, row)
    values = {"entity": entity, "artifact": content.artifact, "version": version, "hash": content.hash}
    connection.execute(t.snapshots.insert().values(**values))
    if latest is not None:
        revision = {"relation": "wasRevisionOf", "source_kind": "entity", "source": entity, "target_kind": "entity",
                    "target": latest.entity, "properties": {}}  # fmt: skip
        connection.execute(t.statements.insert().values(**revision))
        if is_derived:
            derived = {"generated": entity, "used": latest.entity, "kind": "revision", "created": time}
            connection.execute(t.was_derived_from.insert().values(**derived))
    return entity, name


def _next_version(connection: sa.Connection, artifact: str) -> tuple[str, int]:
    """Return the name and the number of the next version."""
    last = sa.select(sa.func.max(t.snapshots.c.version)).where(t.snapshots.c.artifact == artifact)
    version = int(connection.execute(last).scalar_one() or 0) + 1
    while connection.execute(sa.select(t.entities.c.id).where(t.entities.c.name == f"{artifact}@v{version}")).first():
        version += 1  # a dataset has this name
    return f"{artifact}@v{version}", version
