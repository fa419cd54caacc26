"""Questions about files and datasets as a whole: the project graph."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whence.store.values import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whence.graph import Graph
    from whence.graph.compare import Difference
    from whence.store import Store


class Project:
    """The methods of a log for files, activities and people."""

    _store: Store

    @property
    def graph(self) -> Graph:
        """The project graph: datasets, operations and who ran them, as W3C PROV. It is read again after changes."""
        return self._store.graph

    def ancestors(self, names: str | Iterable[str], *, revisions: bool = False) -> list[str]:
        """List everything that these came from, oldest first: files, activities, datasets. The list prints as a table.

        The name of a file means its latest version; `model.bin@v2` is one version. The end of a path is enough if it is
        unique. A version that was replaced without being read is not an ancestor, unless `revisions` is true.
        """
        from whence.store.prov import asking as projects

        return projects.ancestors(self._store, names, revisions=revisions)

    def descendants(self, names: str | Iterable[str], *, revisions: bool = False) -> list[str]:
        """List everything that came from these, oldest first. The list prints as a table.

        The name of a file means all its versions.
        """
        from whence.store.prov import asking as projects

        return projects.descendants(self._store, names, revisions=revisions)

    def blame(self, names: str | Iterable[str], *, revisions: bool = False) -> dict[str, list[str]]:
        """List who is responsible for these, and for which of their ancestors."""
        from whence.store.prov import asking as projects

        return projects.blame(self._store, names, revisions=revisions)

    def versions(self, name: str) -> list[str]:
        """List the versions of a file, oldest first. The list prints as a table."""
        from whence.store.prov import asking as projects

        return projects.versions(self._store, name_of(name))

    def diff(self, one: str, other: str) -> Difference:
        """Compare two activities, or two files: parameters, inputs, code, outputs, and their origins.

        >>> import tempfile, pathlib, whence as wh
        >>> directory = tempfile.TemporaryDirectory()
        >>> model = pathlib.Path(directory.name, "model.bin")
        >>> with wh.open(pathlib.Path(directory.name, "project.whence")) as log:
        ...     for rate in ("0.1", "0.2"):
        ...         with log.activity("train", command=f"python train.py --rate {rate}") as a:
        ...             _ = model.write_text(f"weights at {rate}" * 10), a.generated(model)
        ...     print(log.diff("train#1", "train#2"))
        train#1 -> train#2
          what       name       first      second  note
          parameter  --rate     0.1    ->  0.2
          output     model.bin  v1     ->  v2      140 B both
        >>> directory.cleanup()
        """
        from whence.store.prov import asking as projects

        return projects.diff(self._store, name_of(one), name_of(other))

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the project graph to a file: a PROV document, OpenLineage events, or a picture, by the suffix of the
        file.

        `format` is one of json, provn, xml, rdf, trig and openlineage, for files with another suffix.
        """
        from whence.interop.export import export

        export(self._store, path, format=format)
