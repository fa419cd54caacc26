"""Runs of pipelines in the catalog, and the Parquet files that they saved as blobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from whence.errors import NoLineage
from whence.relation.parts import hash_of
from whence.store.catalog import schema as t
from whence.store.catalog import statements
from whence.store.catalog.clock import now
from whence.store.recording.writer import Blob, commit

if TYPE_CHECKING:
    from whence.store import Store
    from whence.store.recording.activity import Activity


@dataclass(frozen=True, slots=True)
class File:
    """A file that is stored as a blob."""

    hash: str
    size: int
    data: bytes

    @classmethod
    def of(cls, data: bytes) -> File:
        """Return the file with these bytes."""
        return cls(hash_of(data), len(data), data)


@dataclass(frozen=True, slots=True)
class Run:
    """The record of a run of a pipeline. `document` describes what was read and saved; `files` are its blobs."""

    id: int
    pipeline: str
    fingerprint: str | None
    document: dict[str, Any]
    files: tuple[str, ...]
    created: str
    activity: int = 0

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources that it read."""
        return tuple(self.document.get("sources", ()))

    def __str__(self) -> str:
        return f"{self.pipeline} over {', '.join(self.sources) or 'nothing'}"

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON, without the saved results."""
        return {"id": self.id, "pipeline": self.pipeline, "sources": list(self.sources), "created": self.created}


def record(
    store: Store,
    activity: Activity,
    pipeline: str,
    fingerprint: str | None,
    document: Mapping[str, Any],
    files: Sequence[Blob],
) -> Run:
    """Store the files and the run that refers to them, in one transaction."""
    time = now()
    activity.record()
    document = {**document, "used": activity.inputs}  # the version of each artifact
    number = int(str(activity.id).rsplit("#", 1)[-1])

    def write(connection: sa.Connection) -> Run:
        values = {
            "activity": number,
            "pipeline": pipeline,
            "fingerprint": fingerprint,
            "document": dict(document),
            "created": time,
        }
        run = statements.insert(connection, t.runs, values)
        rows = [{"run": run, "position": i, "hash": file.hash, "size": file.size} for i, file in enumerate(files)]
        if rows:
            connection.execute(t.results.insert(), rows)
        return Run(run, pipeline, fingerprint, dict(document), tuple(file.hash for file in files), time, number)

    return commit(store, files, write)


def add_result(store: Store, number: int, saved: Mapping[str, Any], files: Sequence[File]) -> Run:
    """Store files that were saved after a run ended; `saved` describes them, as in the run's document."""

    def write(connection: sa.Connection) -> Run:
        row = connection.execute(sa.select(t.runs).where(t.runs.c.id == number)).one()
        of = t.results.c
        last = connection.execute(sa.select(sa.func.max(of.position)).where(of.run == number)).scalar()
        first = 0 if last is None else last + 1
        entry = {**saved, "files": list(range(first, first + len(files)))}
        kept = [each for each in row.document["saved"] if each["place"] != saved["place"]]
        document = {**row.document, "saved": [*kept, entry]}
        connection.execute(t.runs.update().where(t.runs.c.id == number).values(document=document))
        rows = [{"run": number, "position": first + i, "hash": f.hash, "size": f.size} for i, f in enumerate(files)]
        connection.execute(t.results.insert(), rows)
        return _run_of_row(connection, connection.execute(sa.select(t.runs).where(t.runs.c.id == number)).one())

    return commit(store, files, write)


def run_of(store: Store, number: int) -> Run:
    """Return the run with this id."""
    with store.database.read() as connection:
        row = connection.execute(sa.select(t.runs).where(t.runs.c.id == number)).one_or_none()
        if row is None:
            raise NoLineage(f"run {number} is no longer in the log")
        return _run_of_row(connection, row)


def alike(store: Store, fingerprint: str, most: int = 10) -> list[Run]:
    """Return the last runs of the pipeline with this fingerprint, latest first."""
    with store.database.read() as connection:
        chosen = sa.select(t.runs).where(t.runs.c.fingerprint == fingerprint).order_by(t.runs.c.id.desc()).limit(most)
        return [_run_of_row(connection, row) for row in connection.execute(chosen).all()]


def listed(store: Store, pipeline: str | None = None) -> list[Run]:
    """Return all runs, or those of the pipeline with this name, oldest first."""
    with store.database.read() as connection:
        chosen = sa.select(t.runs).order_by(t.runs.c.id)
        if pipeline is not None:
            chosen = chosen.where(t.runs.c.pipeline == pipeline)
        return [_run_of_row(connection, row) for row in connection.execute(chosen).all()]


def _run_of_row(connection: sa.Connection, row: Any) -> Run:
    of = t.results.c
    files = connection.execute(sa.select(of.hash).where(of.run == row.id).order_by(of.position)).scalars()
    return Run(row.id, row.pipeline, row.fingerprint, row.document, tuple(files), row.created, row.activity)
