"""A layered layout (Sugiyama): ranks by longest path, few crossings by mean positions, and nodes near their
neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

Pair = tuple[int, int]
Point = tuple[float, float]
_SWEEPS = 12
ACROSS = 34.0  # the distance between ranks
_DOWN = 16.0  # the distance between neighbours in a rank
_MARGIN = 16.0
_CROWDED = 200  # total ranks passed by edges above which edges to the same node are bundled


@dataclass(frozen=True, slots=True)
class Layout:
    """The centres and sizes of nodes, the points on the path of each edge, and the size of the picture."""

    centres: tuple[Point, ...]
    sizes: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def ranks_of(count: int, pairs: Sequence[Pair]) -> list[int]:
    """The rank of each node. Older nodes have lower ranks; an edge leads from a higher rank to a lower one.

    >>> ranks_of(4, [(1, 0), (2, 1), (2, 3)])
    [0, 1, 2, 1]
    """
    older = _acyclic(count, pairs)
    younger: list[list[int]] = [[] for _ in range(count)]
    left = [len(own) for own in older]
    for node, own in enumerate(older):
        for other in own:
            younger[other].append(node)
    ranks = [0] * count
    ready = [node for node in range(count) if not left[node]]
    order = []
    while ready:
        node = ready.pop()
        order.append(node)
        for other in younger[node]:
            ranks[other] = max(ranks[other], ranks[node] + 1)
            left[other] -= 1
            if not left[other]:
                ready.append(other)
    for node in reversed(order):  # a node without older ones moves next to its successors, for short edges
        if younger[node] and not older[node]:
            ranks[node] = min(ranks[other] for other in younger[node]) - 1
    return ranks


def _acyclic(count: int, pairs: Sequence[Pair]) -> list[list[int]]:
    """The targets of each node's edges, with edges that close a cycle reversed."""
    onward: list[list[int]] = [[] for _ in range(count)]
    for source, target in dict.fromkeys(pairs):
        if source != target:
            onward[source].append(target)
    state = [0] * count  # 1: on the stack, 2: done
    found: list[set[int]] = [set() for _ in range(count)]
    for start in range(count):
        stack = [(start, iter(onward[start]))] if not state[start] else []
        state[start] = state[start] or 1
        while stack:
            node, others = stack[-1]
            for other in others:
                if state[other] == 1:
                    found[other].add(node)
                    continue
                found[node].add(other)
                if not state[other]:
                    state[other] = 1
                    stack.append((other, iter(onward[other])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return [sorted(own) for own in found]


def lay_out(
    sizes: Sequence[Point], pairs: Sequence[Pair], given: Sequence[int] | None = None, across: float = ACROSS
) -> Layout:
    """Place nodes of these sizes, and route the edges between them. Ranks may be given, and the distance between
    ranks.
    """
    count = len(sizes)
    ranks = ranks_of(count, pairs) if given is None else list(given)
    chains: dict[Pair, list[int]] = {}  # an edge over several ranks passes through dummy nodes
    heights = [size[1] for size in sizes]
    links: list[Pair] = []
    crowded = sum(abs(ranks[source] - ranks[target]) for source, target in pairs) > _CROWDED
    shared: dict[Pair, int] = {}
    known: set[Pair] = set()
    for source, target in dict.fromkeys(pairs):
        low, high = sorted((source, target), key=lambda node: ranks[node])
        chain = [high]
        for rank in range(ranks[high] - 1, ranks[low], -1):
            if crowded and (low, rank) in shared:  # bundle the edges to the same node
                chain.append(shared[low, rank])
                continue
            ranks.append(rank)
            heights.append(6.0)
            chain.append(len(ranks) - 1)
            shared[low, rank] = len(ranks) - 1
        chain.append(low)
        if source != target:
            links += [link for link in itertools.pairwise(chain) if link not in known]
            known.update(itertools.pairwise(chain))
        chains[source, target] = chain if source == high else chain[::-1]
    layers: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for node, rank in enumerate(ranks):
        layers[rank].append(node)
    before, after = _neighbours(len(ranks), links, ranks)
    layers = _order_of_layers(layers, before, after)
    y = _down(layers, heights, before, after)
    x, width = _places_of_ranks(layers, sizes, count, across)
    centres = tuple((x[ranks[node]], y[node]) for node in range(count))
    routes = []
    for source, target in pairs:
        chain = chains[source, target]
        routes.append(tuple((x[ranks[node]], y[node]) for node in chain))
    height = max((centre[1] + size[1] / 2 for centre, size in zip(centres, sizes, strict=True)), default=0.0)
    height = max(height, max((point[1] for route in routes for point in route), default=0.0)) + _MARGIN
    return Layout(centres, tuple(sizes), tuple(routes), width, height)


def _neighbours(count: int, links: Sequence[Pair], ranks: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for one, other in links:
        young, old = (one, other) if ranks[one] > ranks[other] else (other, one)
        before[young].append(old)
        after[old].append(young)
    return before, after


def _order_of_layers(layers: list[list[int]], before: list[list[int]], after: list[list[int]]) -> list[list[int]]:
    """Order the nodes of each layer by the mean position of their neighbours, in both directions in turn. Keep the
    order with the fewest crossings.
    """
    place = {node: index for layer in layers for index, node in enumerate(layer)}
    best, fewest = [list(layer) for layer in layers], _crossings(layers, before, place)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for layer in layers[1:] if forward else layers[-2::-1]:
            near = before if forward else after
            key = {n: sum(place[m] for m in near[n]) / len(near[n]) if near[n] else float(place[n]) for n in layer}
            layer.sort(key=key.__getitem__)
            place.update({node: index for index, node in enumerate(layer)})
        crossings = _crossings(layers, before, place)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
        if not fewest:
            break
    return best


def _crossings(layers: list[list[int]], before: list[list[int]], place: dict[int, int]) -> int:
    """The number of crossing edges between adjacent layers, counted with a Fenwick tree."""
    total = 0
    for number, layer in enumerate(layers[1:]):
        width = len(layers[number])
        sums = [0] * (width + 1)
        seen = 0
        for node in layer:
            ends = sorted(place[other] for other in before[node])
            for end in ends:
                at, own = end + 1, 0
                while at:
                    own += sums[at]
                    at &= at - 1
                total += seen - own
            for end in ends:
                at = end + 1
                while at <= width:
                    sums[at] += 1
                    at += at & -at
                seen += 1
    return total


def _down(
    layers: list[list[int]], heights: Sequence[float], before: list[list[int]], after: list[list[int]]
) -> dict[int, float]:
    """The vertical position of each node: as near to the mean of its neighbours as the other nodes of the layer
    allow.
    """
    y: dict[int, float] = {}
    for layer in layers:
        top = 0.0
        for node in layer:
            y[node] = top + heights[node] / 2
            top += heights[node] + _DOWN
    for sweep in range(_SWEEPS):
        near = before if sweep % 2 == 0 else after
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [sum(y[m] for m in near[n]) / len(near[n]) if near[n] else y[n] for n in layer]
            y.update(zip(layer, _kept_apart(wanted, [heights[node] for node in layer]), strict=True))
    top = min((y[node] - heights[node] / 2 for node in y), default=0.0)
    return {node: at - top + _MARGIN for node, at in y.items()}


def _kept_apart(wanted: list[float], heights: list[float]) -> list[float]:
    """Positions in order, far enough apart, with the least sum of squared distances from the wanted ones.

    Without the gaps this is isotonic regression: neighbours that are out of order get their mean.
    """
    offsets, offset = [], 0.0
    for index, height in enumerate(heights):
        offset += (heights[index - 1] + height) / 2 + _DOWN if index else 0.0
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []
    for want, off in zip(wanted, offsets, strict=True):
        mean, size = want - off, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    means = [mean for mean, size in blocks for _ in range(size)]
    return [mean + off for mean, off in zip(means, offsets, strict=True)]


def _places_of_ranks(
    layers: list[list[int]], sizes: Sequence[Point], count: int, across: float
) -> tuple[list[float], float]:
    """The horizontal centre of each rank, and the total width. A rank is as wide as its widest node."""
    x, left = [], _MARGIN
    for layer in layers:
        width = max((sizes[node][0] for node in layer if node < count), default=20.0)
        x.append(left + width / 2)
        left += width + across
    return x, max(left - across, 0.0) + _MARGIN
