"""Choose what to draw: everything if it fits the page, else folded nodes, else counts by rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.errors import BadType
from whence.graph.model import KINDS, RELATIONS
from whence.graph.picture.folding import folded, part_of
from whence.graph.picture.folding import scene as plain_scene
from whence.graph.picture.labels import shortened, titled
from whence.graph.picture.layout import ACROSS, Layout, lay_out, ranks_of
from whence.graph.picture.nodes import Line, Node, Scene

if TYPE_CHECKING:
    from whence.graph._graph import Graph
    from whence.graph.summary import Summary

MOST_NODES = 150  # with more nodes, those of one rank and kind become one
MOST_EDGES = 600
MOST_STEPS = 5000  # the most ranks that all edges together pass
MOST_RANKS = 8
LETTER = 6.5  # width of a letter of a line's label, in pixels
FOLDED = 4000  # the most vertices for which folding is tried
PAGE = (2200.0, 2600.0)  # the largest width and height of a picture before it is folded
_PLURAL = {"entity": "entities", "activity": "activities", "agent": "agents"}


def placed(what: object) -> tuple[Scene, Layout]:
    """The scene to draw, and its layout."""
    return laid_out(scene_of(what))


def laid_out(scene: Scene) -> tuple[Scene, Layout]:
    """A scene with its layout."""
    sizes = [node.size for node in scene.nodes]
    words = max((len(line.label) for line in scene.lines), default=0)  # labels are drawn between ranks
    pairs = [(line.source, line.target) for line in scene.lines]
    return scene, lay_out(sizes, pairs, scene.ranks, max(ACROSS, LETTER * words + 30))


def scene_of(what: object) -> Scene:
    """The scene of a graph, a segment or a summary."""
    from whence.graph._graph import Graph
    from whence.graph.segment import Segment
    from whence.graph.summary import Summary

    if isinstance(what, Segment):
        return of_graph(what.graph, what.numbers.tolist(), what.rows.tolist(), what.query.named.tolist())
    if isinstance(what, Graph):
        return of_graph(what, range(len(what)), range(len(what.edge_table)), ())
    if isinstance(what, Summary):
        found = of_summary(what)
        return collapsed(found) if _too_much(found) else found
    raise BadType(f"graphs, segments and summaries can be drawn, not {type(what).__name__}")


def of_graph(graph: Graph, numbers: Sequence[int], rows: Sequence[int], named: Sequence[int]) -> Scene:
    """The scene of a graph's vertices: one node each if that fits the page, else folded nodes, else counts."""
    if len(numbers) > FOLDED:
        return collapsed(_bare(graph, numbers, rows))
    part = part_of(graph, list(numbers), rows, named)
    found = plain_scene(part)
    if _fits(found):
        return found
    steps = [folded(part, chains=chains, apart=apart) for chains, apart in ((False, False), (True, True))]
    found = folded(part, chains=True)
    for each in (*steps, found):
        if _fits(each):
            return each
    # None fits: chains fold only if that helps, because time does not run to the right within a folded chain.
    found = found if 2 * len(found.nodes) < len(steps[-1].nodes) else steps[-1]
    return collapsed(found) if _too_much(found) else found


def _fits(scene: Scene) -> bool:
    if _too_much(scene):
        return False
    _, layout = laid_out(scene)
    return layout.width <= PAGE[0] and layout.height <= PAGE[1]


def _too_much(scene: Scene) -> bool:
    """Whether there are too many nodes or edges, or edges over so many ranks that they would fill the picture."""
    if len(scene.nodes) > MOST_NODES or len(scene.lines) > MOST_EDGES:
        return True
    ranks = ranks_of(len(scene.nodes), [(line.source, line.target) for line in scene.lines])
    return sum(abs(ranks[line.source] - ranks[line.target]) for line in scene.lines) > MOST_STEPS


def _bare(graph: Graph, numbers: Sequence[int], rows: Sequence[int]) -> Scene:
    """Nodes with names only, which are counted later."""
    place = {number: at for at, number in enumerate(numbers)}
    nodes = [
        Node(KINDS[graph.kinds[number]], shortened(name), name, ids=(name,))
        for number, name in zip(numbers, graph.ids.of(numbers), strict=True)
    ]
    table = graph.edge_table
    lines = [
        Line(place[int(table.source[row])], place[int(table.target[row])], RELATIONS[table.relation[row]].name)
        for row in rows
    ]
    return Scene(tuple(nodes), tuple(lines))


def of_summary(summary: Summary) -> Scene:
    """The scene of a summary: each vertex with its number of members, each edge with the share of segments that have
    it.
    """
    nodes = [
        Node(
            each.kind, shortened(each.label), titled(", ".join(each.members[:8]), each.properties), len(each.members),
            note=f"x {len(each.members):,}" if len(each.members) > 1 else "", ids=each.members,
        )
        for each in summary.vertices
    ]  # fmt: skip
    place = {each.id: number for number, each in enumerate(summary.vertices)}
    lines = [
        Line(place[each.source.id], place[each.target.id], each.relation, each.frequency, f"{each.frequency:.0%}")
        for each in summary.edges
    ]
    return Scene(tuple(nodes), tuple(lines))


def collapsed(scene: Scene) -> Scene:
    """Merge nodes of the same rank and kind into one with a count. Edges between them get counts, too."""
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
        if source != target  # merged ranks may contain both ends
    ]
    # Merged ranks may have edges in both directions; then agents, entities and activities get ranks of their own.
    order = [3 * rank + ("agent", "entity", "activity").index(kind) for rank, kind in groups]
    place = {each: number for number, each in enumerate(sorted(set(order)))}
    return Scene(tuple(nodes), tuple(lines), tuple(place[each] for each in order))


def _merged_node(nodes: list[Node]) -> Node:
    kind, labels = nodes[0].kind, {node.label for node in nodes}
    count = sum(node.stands_for for node in nodes)
    label = f"{count:,} {_PLURAL[kind]}" if len(labels) > 1 else f"{shortened(nodes[0].label, 16)} x {count:,}"
    title = ", ".join(node.title.partition("\n")[0] for node in nodes[:8]) + (", ..." if len(nodes) > 8 else "")
    return Node(
        kind, label, title, count, any(node.strong for node in nodes), any(node.failed for node in nodes),
        ids=tuple(each for node in nodes for each in node.ids),
    )  # fmt: skip
