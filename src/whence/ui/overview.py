"""The whole project in one picture: kinds of artifacts and activities with their counts, instead of all vertices.

With up to `EXACT` vertices it is a summary (PgSum): every drawn path exists in the project. With more, or if the
summary is too large, vertices are grouped by name only, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.graph import Graph, summarize
from whence.graph.columns import Columns
from whence.graph.finding import split_version
from whence.graph.model import ACTIVITY, AGENT, DERIVED, ENTITY, GENERATED, KINDS, RELATIONS, USED
from whence.graph.picture.folding import failed
from whence.graph.picture.labels import numbered, shortened
from whence.graph.picture.nodes import Line, Node, Scene
from whence.graph.programs import program_of
from whence.graph.validate import Edges
from whence.ui.names import Name, Names

EXACT = 1500  # most vertices for a summary
MOST = 60  # nodes of the picture
FAILED = "\0"  # suffix of a program's name, to separate failed runs
Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Overview:
    """The picture with the vertices of each node, and how it was made."""

    scene: Scene
    how: str


def called(graph: Graph) -> tuple[Names, Names]:
    """Return the names of all vertices without versions, and the same without the numbers in them."""
    names = Names.of(_from_ids(graph))
    return names, names.without_numbers()


def overview(graph: Graph, numbers: Numbers, known: Callable[[], tuple[Names, Names]] | None = None) -> Overview:
    """Return the overview of these vertices; `known` returns the result of `called`, if it is cached."""
    numbers = numbers[graph.kinds[numbers] != AGENT]
    if len(numbers) > EXACT:
        names, bare = (known or partial(called, graph))()
        return _by_name(graph, numbers, names.taken(numbers), bare.taken(numbers))
    own = _named(graph, numbers)
    found = _summary(graph, numbers, own)
    if len(found.nodes) <= MOST:
        return Overview(
            found, "Runs and versions that were made in the same way are merged; every path in the picture exists."
        )
    names = Names.of(own)
    return _by_name(graph, numbers, names, names.without_numbers())


def _by_name(graph: Graph, numbers: Numbers, names: Names, bare: Names) -> Overview:
    """Group vertices by name; if there are too many names, by names without numbers; if there are still too many, by
    the suffix of files, except for frequent names."""
    if len(names.table) > MOST:
        names = bare
    if len(names.table) > MOST:
        frequent = {name for name, count in names.most_common(MOST // 3) if count > 1}
        names = names.renamed(lambda name: name if name in frequent else (name[0], _coarse(*name)))
    if len(names.table) > MOST:
        kept = {name for name, _ in names.most_common(MOST - 2)}
        names = names.renamed(lambda name: name if name in kept else (name[0], _OTHER[name[0]]))
    return Overview(_grouped(graph, numbers, names), _BY_NAME)


_OTHER = {ENTITY: "other data", ACTIVITY: "other activities"}
_BY_NAME = "Grouped by name and kind: a line means that some members of one group came from some of the other."


def _coarse(kind: int, name: str) -> str:
    if kind == ACTIVITY:
        return _OTHER[ACTIVITY]
    file = name.rpartition("/")[2]
    return f"*.{file.rpartition('.')[2]}" if "." in file[1:] else "arrays and tables"


def _from_ids(graph: Graph) -> Iterator[Name]:
    """Return names of all vertices without version and number, from their ids: reading properties would be slow."""
    for kind, label in zip(graph.kinds.tolist(), graph.ids, strict=True):
        own, mark, number = label.rpartition("#" if kind == ACTIVITY else "@v")
        yield (kind, own if mark and number.isdecimal() else label)


def _named(graph: Graph, numbers: Numbers) -> list[Name]:
    """Return names of vertices: the program of an activity, the file of a version."""
    kinds, ids = graph.kinds[numbers].tolist(), graph.ids.of(numbers.tolist())
    found = []
    for kind, label, properties in zip(kinds, ids, graph.properties.rows(numbers), strict=True):
        if kind == ACTIVITY:
            name = program_of(properties) or numbered(label)[0]
            found.append((kind, f"{name}{FAILED}" if failed(properties) else name))
        else:
            artifact = properties.get("artifact")
            found.append((kind, artifact if isinstance(artifact, str) else split_version(label)[0]))
    return found


def _summary(graph: Graph, numbers: Numbers, names: Sequence[Name]) -> Scene:
    """Return the PgSum summary in which only names distinguish vertices."""
    table = graph.edge_table
    drawn = np.isin(table.relation, (USED, GENERATED, DERIVED))  # revisions are not paths
    light = Graph(
        graph.ids, graph.kinds.copy(), Edges(table.relation[drawn], table.source[drawn], table.target[drawn]),
        Columns({"name": (numbers, [name for _, name in names])}), lenient=True,
    )  # fmt: skip
    summary = summarize(
        [light.induced(graph.ids.of(numbers.tolist()))], keep={"entity": ["name"], "activity": ["name"]}
    )
    place = {each.id: at for at, each in enumerate(summary.vertices)}
    nodes = [_node(each.kind, str(each.properties.get("name")), each.members) for each in summary.vertices]
    through = {(each.source.id, each.target.id) for each in summary.edges if each.relation == "wasGeneratedBy"}
    used = {(each.source.id, each.target.id) for each in summary.edges if each.relation == "used"}
    lines = [
        Line(place[each.source.id], place[each.target.id], each.relation, 0.3)
        for each in summary.edges
        if each.relation in ("used", "wasGeneratedBy")
        or (
            each.relation == "wasDerivedFrom"
            and not any(one == each.source.id and (by, each.target.id) in used for one, by in through)
        )
    ]
    return Scene(tuple(nodes), tuple(line for line in lines if line.source != line.target))


def _grouped(graph: Graph, numbers: Numbers, names: Names) -> Scene:
    """Return a scene with a node for each name, and a line for each connected pair, as wide as its number of edges."""
    table, codes = names.table, names.codes
    group = np.full(len(graph), -1, np.int64)
    group[numbers] = codes
    ordered = numbers[np.argsort(codes, kind="stable")]
    members = np.split(ordered, np.cumsum(np.bincount(codes, minlength=len(table)))[:-1])
    nodes = [
        _node(KINDS[kind], name, graph.ids.of(own.tolist()))
        for (kind, name), own in zip(table, members, strict=True)
    ]  # fmt: skip
    edges = graph.edge_table
    found: list[tuple[int, int, int, int]] = []
    for relation in (USED, GENERATED, DERIVED):
        source, target = edges.of(relation)
        pairs = group[source] * len(table) + group[target]
        pairs = pairs[(group[source] >= 0) & (group[target] >= 0) & (group[source] != group[target])]
        both, counts = np.unique(pairs, return_counts=True)
        for pair, count in zip(both.tolist(), counts.tolist(), strict=True):
            found.append((relation, *divmod(pair, len(table)), count))
    direct = {(source, target) for relation, source, target, _ in found if relation == GENERATED}
    used = {(source, target) for relation, source, target, _ in found if relation == USED}
    most = max((count for *_, count in found), default=1)
    lines = [
        Line(source, target, RELATIONS[relation].name, count / most, f"{count:,}" if count > 1 else "")
        for relation, source, target, count in found
        if relation != DERIVED or not any(one == source and (by, target) in used for one, by in direct)
    ]
    return Scene(tuple(nodes), tuple(lines))


def _node(kind: Any, name: str, members: Sequence[str]) -> Node:
    is_failed, count = name.endswith(FAILED), len(members)
    name = name.removesuffix(FAILED)
    thing = ("run", "runs") if kind == "activity" else ("version", "versions")
    first = split_version(members[0])[0]
    if kind == "entity" and any(split_version(each)[0] != first for each in members):
        thing = ("dataset", "datasets")
    note = [] if count == 1 and not is_failed else [f"{count:,} {thing[count > 1]}"]
    note += ["failed"] if is_failed else []
    title = ", ".join(members[:8]) + (", ..." if count > 8 else "")
    short = name if len(name) <= 28 or "/" not in name else name.rpartition("/")[2]
    return Node(kind, shortened(short, 28), title, count, failed=is_failed, note=" · ".join(note), ids=tuple(members))
