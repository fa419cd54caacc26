"""The integrity check: whether everything that the log refers to exists, is undamaged and consistent."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from whence.errors import Damaged, FutureVersion, WhenceError
from whence.progress import counting
from whence.relation import Relation
from whence.relation.parts import hash_of
from whence.relation.table_cells import restored
from whence.store.blobs.local import AGAIN, OWNER, RESTORE, Blobs
from whence.store.catalog import schema as t
from whence.store.catalog import statements
from whence.store.catalog.database import Database
from whence.store.catalog.kinds import misplaced
from whence.store.derivations.adjacency import RUN, WEIGHT, weight_of
from whence.words import counted, in_units


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of the check: where it is, what it is, and what to do about it."""

    where: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.remedy}"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the check. Iterating over it gives the problems, without the notes."""

    where: str
    datasets: int
    derivations: int
    relations: int
    bytes: int
    problems: tuple[Finding, ...]
    notes: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        looked = ", ".join(
            (
                counted(self.datasets, "dataset"),
                counted(self.derivations, "derivation"),
                f"{counted(self.relations, 'relation')} ({in_units(self.bytes)})",
            )
        )
        lines = [f"{self.where}: {looked}: {'all is well' if self.ok else counted(len(self), 'problem')}"]
        lines += [f"  problem: {problem}" for problem in self.problems]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return {"ok": self.ok, **asdict(self)}


def check(where: str, database: Database, blobs: Blobs) -> Report:
    """Check the whole log, without changing it."""
    problems: list[Finding] = []
    try:
        with database.read("check") as connection:
            problems = list(_catalog(connection, database.where))
            problems += _values(connection, database.where)
            counts = statements.counts(connection)
            relations = connection.execute(sa.select(t.relations)).all()
            parts = set(connection.execute(sa.select(t.parts.c.hash)).scalars())
            edges = connection.execute(sa.select(t.was_derived_from)).all()
            entities = {row.id: row for row in connection.execute(sa.select(t.entities))}
            runs = sa.select(t.results.c.hash, "a run of the pipeline " + t.runs.c.pipeline).join_from(
                t.results, t.runs
            )
            rows = sa.select(t.table_rows.c.hash, "the values of " + t.entities.c.name).join_from(
                t.table_rows, t.entities
            )
            kept = [*connection.execute(runs), *connection.execute(rows)]
    except Damaged as error:  # too damaged to continue
        problems = problems or [Finding(database.where, str(error), "then check again")]
        return Report(where, 0, 0, 0, 0, tuple(problems), ())
    problems += [problem for edge in edges for problem in _check_edge(edge, entities)]
    used_by: dict[str, list[Any]] = {}
    for edge in edges:
        used_by.setdefault(edge.relation, []).append(edge)
    suspects: list[tuple[str, Finding]] = []
    for row in counting(relations, len(relations), "relations checked"):
        if any(edge.kind == RUN for edge in used_by.get(row.hash, [])):
            continue
        found = _check_relation(row, used_by.get(row.hash, []), entities, blobs)
        suspects += [(row.hash, finding) for finding in found]
    for hash, of_what in counting(kept, len(kept), "saved rows and values checked"):
        suspects += [(hash, finding) for finding in _result(hash, of_what, blobs)]
    if suspects:  # a relation that was deleted while this ran is not a problem
        with database.read("check") as connection:
            present = statements.referenced(connection)
        problems += [finding for hash, finding in suspects if hash in present]
    notes = _files(blobs, {row.hash for row in relations} | parts | {hash for hash, _ in kept})
    size = sum(row.size for row in relations)
    return Report(where, counts[0], counts[2], len(relations), size, tuple(problems), tuple(notes))


def _catalog(connection: sa.Connection, where: str) -> Iterator[Finding]:
    """Run SQLite's own checks. PostgreSQL checks its pages and keys itself."""
    if connection.dialect.name != "sqlite":
        return
    remedy = "restore the catalog from a backup, or save what is readable with `sqlite3 catalog.sqlite .recover`"
    for (message,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        if message != "ok":
            yield Finding(where, message, remedy)
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield Finding(where, f"row {row} of {table} refers to a missing row of {parent}", remedy)


def _values(connection: sa.Connection, where: str) -> Iterator[Finding]:
    """Find values of another type than their column, which SQLite accepts."""
    if connection.dialect.name != "sqlite":
        return
    for table in t.metadata.sorted_tables:
        for column in table.columns:
            condition = misplaced(column)
            if condition is not None:
                found = sa.select(sa.literal_column("rowid", sa.Integer)).select_from(table).where(condition)
                for row in connection.execute(found).scalars():
                    what = f"row {row} of {table.name}: its {column.name} is not what that column holds"
                    yield Finding(where, what, "restore the catalog from a backup")


def _check_edge(edge: Any, entities: dict[int, Any]) -> Iterator[Finding]:
    if edge.kind == "boxes" and edge.relation is None:
        yield Finding(
            _edge_name(edge, entities), "the derivation has no relation", "delete the dataset and record it again"
        )
    if edge.kind.startswith(WEIGHT):
        try:
            weight_of(edge.kind)
        except Damaged as error:
            yield Finding(_edge_name(edge, entities), str(error), "delete the dataset and record it again")


def _check_relation(row: Any, edges: list[Any], entities: dict[int, Any], blobs: Blobs) -> Iterator[Finding]:
    where = ", ".join(dict.fromkeys(_edge_name(edge, entities) for edge in edges)) or f"relation {row.hash[:12]}..."
    try:
        relation = _opened(row, blobs)
        counted = (len(relation), str(relation.count()))
        decided = relation.verify()
    except WhenceError as error:
        yield Finding(where, str(error), "upgrade whence" if isinstance(error, FutureVersion) else RESTORE)
        return
    if not decided:
        yield Finding(
            where,
            "not decided: whether two rows hold the same tuple, because too many rows overlap",
            "answers are right, but counts may be too large; record this lineage again if in doubt",
        )
    if counted != (row.boxes, row.tuples):
        yield Finding(
            where,
            f"the catalog says {row.boxes} boxes of {row.tuples} tuples, "
            f"and its blob holds {counted[0]} of {counted[1]}",
            "record this lineage again",
        )
    for edge in edges:
        if edge.generated not in entities or edge.used not in entities:
            continue  # the foreign key check reports it
        shapes = (tuple(entities[edge.generated].shape), tuple(entities[edge.used].shape))
        if (relation.out_shape, relation.in_shape) != shapes:
            yield Finding(
                _edge_name(edge, entities),
                f"its relation has the shapes {relation.out_shape} <- {relation.in_shape}, "
                f"the datasets have the shapes {shapes[0]} <- {shapes[1]}",
                "delete the output and record it again",
            )


def _opened(row: Any, blobs: Blobs) -> Relation:
    """Read a relation from the blobs or the catalog, and verify its checksum."""
    title = f"the blob {row.hash[:12]}..."
    if row.data is None:
        blobs.verify(row.hash)
        return blobs.open(row.hash, title)
    if hash_of(row.data) != row.hash:
        raise Damaged(f"the relation {row.hash[:12]}... in the catalog was altered: its checksum does not match")
    return restored(bytes(row.data), title)


def _result(hash: str, where: str, blobs: Blobs) -> Iterator[Finding]:
    try:
        blobs.verify(hash)
    except WhenceError as error:
        yield Finding(where, str(error), AGAIN)


def _files(blobs: Blobs, referenced: set[str]) -> Iterator[Finding]:
    unreferenced, size = 0, 0
    for file in blobs.listing():
        if file.temporary:
            yield Finding(
                f"{blobs.where}/{file.name}",
                "a temporary file: a program is writing it, or was killed",
                "collect() removes it once it is an hour old",
            )
        elif file.hash is None:
            if file.name != OWNER:
                yield Finding(f"{blobs.where}/{file.name}", "not a file of the log", "move it elsewhere")
        elif file.hash not in referenced:
            unreferenced, size = unreferenced + 1, size + file.size
    if unreferenced:
        yield Finding(
            blobs.where,
            f"{counted(unreferenced, 'blob')} ({in_units(size)}) that nothing refers to",
            "collect() frees the space",
        )


def _edge_name(edge: Any, entities: dict[int, Any]) -> str:
    output, input = (entities[id].name if id in entities else f"entity {id}" for id in (edge.generated, edge.used))
    return f"{output} <- {input}"
