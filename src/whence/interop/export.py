"""Writing the graph of a log to a file, in whatever its name says."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from whence.errors import BadType
from whence.graph import Graph
from whence.interop import openlineage, prov

if TYPE_CHECKING:
    from whence.store import Log

PICTURES = (".svg", ".png", ".mmd", ".dot")
EVENTS = (".jsonl", ".ndjson")
_TIMES = {"started": "prov:startTime", "ended": "prov:endTime"}


def export(log: Log, path: str | PathLike[str], graph: Graph | None = None, format: str | None = None) -> None:
    """Write a graph, that of the log if none is given: a PROV document, OpenLineage events, or a picture."""
    from whence.store.importing import prefixes_of

    chosen = log.graph if graph is None else graph
    ending = Path(path).suffix.lower()
    if format == "openlineage" or (format is None and ending in EVENTS):
        openlineage.write(chosen, path)
    elif format is None and ending in PICTURES:
        chosen.draw(path)
    elif format is None and ending not in prov.FORMATS:
        raise BadType(f"{path}: exports end in {', '.join((*prov.FORMATS, *EVENTS, *PICTURES))}")
    else:
        prov.write(as_prov(chosen), path, format, prefixes_of(log))


def as_prov(graph: Graph) -> Graph:
    """The same graph with the times of activities under the names that PROV has for them."""
    vertices, edges = graph.records()
    renamed = [
        (name, kind, {_TIMES.get(key, key): value for key, value in properties.items()} if kind == "activity" else own)
        for name, kind, own in vertices
        for properties in (own,)
    ]
    return Graph.build(renamed, edges)
