"""Ingestors: the formats that `whence import` can read. Each is one small class, found by its entry point.

A package can provide one with

    [project.entry-points."whence.ingestors"]
    dvc = "my_package:Dvc"

and a class as below: it is created without arguments, says which sources it can read, and reads them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from whence.errors import BadType, StoreError, WhenceError
from whence.graph import Graph
from whence.interop.prov import FORMATS, Document
from whence.store.prov.importing import Imported, add_graph

if TYPE_CHECKING:
    from whence.store import Store

GROUP = "whence.ingestors"


class Ingestor(Protocol):
    """A reader of one format."""

    about: str  # a short description for messages

    def claims(self, source: str) -> bool:
        """Whether it can read this source, by its name or its content."""

    def read(self, source: str, store: Store) -> Graph | Document:
        """Return the graph of the source. It must not write to the store."""


class Git:
    """The history of the repository that the log's project is in, or of the one at `git:PATH`."""

    about = "git"

    def claims(self, source: str) -> bool:
        """Whether it is `git`, or `git:` and a path."""
        return source == "git" or source.startswith("git:")

    def read(self, source: str, store: Store) -> Graph:
        """Return the commits, authors and versions of files."""
        from whence.interop.git import history
        from whence.store.recording.artifacts import project_of

        return history(Path(source[4:]) if source.startswith("git:") else project_of(store.where), store)


class OpenLineage:
    """OpenLineage run events: one event, a list of them, or one on each line."""

    about = "OpenLineage events (.json, .jsonl, .ndjson)"

    def claims(self, source: str) -> bool:
        """Whether it is a JSON file whose first object is a run event."""
        from whence.interop import openlineage

        ending = Path(source).suffix.lower()
        return ending in (".jsonl", ".ndjson") or (ending == ".json" and openlineage.is_event_file(Path(source)))

    def read(self, source: str, store: Store) -> Graph:
        """Return the runs, jobs and datasets."""
        from whence.interop import openlineage

        return openlineage.read(source)


class Prov:
    """PROV documents."""

    about = f"PROV documents ({', '.join(FORMATS)})"

    def claims(self, source: str) -> bool:
        """Whether the file has a suffix of PROV documents."""
        return Path(source).suffix.lower() in FORMATS

    def read(self, source: str, store: Store) -> Document:
        """Return the graph of the document."""
        from whence.interop import prov
        from whence.store.prov.importing import prefixes_of

        return prov.read(source, known=prefixes_of(store))


def ingestors() -> list[Ingestor]:
    """Return all ingestors; those of installed packages come first, so that they can claim sources."""
    found: list[Ingestor] = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        try:
            found.append(point.load()())
        except Exception as error:  # code of another package may raise anything; the error names it
            raise StoreError(f"the ingestor {point.name!r} ({point.value}) cannot be loaded: {error}") from error
    return [*found, Git(), OpenLineage(), Prov()]


def ingest(store: Store, source: str) -> Imported:
    """Import a source; after an error, nothing is imported."""
    known = ingestors()
    chosen = next((each for each in known if each.claims(source)), None)
    if chosen is None:
        raise BadType(f"{source!r} cannot be imported: use one of {'; '.join(each.about for each in known)}")
    try:
        with _without_collection():
            found = chosen.read(source, store)
            graph, prefixes = (found, {}) if isinstance(found, Graph) else found
            return add_graph(store, graph, prefixes)
    except WhenceError as error:
        error.add_note(f"while importing {source!r}")
        raise


@contextmanager
def _without_collection() -> Iterator[None]:
    """Disable garbage collection during the block: with millions of new objects, it takes as long as the import."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
