"""Find the vertex for a name that is not an id: the end of a file's path, or an activity without its number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import Ambiguous
from whence.graph.model import ACTIVITY

if TYPE_CHECKING:
    from whence.graph._graph import Graph

VERSION = re.compile(r"(?P<artifact>.+)@v(?P<number>[0-9]+)\Z", re.DOTALL)


def split_version(name: str) -> tuple[str, str]:
    """Split a name into the name of an artifact and its version.

    >>> split_version("model.bin@v2"), split_version("model.bin")
    (('model.bin', '@v2'), ('model.bin', ''))
    """
    found = VERSION.match(name)
    return (found["artifact"], f"@v{found['number']}") if found else (name, "")


def meant(graph: Graph, name: str) -> list[int]:
    """Return the indices of the vertices that a name means, if it is neither an id nor an artifact.

    `metrics.json` means `results/metrics.json` if no other file has this name, `train` means `train#3` if there is no
    other such activity. Several matches are an error that lists them; without a match the result is empty.
    """
    artifact, version = split_version(name)
    paths = [each for each in graph.artifacts if each.endswith(f"/{artifact}")]
    if version:
        found = {path: graph.ids.find(f"{path}{version}") for path in paths}
        places = {f"{path}{version}": [number] for path, number in found.items() if number is not None}
    else:
        places = {path: graph.versions_at(path) for path in paths}
    if not places:
        activities = np.flatnonzero(graph.kinds == ACTIVITY).tolist()
        places = {label: [number] for number in activities if (label := graph.ids[number]).rpartition("#")[0] == name}
    if len(places) > 1:
        raise Ambiguous.of(name, sorted(places))
    return next(iter(places.values()), [])
