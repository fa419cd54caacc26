"""Writing the graph of a log to a file, in the format of its suffix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from whence.errors import BadType
from whence.graph import Graph
from whence.graph.model import Kind
from whence.interop import openlineage, prov
from whence.interop.prov_writing import Attributes

if TYPE_CHECKING:
    from whence.store import Store

PICTURES = (".svg", ".png", ".mmd", ".dot")
EVENTS = (".jsonl", ".ndjson")
_TIMES = {"started": "prov:startTime", "ended": "prov:endTime"}


def export(store: Store, path: str | PathLike[str], graph: Graph | None = None, format: str | None = None) -> None:
    """Write a graph, by default that of the log, as a PROV document, OpenLineage events, or a picture."""
    from whence.store.prov.importing import prefixes_of

    chosen = store.graph if graph is None else graph
    ending = Path(path).suffix.lower()
    if format == "openlineage" or (format is None and ending in EVENTS):
        openlineage.write(chosen, path)
    elif format is None and ending in PICTURES:
        chosen.draw(path)
    elif format is None and ending not in prov.FORMATS:
        raise BadType(
            f"{path}: the file name of an export must end in {', '.join((*prov.FORMATS, *EVENTS, *PICTURES))}"
        )
    else:
        prov.write(as_prov(chosen), path, format, {**prefixes_of(store), **chosen.prefixes})


@dataclass(frozen=True, slots=True)
class as_prov:  # lower case, because it is used like a function
    """A graph with PROV's names for the times of activities.

    It is not a Graph, because a log may contain what PROV excludes, such as cycles of arrays changed in place, and such
    a log must be exported, too.
    """

    graph: Graph

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The URIs of the prefixes."""
        return self.graph.prefixes

    def records(self) -> tuple[list[tuple[str, Kind, Attributes]], list[tuple[str, str, str, Attributes]]]:
        """Return the vertices and edges with their properties."""
        vertices, edges = self.graph.records()
        return [
            (name, kind, _with_prov_times(own) if kind == "activity" else own) for name, kind, own in vertices
        ], edges


def _with_prov_times(properties: Attributes) -> Attributes:
    """Return properties with PROV's names for times; an imported time keeps its original format."""
    given = {column for column, name in _TIMES.items() if name in properties}
    return {_TIMES.get(key, key): value for key, value in properties.items() if key not in given}
