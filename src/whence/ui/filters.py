"""Filtering vertices by kind, person and time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.graph import Graph, when, who
from whence.graph.boundary import Boundary
from whence.graph.model import ACTIVITY, AGENT, ENTITY
from whence.ui.explorer import BadRequest, Explorer, Params

KINDS = ("file", "array", "table", "activity", "other")


def chosen(graph: Graph, params: Params, explorer: Explorer) -> NDArray[np.int32]:
    """Return the vertices that pass all filters; filters of kind and time keep all agents."""
    numbers = np.arange(len(graph), dtype=np.int32)
    kinds = [each for each in params.get("kinds", "").split(",") if each]
    unknown = [each for each in kinds if each not in KINDS]
    if unknown:
        raise BadRequest(f"there is no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
    if kinds:
        codes = explorer.once("kinds", lambda: kind_codes(graph))
        wanted = np.isin(codes, [KINDS.index(each) for each in kinds])
        numbers = numbers[wanted | (graph.kinds == AGENT)]
    boundaries: list[Boundary] = []
    if params.get("who"):
        boundaries.append(who(params["who"]))
    if params.get("after") or params.get("before"):
        boundaries.append(when(after=params.get("after") or None, before=params.get("before") or None))
    if boundaries:
        whole = graph.induced(())
        for each in boundaries:
            selected, _ = each.vertices(whole, numbers)
            numbers = numbers[selected]
    return numbers


def kind_codes(graph: Graph) -> NDArray[np.int64]:
    """Return for each vertex the index of its kind in KINDS; -1 for agents."""
    every = np.arange(len(graph), dtype=np.int32)
    codes = np.full(len(graph), KINDS.index("other"), np.int64)
    codes[graph.kinds == AGENT] = -1
    codes[graph.kinds == ACTIVITY] = KINDS.index("activity")
    entities = every[graph.kinds == ENTITY]
    own_kinds = graph.properties.column("kind", entities)
    artifacts = graph.properties.column("artifact", entities)
    for number, kind, artifact in zip(entities.tolist(), own_kinds, artifacts, strict=True):
        if kind in KINDS:
            codes[number] = KINDS.index(kind)
        elif artifact is not None:
            codes[number] = KINDS.index("file")
    return codes
