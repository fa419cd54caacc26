"""What is to be drawn: nodes with a few words, edges with a weight; much of it collapsed into counts by rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.errors import BadType
from whence.graph.model import KINDS, RELATIONS, Kind
from whence.graph.picture.layout import Layout, lay_out, ranks_of

if TYPE_CHECKING:
    from whence.graph._graph import Graph
    from whence.graph.summary import Summary

MOST_NODES = 150  # beyond that, nodes of one rank and kind are one
MOST_EDGES = 600
MOST_STEPS = 5000  # ranks that all edges together pass
MOST_RANKS = 8
LONGEST = 26  # characters of a label
_PLURAL = {"entity": "entities", "activity": "activities", "agent": "agents"}


@dataclass(frozen=True, slots=True)
class Node:
    """A shape with its words; `stands_for` counts what it stands for, `strong` marks what was asked about."""

    kind: Kind
    label: str
    title: str
    stands_for: int = 1
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """An edge between nodes by number; `weight` is between 0 and 1, `label` stands beside it."""

    source: int
    target: int
    relation: str
    weight: float = 0.0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """Nodes and the edges between them."""

    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    ranks: tuple[int, ...] | None = None  # where these are not to be found by the edges


def placed(what: object) -> tuple[Scene, Layout]:
    """What is to be drawn, and where."""
    found = scene_of(what)
    sizes = [(max(84.0, 7.0 * len(node.label) + 34.0), 38.0) for node in found.nodes]
    return found, lay_out(sizes, [(line.source, line.target) for line in found.lines], found.ranks)


def scene_of(what: object) -> Scene:
    """The scene of a graph, a segment or a summary."""
    from whence.graph._graph import Graph
    from whence.graph.segment import Segment
    from whence.graph.summary import Summary

    if isinstance(what, Segment):
        named = set(what.query.named.tolist())
        found = _of_graph(what.graph, what.numbers.tolist(), what.rows.tolist(), named)
    elif isinstance(what, Graph):
        found = _of_graph(what, range(len(what)), range(len(what.edge_table)), set())
    elif isinstance(what, Summary):
        found = _of_summary(what)
    else:
        raise BadType(f"graphs, segments and summaries can be drawn, not {type(what).__name__}")
    return collapsed(found) if _too_much(found) else found


def _too_much(scene: Scene) -> bool:
    """More than one can see, or edges over so many ranks that their ways would fill the picture."""
    if len(scene.nodes) > MOST_NODES or len(scene.lines) > MOST_EDGES:
        return True
    ranks = ranks_of(len(scene.nodes), [(line.source, line.target) for line in scene.lines])
    return sum(abs(ranks[line.source] - ranks[line.target]) for line in scene.lines) > MOST_STEPS


def _of_graph(graph: Graph, numbers: Iterable[int], rows: Iterable[int], named: set[int]) -> Scene:
    place: dict[int, int] = {}
    nodes: list[Node] = []
    for number in numbers:
        place[number] = len(nodes)
        name, kind = graph.ids[number], KINDS[graph.kinds[number]]
        label = (graph.properties.get(number, "command") or name) if kind == "activity" else name
        nodes.append(Node(kind, shortened(str(label)), name, strong=number in named))
    if len(nodes) <= MOST_NODES:
        nodes = [
            Node(node.kind, node.label, titled(node.title, graph.properties.row(number)), strong=node.strong)
            for number, node in zip(place, nodes, strict=True)
        ]
    table = graph.edge_table
    lines = [
        Line(place[int(table.source[row])], place[int(table.target[row])], RELATIONS[table.relation[row]].name)
        for row in rows
    ]
    return Scene(tuple(nodes), tuple(lines))


def _of_summary(summary: Summary) -> Scene:
    nodes = [
        Node(each.kind, shortened(each.label), titled(", ".join(each.members[:8]), each.properties), len(each.members))
        for each in summary.vertices
    ]
    place = {each.id: number for number, each in enumerate(summary.vertices)}
    lines = [
        Line(place[each.source.id], place[each.target.id], each.relation, each.frequency, f"{each.frequency:.0%}")
        for each in summary.edges
    ]
    return Scene(tuple(nodes), tuple(lines))


def collapsed(scene: Scene) -> Scene:
    """Nodes of one rank and kind become one that counts them; edges between these are counted, too."""
    pairs = [(line.source, line.target) for line in scene.lines]
    ranks = ranks_of(len(scene.nodes), pairs)
    last = max(ranks, default=0)
    groups: dict[tuple[int, str], list[int]] = {}
    for number, node in enumerate(scene.nodes):
        rank = ranks[number] if last < MOST_RANKS else ranks[number] * MOST_RANKS // (last + 1)
        groups.setdefault((rank, node.kind), []).append(number)
    nodes: list[Node] = []
    group_of = [0] * len(scene.nodes)
    for own in groups.values():
        for number in own:
            group_of[number] = len(nodes)
        nodes.append(scene.nodes[own[0]] if len(own) == 1 else _merged_node([scene.nodes[number] for number in own]))
    counts = Counter((group_of[line.source], group_of[line.target], line.relation) for line in scene.lines)
    most = max(counts.values(), default=1)
    lines = [
        Line(source, target, relation, count / most, f"{count:,}")
        for (source, target, relation), count in counts.items()
        if source != target  # ranks that were joined may hold both ends
    ]
    # Joined ranks may have edges in both directions; agents, entities and activities then stand side by side.
    order = [3 * rank + ("agent", "entity", "activity").index(kind) for rank, kind in groups]
    place = {each: number for number, each in enumerate(sorted(set(order)))}
    return Scene(tuple(nodes), tuple(lines), tuple(place[each] for each in order))


def _merged_node(nodes: list[Node]) -> Node:
    kind, labels = nodes[0].kind, {node.label for node in nodes}
    label = (
        f"{len(nodes):,} {_PLURAL[kind]}" if len(labels) > 1 else f"{shortened(nodes[0].label, 16)} x {len(nodes):,}"
    )
    title = ", ".join(node.title for node in nodes[:8]) + (", ..." if len(nodes) > 8 else "")
    return Node(kind, label, title, sum(node.stands_for for node in nodes), any(node.strong for node in nodes))


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text that fits, with the middle left out: beginnings and ends tell most.

    >>> shortened("data/2026/01/measurements-of-the-north.csv")
    'data/2026/01...e-north.csv'
    """
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    left = (longest - 3) // 2 + (longest - 3) % 2
    return f"{text[:left]}...{text[-((longest - 3) // 2) :]}"


def titled(name: str, properties: dict[str, Any]) -> str:
    """What is shown when the mouse rests on a node."""
    return "\n".join([name, *(f"{key}: {shortened(str(value), 80)}" for key, value in list(properties.items())[:12])])
