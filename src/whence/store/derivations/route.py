"""Following cells along a path of names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from whence.errors import NoLineage
from whence.selection import Selection
from whence.store.derivations.adjacency import Adjacency, Lineage, Way
from whence.store.derivations.walk import Load, connections, moved


@dataclass(frozen=True, slots=True)
class Hop:
    """The derivations from one dataset of a path to the next, backward and forward."""

    shape: tuple[int, ...]  # of the dataset it leads to
    backward: tuple[Way, ...]
    forward: tuple[Way, ...]

    def follow(self, selection: Selection, load: Load) -> Selection:
        """Return the cells that the selection leads to, the union over all relations."""
        found: Selection | None = None
        for way in self.backward:
            reached = moved(way, selection, "backward", self.shape, load).selection
            found = reached if found is None else found | reached
        for way in self.forward:
            reached = moved(way, selection, "forward", self.shape, load).selection
            found = reached if found is None else found | reached
        return Selection.empty(self.shape) if found is None else found


@dataclass(frozen=True, slots=True)
class Route:
    """A path as a sequence of hops."""

    hops: tuple[Hop, ...]

    def follow(self, selection: Selection, load: Load) -> Selection:
        """Return the cells of the last dataset that the selection leads to."""
        for hop in self.hops:
            selection = hop.follow(selection, load)
        return selection


def route(
    graph: Adjacency, path: Sequence[str], above: float | None = None, lineage: Lineage = "value+selection"
) -> Route:
    """Plan the hops along a path of names; raise NoLineage if two neighbours are not connected."""
    path = _versions(graph, path)
    return Route(tuple(_hop(graph, here, there, above, lineage) for here, there in pairwise(path)))


def _versions(graph: Adjacency, path: Sequence[str]) -> list[str]:
    """Return the datasets of a path: the latest version of each that is connected to the one before."""
    found: list[str] = []
    for name in path:
        latest = graph.meant(name)
        beside = {**graph.backward[found[-1]], **graph.forward[found[-1]]} if found else {}
        found.append(next((each for each in reversed(graph.every(name)) if each in beside), latest))
    return found


def _hop(graph: Adjacency, here: str, there: str, above: float | None, lineage: Lineage) -> Hop:
    backward, forward = graph.backward[here].get(there, ()), graph.forward[here].get(there, ())
    if not backward and not forward:
        raise NoLineage(
            f"there is no lineage between {here!r} and {there!r}: {connections(graph, here)}; "
            f"{connections(graph, there)}"
        )
    back = graph.asked_for(here, there, backward, above, lineage)
    onward = graph.asked_for(there, here, forward, above, lineage)
    ways = (tuple(graph.ways(here, there, back, "backward")), tuple(graph.ways(here, there, onward, "forward")))
    return Hop(graph.shapes[there], *ways)
