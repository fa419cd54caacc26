"""Provenance graphs of any size: the paper's generators Pd (a project) and Sd (similar segments), and its example."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from whence.graph import Graph, Segment

Numbers = NDArray[np.int32]
ENTITY, ACTIVITY, AGENT = range(3)


@dataclass(frozen=True)
class Arrays:
    """A graph as `Graph.from_arrays` accepts it; vertices are numbered in the order of their creation."""

    kinds: NDArray[np.uint8]
    edges: dict[str, tuple[Numbers, Numbers]]

    @property
    def entities(self) -> Numbers:
        """The entities, oldest first."""
        return np.flatnonzero(self.kinds == ENTITY).astype(np.int32)

    def graph(self) -> Graph:
        """The graph."""
        from whence.graph import Graph

        return Graph.from_arrays(self.kinds, self.edges)


def pd(
    n: int, *, s_w: float = 1.2, lambda_i: float = 2.0, lambda_o: float = 2.0, s_e: float = 1.5, seed: int = 0
) -> Arrays:
    """Generate a project of about n vertices: a few people run activities that use existing entities and make new ones.

    Each activity has one agent (Zipf, skew `s_w`), uses 1 + m entities and makes 1 + n, with m and n from Poisson
    distributions with means `lambda_i` and `lambda_o`. An entity is picked by its rank among all existing ones, the
    latest first (Zipf, skew `s_e`). The project begins with two existing entities.
    """
    random = np.random.default_rng(seed)
    agents = max(1, int(math.log(n)))
    activities = max(1, int(n / (2 + lambda_o)))
    used, made = _usage(random, activities, lambda_i, lambda_o, s_e, first=2)
    counts = made
    # Vertices are numbered in the order of creation: agents, the first two entities, then each activity followed by its
    # outputs.
    before = np.concatenate([[0], np.cumsum(counts + 1)[:-1]])
    activity = agents + 2 + before
    entity = np.empty(2 + int(counts.sum()), np.int64)
    entity[:2] = agents, agents + 1
    of = np.repeat(np.arange(activities), counts)
    within = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    entity[2:] = activity[of] + 1 + within
    kinds = np.full(agents + len(entity) + activities, ENTITY, np.uint8)
    kinds[:agents] = AGENT
    kinds[activity] = ACTIVITY
    weights = np.arange(1, agents + 1) ** -s_w
    doer = np.searchsorted(np.cumsum(weights), random.random(activities) * weights.sum())
    return Arrays(
        kinds,
        {
            "used": (activity[used[0]].astype(np.int32), entity[used[1]].astype(np.int32)),
            "wasGeneratedBy": (entity[2:].astype(np.int32), activity[of].astype(np.int32)),
            "wasAssociatedWith": (activity.astype(np.int32), doer.astype(np.int32)),
        },
    )


def _usage(
    random: np.random.Generator, activities: int, lambda_i: float, lambda_o: float, s_e: float, first: int
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]:
    """Pairs (activity, entity) of used entities, without duplicates, and how many entities each activity made."""
    inputs = 1 + random.poisson(lambda_i, activities)
    outputs = (1 + random.poisson(lambda_o, activities)).astype(np.int64)
    there = first + np.cumsum(outputs) - outputs  # the number of entities when the activity begins
    weights = np.cumsum(np.arange(1, int(there[-1]) + 1) ** -s_e)
    of = np.repeat(np.arange(activities), inputs)
    rank = np.searchsorted(weights, random.random(len(of)) * weights[there[of] - 1])
    pairs = np.unique(of * (int(there[-1]) + 1) + np.maximum(there[of] - 1 - rank, 0))
    return (pairs // (int(there[-1]) + 1), pairs % (int(there[-1]) + 1)), outputs


def sd(
    *, alpha: float = 0.1, k: int = 5, n: int = 20, segments: int = 10,
    lambda_i: float = 2.0, lambda_o: float = 2.0, s_e: float = 1.5, seed: int = 0,
) -> list[Segment]:  # fmt: skip
    """Generate segments of conceptually similar pipelines: walks of one Markov chain over k types of activities.

    The rows of its matrix are drawn from a Dirichlet distribution: a small `alpha` makes stable pipelines; with a large
    one, any type may follow any other. Each segment has n activities; the property `command` is the type of an
    activity, and all entities are alike.
    """
    from whence.graph import Graph

    random = np.random.default_rng(seed)
    matrix = random.dirichlet(np.full(k, alpha), k)
    kinds: list[NDArray[np.uint8]] = []
    commands: list[int | None] = []
    edges: dict[str, tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]] = {
        "used": ([], []),
        "wasGeneratedBy": ([], []),
    }
    bounds = [0]
    for _ in range(segments):
        (users, things), made = _usage(random, n, lambda_i, lambda_o, s_e, first=1)
        entities = 1 + int(made.sum())
        start = bounds[-1]
        kinds.append(np.repeat(np.array([ENTITY, ACTIVITY], np.uint8), [entities, n]))
        state = int(random.integers(k))
        walk = []
        for _ in range(n):
            walk.append(state)
            state = int(random.choice(k, p=matrix[state]))
        commands += [None] * entities
        commands += walk
        edges["used"][0].append(start + entities + users)
        edges["used"][1].append(start + things)
        edges["wasGeneratedBy"][0].append(start + 1 + np.arange(entities - 1))
        edges["wasGeneratedBy"][1].append(start + entities + np.repeat(np.arange(n), made))
        bounds.append(start + entities + n)
    joined = {
        name: (np.concatenate(a).astype(np.int32), np.concatenate(b).astype(np.int32)) for name, (a, b) in edges.items()
    }
    graph = Graph.from_arrays(np.concatenate(kinds), joined, properties={"command": commands})
    return [graph.induced([str(v) for v in range(a, b)]) for a, b in pairwise(bounds)]


def lifecycle() -> Graph:
    """The paper's example (Fig. 2): Alice trains, changes the model, trains again; Bob changes the solver, trains."""
    from whence.graph import Graph

    def entity(name: str, version: int, **more: object) -> tuple[str, str, dict[str, object]]:
        return f"{name}-v{version}", "entity", {"filename": name, "version": version, **more}

    def activity(command: str, version: int, **more: object) -> tuple[str, str, dict[str, object]]:
        return f"{command}-v{version}", "activity", {"command": command, "version": version, **more}

    vertices = [
        ("Alice", "agent", {"name": "Alice"}), ("Bob", "agent", {"name": "Bob"}),
        entity("dataset", 1, url="http://data.example"), entity("model", 1, ref="vgg16"),
        entity("solver", 1, iter=20000),
        activity("train", 1, opt="-gpu", startTime="2026-01-01T10:00:00Z"),
        entity("log", 1, acc=0.7), entity("weight", 1, exp="v1"),
        activity("update", 2, startTime="2026-01-02T10:00:00Z"), entity("model", 2, ann="AVG"),
        activity("train", 2, opt="-gpu", startTime="2026-01-02T11:00:00Z"),
        entity("log", 2, acc=0.5), entity("weight", 2, exp="v2"),
        activity("update", 3, startTime="2026-01-03T10:00:00Z"), entity("solver", 3, lr=0.01),
        activity("train", 3, opt="-gpu", startTime="2026-01-03T11:00:00Z"),
        entity("log", 3, acc=0.75), entity("weight", 3, exp="v3"),
    ]  # fmt: skip
    runs = {
        "train-v1": (["dataset-v1", "model-v1", "solver-v1"], ["log-v1", "weight-v1"], "Alice"),
        "update-v2": (["model-v1"], ["model-v2"], "Alice"),
        "train-v2": (["dataset-v1", "model-v2", "solver-v1"], ["log-v2", "weight-v2"], "Alice"),
        "update-v3": (["solver-v1"], ["solver-v3"], "Bob"),
        "train-v3": (["dataset-v1", "model-v1", "solver-v3"], ["log-v3", "weight-v3"], "Bob"),
    }
    edges = [(name, "wasAttributedTo", "Alice") for name in ("dataset-v1", "model-v1", "solver-v1")]
    edges += [("model-v2", "wasDerivedFrom", "model-v1"), ("solver-v3", "wasDerivedFrom", "solver-v1")]
    for run, (inputs, outputs, agent) in runs.items():
        edges += [(run, "used", name) for name in inputs]
        edges += [(name, "wasGeneratedBy", run) for name in outputs]
        edges.append((run, "wasAssociatedWith", agent))
    return Graph.build(vertices, edges)
