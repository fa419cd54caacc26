"""Simplify a part of a graph for drawing: agents become notes of activities, and edges that follow from others are left
out. If it does not fit the page, similar runs and versions become one node with a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.graph.finding import split_version
from whence.graph.model import (
    AGENT,
    ASSOCIATED,
    ATTRIBUTED,
    CODES,
    DERIVED,
    GENERATED,
    KINDS,
    RELATIONS,
    REVISION,
    USED,
)
from whence.graph.picture import labels
from whence.graph.picture.nodes import Line, Node, Scene
from whence.graph.programs import program_of

if TYPE_CHECKING:
    from whence.graph._graph import Graph

Row = tuple[int, int, int]  # source, code of the relation, target
_VERSION_OF = CODES["specializationOf"]


@dataclass(frozen=True, slots=True)
class Part:
    """Vertices of a graph with their properties, and the edges between them that are drawn."""

    names: dict[int, str]
    kinds: dict[int, int]
    properties: dict[int, dict[str, Any]]
    rows: tuple[Row, ...]
    by: dict[int, tuple[str, ...]]  # agents that are not drawn as nodes
    strong: frozenset[int]


def part_of(graph: Graph, numbers: Sequence[int], rows: Iterable[int], strong: Iterable[int]) -> Part:
    """The part to draw, without agents that their activities name and without edges that follow from others."""
    table, held = graph.edge_table, list(rows)
    columns = (each[held].tolist() for each in (table.source, table.relation, table.target))
    edges = list(dict.fromkeys(zip(*columns, strict=True)))
    own = np.array(numbers, np.int32)
    kinds = dict(zip(numbers, graph.kinds[own].tolist(), strict=True))
    by: dict[int, list[str]] = {}
    folded: set[int] = set()
    named = frozenset(strong)
    for source, code, target in edges:
        if code in (ASSOCIATED, ATTRIBUTED) and target not in named:
            by.setdefault(source, []).append(graph.ids[target])
            folded.add(target)
    edges = [edge for edge in edges if edge[2] not in folded and edge[0] not in folded]
    kept = [number for number in numbers if number not in folded]
    used = {(source, target) for source, code, target in edges if code == USED}
    makers: dict[int, list[int]] = {}
    for source, code, target in edges:
        if code == GENERATED:
            makers.setdefault(source, []).append(target)

    def implied(edge: Row) -> bool:
        source, code, target = edge
        if code in (DERIVED, REVISION):
            through = makers.get(source, ())
            if any((each, target) in used for each in through):
                return True
        return code == REVISION and bool(makers.get(source))

    return Part(
        dict(zip(kept, graph.ids.of(kept), strict=True)), {each: kinds[each] for each in kept},
        dict(zip(kept, graph.properties.rows(np.array(kept, np.int32)), strict=True)),
        tuple(edge for edge in edges if not implied(edge)), {key: tuple(who) for key, who in by.items()}, named,
    )  # fmt: skip


def scene(part: Part) -> Scene:
    """One node for each vertex."""
    return _drawn(part, [[number] for number in part.names])


def folded(part: Part, *, chains: bool, apart: bool = False) -> Scene:
    """Draw runs of one program, and versions of one file, as one node if they have similar neighbours.

    With `chains`, the neighbours do not matter, so that chains of versions fold, too. With `apart`, runs that read or
    wrote other files stay apart all the same: the steps of one program, each of which reads what the last one wrote.
    """
    group = _codes([_key(part, number) for number in part.names])
    if not chains:
        group = _refined(part, group)
    elif apart:
        finer = _with_neighbours(part, group)
        kinds = [KINDS[part.kinds[number]] for number in part.names]
        group = _codes(
            [(own, new if kind == "activity" else -1) for own, new, kind in zip(group, finer, kinds, strict=True)]
        )
    members: dict[int, list[int]] = {}
    for number, code in zip(part.names, group, strict=True):
        members.setdefault(code, []).append(number)
    return _drawn(part, list(members.values()))


def failed(properties: dict[str, Any]) -> bool:
    """Whether an activity is known to have failed."""
    return "error" in properties or properties.get("exit_code") not in (None, 0)


def _key(part: Part, number: int) -> tuple[object, ...]:
    name, properties, kind = part.names[number], part.properties[number], part.kinds[number]
    if number in part.strong or KINDS[kind] == "agent":
        return (kind, number)
    if KINDS[kind] == "activity":
        return (kind, program_of(properties) or labels.numbered(name)[0], failed(properties))
    artifact = properties.get("artifact")
    return (kind, artifact if isinstance(artifact, str) else split_version(name)[0])


def _codes(keys: Sequence[object]) -> list[int]:
    table: dict[object, int] = {}
    return [table.setdefault(key, len(table)) for key in keys]


def _refined(part: Part, group: list[int]) -> list[int]:
    """The coarsest refinement of a grouping in which vertices of a group have the same groups as neighbours."""
    while True:
        finer = _with_neighbours(part, group)
        if max(finer, default=0) == max(group, default=0):
            return finer
        group = finer


def _with_neighbours(part: Part, group: list[int]) -> list[int]:
    """Split each group by the groups of its members' neighbours."""
    place = {number: at for at, number in enumerate(part.names)}
    around: list[set[tuple[int, int, int]]] = [set() for _ in place]
    for source, code, target in part.rows:
        around[place[source]].add((0, code, group[place[target]]))
        around[place[target]].add((1, code, group[place[source]]))
    return _codes([(own, frozenset(beside)) for own, beside in zip(group, around, strict=True)])


def _drawn(part: Part, groups: Sequence[list[int]]) -> Scene:
    activities = {part.names[n]: part.properties[n] for n, kind in part.kinds.items() if KINDS[kind] == "activity"}
    entities = [part.names[n] for n, kind in part.kinds.items() if KINDS[kind] == "entity"]
    runs = labels.runs(activities, {split_version(name)[0] for name in entities})
    short = labels.files(entities)
    texts = dict(zip(entities, labels.distinct_labels([short[name] for name in entities]), strict=True))
    nodes: list[Node] = []
    place: dict[int, int] = {}
    for own in groups:
        for number in own:
            place[number] = len(nodes)
        nodes.append(_node(part, own, runs, texts))
    counts: dict[tuple[int, int, int], int] = {}
    for source, code, target in part.rows:
        if place[source] != place[target]:
            edge = (place[source], code, place[target])
            counts[edge] = counts.get(edge, 0) + 1
    many = any(len(own) > 1 for own in groups)
    most = max(counts.values(), default=1)
    lines = [
        Line(source, target, RELATIONS[code].name, count / most if many else 0.0, f"{count:,}" if count > 1 else "")
        for (source, code, target), count in counts.items()
    ]
    return Scene(tuple(nodes), tuple(lines))


def _node(part: Part, own: list[int], runs: dict[str, str], texts: dict[str, str]) -> Node:
    kind = KINDS[part.kinds[own[0]]]
    names = [part.names[number] for number in own]
    people = sorted({who for number in own for who in part.by.get(number, ())})
    is_activity = part.kinds[own[0]] != AGENT and kind == "activity"
    who = "" if not is_activity else people[0] if len(people) == 1 else f"{len(people)} people" if people else ""
    strong = any(number in part.strong for number in own)
    bad = sum(kind == "activity" and failed(part.properties[number]) for number in own)
    if len(own) == 1:
        name = names[0]
        label = {"activity": runs, "entity": texts}.get(kind, {}).get(name) or labels.shortened(name)
        mark = labels.numbered(name)[1] if kind == "activity" else ""
        title = labels.titled(name, part.properties[own[0]] | ({"by": ", ".join(people)} if people else {}))
    else:
        word = runs[names[0]] if kind == "activity" else split_version(texts[names[0]])[0]
        if kind == "activity":
            word = program_of(part.properties[own[0]]) or labels.numbered(names[0])[0]
        label, mark = f"{labels.shortened(word, 22)} x {len(own):,}", labels.spans(names)
        title = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    ending = f"{bad} failed" if bad and len(own) > 1 else "failed" if bad else ""
    note = " \N{MIDDLE DOT} ".join(each for each in (mark, ending, labels.shortened(who, 22)) if each)
    return Node(kind, label, title, len(own), strong, bool(bad), note, tuple(names))
