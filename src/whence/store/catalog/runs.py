"""Runs of pipelines in the catalog, and the Parquet files among the blobs that they saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from whence.store.blobs.local import hash_of
from whence.store.catalog import schema as t
from whence.store.catalog import statements
from whence.store.catalog.clock import now
from whence.store.recording.writer import store

if TYPE_CHECKING:
    from whence.store.log import Log
    from whence.store.recording.activity import Activity


@dataclass(frozen=True, slots=True)
class File:
    """A file that is stored as a blob."""

    hash: str
    size: int
    data: bytes

    @classmethod
    def of(cls, data: bytes) -> File:
        """The file with these bytes."""
        return cls(hash_of(data), len(data), data)


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a pipeline as the log has it. `document` says what was read and saved; `files` are the blobs of it."""

    id: int
    pipeline: str
    fingerprint: str | None
    document: dict[str, Any]
    files: tuple[str, ...]
    created: str


def record(
    log: Log,
    activity: Activity,
    pipeline: str,
    fingerprint: str | None,
    document: Mapping[str, Any],
    files: Sequence[File],
) -> Run:
    """Store the files, and the run that refers to them: all of it, or nothing."""
    time = now()
    activity.record()
    number = int(str(activity.id).rsplit("#", 1)[-1])

    def write(connection: sa.Connection) -> Run:
        values = {
            "activity": number,
            "pipeline": pipeline,
            "fingerprint": fingerprint,
            "document": dict(document),
            "created": time,
        }
        run = statements._insert(connection, t.runs, values)
        rows = [{"run": run, "position": i, "hash": file.hash, "size": file.size} for i, file in enumerate(files)]
        if rows:
            connection.execute(t.results.insert(), rows)
        return Run(run, pipeline, fingerprint, dict(document), tuple(file.hash for file in files), time)

    return store(log._database, log._blobs, files, write)


def alike(log: Log, fingerprint: str, most: int = 10) -> list[Run]:
    """The last runs of the pipeline with this fingerprint, the latest first."""
    with log._database.read() as connection:
        chosen = sa.select(t.runs).where(t.runs.c.fingerprint == fingerprint).order_by(t.runs.c.id.desc()).limit(most)
        return [_run(connection, row) for row in connection.execute(chosen).all()]


def of_pipeline(log: Log, pipeline: str) -> list[Run]:
    """All runs under a name, the oldest first."""
    with log._database.read() as connection:
        chosen = sa.select(t.runs).where(t.runs.c.pipeline == pipeline).order_by(t.runs.c.id)
        return [_run(connection, row) for row in connection.execute(chosen).all()]


def _run(connection: sa.Connection, row: Any) -> Run:
    of = t.results.c
    files = connection.execute(sa.select(of.hash).where(of.run == row.id).order_by(of.position)).scalars()
    return Run(row.id, row.pipeline, row.fingerprint, row.document, tuple(files), row.created)
