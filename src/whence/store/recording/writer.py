"""Writing blobs, then the transaction that refers to them; and garbage collection of blobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from whence.errors import BadType, StoreError, WhenceError
from whence.relation.parts import PartedRelation, hash_of
from whence.store.blobs.local import Blobs
from whence.store.catalog import statements
from whence.store.records import Collected

if TYPE_CHECKING:
    import sqlalchemy as sa

    from whence.relation import Relation
    from whence.store import Store
    from whence.store.catalog.database import Database

Recorded = TypeVar("Recorded")
BATCH = 256  # files removed before other writers get a turn
SKEW = 60.0  # seconds by which the clocks of a cluster may differ


@dataclass(frozen=True, slots=True)
class Prepared:
    """A derivation with its relation as bytes."""

    edge: statements.Edge
    data: bytes
    parts: tuple[Part, ...] = ()

    @property
    def hash(self) -> str:
        return self.edge.relation.hash

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a large relation; its bytes are read only if the log does not have them yet."""

    hash: str
    size: int
    relation: PartedRelation
    number: int

    @property
    def data(self) -> bytes:
        return self.relation.part(self.number).to_bytes()


@dataclass(frozen=True, slots=True)
class Written:
    """A blob that another process wrote; this process does not have its bytes."""

    hash: str
    size: int

    @property
    def data(self) -> bytes:
        raise StoreError(f"the blob {self.hash[:12]}... was removed after it was written; run it again")


class Blob(Protocol):
    """Bytes that are stored under their hash."""

    @property
    def hash(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def data(self) -> bytes: ...


def prepare(output: str, input: str, relation: Relation, kind: str = "boxes", *, small: int = 0) -> Prepared:
    """Convert a relation to bytes; up to `small` bytes are stored in the catalog."""
    if isinstance(relation, PartedRelation):
        return _prepared(output, input, relation, kind)
    data = relation.to_bytes()
    within = data if len(data) <= small else None
    stored = statements.Stored(hash_of(data), len(data), len(relation), relation.count(), within)
    return Prepared(statements.Edge(output, input, stored, kind), data)


def _prepared(output: str, input: str, relation: PartedRelation, kind: str) -> Prepared:
    if relation.swapped:  # its parts are stored for the other direction
        raise BadType(
            "the inverse of a relation of many parts cannot be stored directly: save it, and pass the saved relation"
        )
    index = relation.index
    data = index.to_bytes()
    parts = tuple(Part(each.name, each.size, relation, i) for i, each in enumerate(index.entries))
    named = tuple((each.name, each.size) for each in index.entries)
    size = len(data) + index.size
    stored = statements.Stored(hash_of(data), size, index.boxes, index.tuples, parts=named)
    return Prepared(statements.Edge(output, input, stored, kind), data, parts)


def commit(store: Store, items: Sequence[Blob], record: Callable[[sa.Connection], Recorded]) -> Recorded:
    """Store the blobs, then call `record` in a transaction; if anything fails, remove the blobs.

    Garbage collection may remove a blob as long as nothing refers to it. It holds the writers' lock, so the blobs are
    checked again under this lock.
    """
    database, blobs = store.database, store.blobs
    created: list[str] = []
    parts = [part for item in items for part in getattr(item, "parts", ())]
    try:
        for part in parts:
            if not blobs.has(part.hash, part.size) and blobs.put(part.hash, part.data):
                created.append(part.hash)  # noqa: PERF401  # see below
        for item in items:
            if not isinstance(item, Written) and blobs.put(item.hash, item.data):
                created.append(item.hash)  # noqa: PERF401  # a failure must find the blobs written before it
        with database.write() as connection:
            for each in (*parts, *items):
                if not blobs.has(each.hash, each.size):
                    blobs.put(each.hash, each.data)
            return record(connection)
    except BaseException as error:
        try:
            _remove_unreferenced(database, blobs, created)
        except WhenceError as another:
            error.add_note(f"what was written stays until `whence gc`: {another}")
        raise


def collect(store: Store) -> Collected:
    """Remove the blobs that nothing refers to, and abandoned temporary files."""
    database, blobs = store.database, store.blobs
    with database.read("collect garbage in") as connection:
        referenced = statements.referenced(connection)
    removed = size = temporary = 0
    files = list(blobs.listing())
    jobs = [file.since for file in files if file.since is not None and not file.abandoned]
    before = min(jobs, default=float("inf")) - SKEW  # a newer blob may be a part that a job just wrote
    unreferenced = [file for file in files if file.hash and file.hash not in referenced and file.modified < before]
    for start in range(0, len(unreferenced), BATCH):
        batch = unreferenced[start : start + BATCH]
        gone = _remove_unreferenced(database, blobs, (file.hash for file in batch if file.hash))
        removed += len(gone)
        size += sum(file.size for file in batch if file.hash in gone)
    for file in list(blobs.listing()):
        if file.abandoned:
            blobs.remove(file.name)
            temporary, size = temporary + 1, size + file.size
    return Collected(removed, temporary, size)


def _remove_unreferenced(database: Database, blobs: Blobs, hashes: Iterable[str]) -> set[str]:
    hashes = set(hashes)
    if not hashes:
        return hashes
    with database.hold("collect garbage in") as connection:
        gone = hashes - statements.referenced(connection, hashes)
        for hash in gone:
            blobs.remove(hash)
    return gone
