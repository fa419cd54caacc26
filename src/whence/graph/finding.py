"""What a name stands for that is not an id: the end of a file's path, or an activity without its number."""

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
    """The name of an artifact, and its version.

    >>> split_version("model.bin@v2"), split_version("model.bin")
    (('model.bin', '@v2'), ('model.bin', ''))
    """
    found = VERSION.match(name)
    return (found["artifact"], f"@v{found['number']}") if found else (name, "")


def meant(graph: Graph, name: str) -> list[int]:
    """The numbers of the vertices that a name stands for, without being the id or the artifact of any.

    `metrics.json` is `results/metrics.json` if no other file is called so, `train` is `train#3` if there is no other
    such activity. Where there are several, it is an error that lists them; none are found of what nothing is called.
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
