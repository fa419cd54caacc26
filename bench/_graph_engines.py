"""Time the algorithms for similar paths on one graph, and plain ancestor queries of other libraries."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from bench._common import seconds

from whence.errors import TooLarge
from whence.graph import Graph
from whence.graph.model import DERIVED, GENERATED, USED, Numbers
from whence.graph.similar import INTERVALS
from whence.testing.graphs import Arrays

OURS = "SimProvTst"
BYTES = 6 << 30  # the most memory of a slow method


@dataclass(frozen=True)
class Asked:
    """One question to several engines: seconds by engine (None: not measured), and whether all agreed."""

    times: dict[str, float | None]
    agree: bool
    found: int

    @property
    def ratio(self) -> float:
        """The best time of the others divided by ours."""
        ours = self.times[OURS]
        assert ours is not None
        return min(value for name, value in self.times.items() if name != OURS and value is not None) / ours


def engines(
    graph: Graph, sources: Numbers, destinations: Numbers
) -> dict[str, Callable[[np.ndarray[Any, Any]], object]]:
    """Return functions that mark all similar paths. All three are compiled and work on the same arrays."""
    ancestry = graph.ancestry
    return {
        OURS: lambda marks: ancestry.mark_similar(sources, destinations, INTERVALS, marks),
        "SimProvAlg": lambda marks: ancestry.mark_by_pairs(sources, destinations, True, BYTES, marks),
        "CflrB": lambda marks: ancestry.mark_by_cflrb(sources, destinations, BYTES, marks),
    }


def ask(graph: Graph, sources: Numbers, destinations: Numbers, names: tuple[str, ...]) -> Asked:
    """Ask these engines the question; one that would need too much memory is left out."""
    times: dict[str, float | None] = {}
    answers = []
    for name, search in engines(graph, sources, destinations).items():
        times[name] = None
        if name not in names:
            continue
        marks = np.zeros(len(graph), np.uint8)
        start = time.perf_counter()
        try:
            search(marks)
        except TooLarge:
            continue
        once = time.perf_counter() - start
        answers.append(marks)
        times[name] = once if once > 0.5 else seconds(partial(_repeat, search, len(graph)))
    return Asked(times, all(np.array_equal(answers[0], each) for each in answers), int(answers[0].sum()))


def cpu_seconds(graph: Graph, sources: Numbers, destinations: Numbers) -> float:
    """Return the processor time of our engine, the least of three: other programs on the machine do not count."""
    search = engines(graph, sources, destinations)[OURS]
    times = []
    for _ in range(3):
        marks = np.zeros(len(graph), np.uint8)
        start = time.process_time()
        search(marks)
        times.append(time.process_time() - start)
    return max(min(times), 1e-9)


def _repeat(search: Callable[[np.ndarray[Any, Any]], object], count: int) -> None:
    search(np.zeros(count, np.uint8))


def question(arrays: Arrays, percent: float = 0.0) -> tuple[Numbers, Numbers]:
    """Return the paper's question: from the last two entities to the first two, or to two later ones by so many
    percent.
    """
    entities = arrays.entities
    first = min(int(len(entities) * percent / 100), len(entities) - 4)
    return entities[first : first + 2], entities[-2:]


def ancestors(graph: Graph) -> tuple[dict[str, float], bool]:
    """Time all ancestors of a late vertex with whence, networkx and rustworkx; also return whether they agree."""
    import networkx as nx
    import rustworkx as rx

    table = graph.edge_table
    chosen = np.isin(table.relation, (USED, GENERATED, DERIVED))
    pairs = list(zip(table.source[chosen].tolist(), table.target[chosen].tolist(), strict=True))
    last = pairs[-1][0]
    one = nx.DiGraph()
    one.add_nodes_from(range(len(graph)))
    one.add_edges_from(pairs)
    two = rx.PyDiGraph(multigraph=False)
    two.add_nodes_from(range(len(graph)))
    two.add_edges_from_no_data(pairs)
    start = np.array([last], np.int32)
    times = {
        "whence": seconds(lambda: np.flatnonzero(graph.ancestry.reach(start, True))),
        "networkx": seconds(lambda: nx.descendants(one, last)),
        "rustworkx": seconds(lambda: rx.descendants(two, last)),
    }
    found = set(np.flatnonzero(graph.ancestry.reach(start, True)).tolist()) - {last}
    return times, found == nx.descendants(one, last) == rx.descendants(two, last)
