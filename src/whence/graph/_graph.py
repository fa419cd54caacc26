"""The class `Graph`: vertices and edges of W3C PROV in arrays, and questions about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadGraph, BadType, UnknownName
from whence.graph import prov_json, reach
from whence.graph.columns import Columns, Ids, counts
from whence.graph.finding import meant
from whence.graph.model import (
    ASSOCIATED,
    ATTRIBUTED,
    CODES,
    DERIVED,
    ENTITY,
    KINDS,
    RELATIONS,
    REVISION,
    Edge,
    Kind,
    Numbers,
    Vertex,
)
from whence.graph.picture import Drawable
from whence.graph.validate import Edges, ancestry_of, check, check_cycles

if TYPE_CHECKING:
    from whence._core import Ancestry
    from whence.graph.segment import Segment

_VERSION_OF = CODES["specializationOf"]
_MANY = 100_000  # in larger graphs, an error suggests no similar names
Names = str | Iterable[str]


class Graph(Drawable):
    """An immutable provenance graph: entities, activities and agents, and the relations between them.

    >>> g = Graph.build(
    ...     [("data", "entity"), ("train", "activity", {"command": "train"}), ("model", "entity"), ("ada", "agent")],
    ...     [("train", "used", "data"), ("model", "wasGeneratedBy", "train"), ("train", "wasAssociatedWith", "ada")],
    ... )
    >>> g
    Graph(2 entities, 1 activity, 1 agent, 3 edges)
    >>> g.ancestors("model"), g.blame("model")
    (['data', 'train'], {'ada': ['train']})
    """

    def __init__(
        self,
        ids: Ids,
        kinds: NDArray[np.uint8],
        edges: Edges,
        properties: Columns | None = None,
        edge_properties: Columns | None = None,
        *,
        lenient: bool = False,
        prefixes: Mapping[str, str] | None = None,
        derivations: tuple[int, ...] = (DERIVED,),
    ) -> None:
        check(ids, kinds, edges)
        kinds.flags.writeable = False
        self.ids = ids
        self.kinds = kinds
        self.edge_table = edges
        self.properties = properties or Columns()
        self.edge_properties = edge_properties or Columns()
        self.prefixes = dict(prefixes or {})  # namespaces of prefixes, from a document
        self.derivations = derivations  # relations between entities that count as ancestry
        self.ancestry: Ancestry = ancestry_of(len(kinds), edges, derivations)
        self.acyclic = check_cycles(ids, edges, self.ancestry, derivations, lenient)

    # --- making one

    @classmethod
    def build(
        cls,
        vertices: Iterable[Sequence[Any]],
        edges: Iterable[Sequence[Any]],
        prefixes: Mapping[str, str] | None = None,
    ) -> Graph:
        """Make a graph of records: (id, kind[, properties]) and (source id, PROV relation, target id[, properties])."""
        names: list[str] = []
        kinds: list[int] = []
        rows: list[Mapping[str, Any]] = []
        for name, kind, *rest in vertices:
            if kind not in KINDS:
                raise BadGraph(f"{name!r} has the kind {kind!r}, which PROV does not have: use {', '.join(KINDS)}")
            names.append(name)
            kinds.append(KINDS.index(kind))
            rows.append(rest[0] if rest else {})
        ids = Ids(names, len(names))
        ends: tuple[list[int], list[int], list[int]] = ([], [], [])
        edge_rows: list[Mapping[str, Any]] = []
        number_of = dict(zip(names, range(len(names)), strict=True))
        codes, sources, targets = ends
        for source, relation, target, *rest in edges:
            code = CODES.get(relation)
            if code is None:
                raise BadGraph(f"{source!r} {relation} {target!r}: PROV has no such relation")
            for end in (source, target):
                if end not in number_of:
                    raise BadGraph(f"{source!r} {relation} {target!r}: there is no vertex {end!r}")
            codes.append(code)
            sources.append(number_of[source])
            targets.append(number_of[target])
            edge_rows.append(rest[0] if rest else {})
        return cls(
            ids, np.array(kinds, np.uint8),
            Edges(np.array(ends[0], np.uint8), np.array(ends[1], np.int32), np.array(ends[2], np.int32)),
            Columns.from_rows(rows), Columns.from_rows(edge_rows), prefixes=prefixes,
        )  # fmt: skip

    @classmethod
    def from_arrays(
        cls,
        kinds: NDArray[np.integer[Any]],
        edges: Mapping[str, tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]],
        *,
        ids: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        edge_properties: Mapping[str, Any] | None = None,
        lenient: bool = False,
    ) -> Graph:
        """Make a graph of arrays, which is fast.

        `kinds` has 0 for an entity, 1 for an activity, 2 for an agent; `edges` maps a PROV relation to the numbers of
        its source and target vertices; without `ids`, the ids are numbers. A property is a list with
        a value (or None) for each vertex, or a pair (ascending row numbers, their values); properties of edges are
        given in the same way, with edges numbered in the order of the mapping.
        """
        unknown = [name for name in edges if name not in CODES]
        if unknown:
            raise BadGraph(f"{unknown[0]!r} is not a relation of PROV: use one of {', '.join(CODES)}")
        count = sum(len(source) for source, _ in edges.values())
        if max(count, len(kinds)) >= 2**31:
            raise BadType("a graph holds up to 2^31 - 1 vertices, and as many edges")
        return cls(
            Ids(ids, len(kinds)), np.array(kinds, np.uint8), Edges.of_relations(edges),
            Columns.of(properties or {}, len(kinds)), Columns.of(edge_properties or {}, count), lenient=lenient,
        )  # fmt: skip

    @classmethod
    def from_prov(cls, document: str | PathLike[str] | Mapping[str, Any]) -> Graph:
        """Read a graph from PROV-JSON: the path of a file, or the document as a dict.

        The id of a relation is its property `prov:id`, the bundle that a record is in `whence:bundle`.

        >>> Graph.from_prov({
        ...     "entity": {"ex:raw": {}, "ex:clean": {"ex:rows": 10}}, "activity": {"ex:wash": {}},
        ...     "used": {"_:1": {"prov:activity": "ex:wash", "prov:entity": "ex:raw"}},
        ...     "wasGeneratedBy": {"_:2": {"prov:entity": "ex:clean", "prov:activity": "ex:wash"}},
        ... })
        Graph(2 entities, 1 activity, 0 agents, 2 edges)
        """
        return cls.build(*prov_json.read(document))

    # --- looking

    def __len__(self) -> int:
        return len(self.kinds)

    def __contains__(self, id: object) -> bool:
        return id in self.ids

    def __getitem__(self, id: str) -> Vertex:
        return self.vertex_at(self.ids.number(id))

    def __repr__(self) -> str:
        counts = np.bincount(self.kinds, minlength=3).tolist()
        nouns = ("entity", "entities"), ("activity", "activities"), ("agent", "agents")
        parts = [f"{count:,} {one if count == 1 else many}" for count, (one, many) in zip(counts, nouns, strict=True)]
        edges = len(self.edge_table)
        return f"Graph({', '.join(parts)}, {edges:,} edge{'' if edges == 1 else 's'})"

    @property
    def vertices(self) -> list[str]:
        """The ids of all vertices."""
        return list(self.ids)

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        """All edges: (source id, PROV relation, target id)."""
        return self.edges_at(np.arange(len(self.edge_table), dtype=np.int64))

    def vertex_at(self, number: int) -> Vertex:
        """The vertex with this index."""
        return Vertex(self.ids[number], KINDS[self.kinds[number]], self.properties.row(number))

    def vertices_at(self, numbers: Numbers) -> list[Vertex]:
        """The vertices with these indices."""
        kinds = self.kinds[numbers].tolist()
        held = zip(numbers.tolist(), kinds, self.properties.rows(numbers), strict=True)
        return [Vertex(self.ids[number], KINDS[kind], properties) for number, kind, properties in held]

    def edge_at(self, row: int) -> Edge:
        """The edge in this row of the edge table."""
        return self.edge_objects_at(np.array([row], np.int64))[0]

    def edge_objects_at(self, rows: NDArray[np.integer[Any]]) -> list[Edge]:
        """The edges in these rows of the edge table, with their ends and properties."""
        table = self.edge_table
        ends = (self.vertices_at(each[rows]) for each in (table.source, table.target))
        columns = (table.relation[rows].tolist(), *ends, self.edge_properties.rows(rows.astype(np.int32)))
        return [
            Edge(source, RELATIONS[code].name, target, own) for code, source, target, own in zip(*columns, strict=True)
        ]

    def edges_at(self, rows: NDArray[np.integer[Any]]) -> list[tuple[str, str, str]]:
        """The edges in these rows of the edge table: (source id, PROV relation, target id)."""
        table, ids = self.edge_table, self.ids
        columns = (each[rows].tolist() for each in (table.source, table.relation, table.target))
        return [(ids[source], RELATIONS[code].name, ids[target]) for source, code, target in zip(*columns, strict=True)]

    def records(
        self, numbers: Numbers | None = None, rows: NDArray[np.int64] | None = None
    ) -> tuple[list[tuple[str, Kind, dict[str, Any]]], list[tuple[str, str, str, dict[str, Any]]]]:
        """Vertices and edges with their properties, in the form that `build` takes: all, or those given."""
        chosen = np.arange(len(self), dtype=np.int32) if numbers is None else numbers
        held = np.arange(len(self.edge_table), dtype=np.int64) if rows is None else rows
        vertices = [(v.id, v.kind, dict(v.properties)) for v in self.vertices_at(chosen)]
        properties = self.edge_properties.rows(held.astype(np.int32))
        return vertices, [(*edge, own) for edge, own in zip(self.edges_at(held), properties, strict=True)]

    def of_kind(self, kind: Kind) -> list[str]:
        """The ids of all vertices of a kind."""
        return self.ids.of(np.flatnonzero(self.kinds == KINDS.index(kind)).tolist())

    def numbers(self, names: Names, kind: Kind | None = None) -> Numbers:
        """Return the indices of these vertices; the name of an artifact means all its versions.

        The end of a path, or an activity without its number, is enough if it is unique.
        """
        if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
            names = (names,)
        found: list[int] = []
        for name in names:
            if not isinstance(name, str):
                raise BadType(f"vertices are named by their ids, which are strings; got {name!r}")
            number = self.ids.find(name)
            if number is None and name.endswith("@v1"):  # the id of an array's first version has no suffix
                number = self.ids.find(name.removesuffix("@v1"))
            chosen = self.versions_at(name)
            if number is not None:
                chosen = [number, *(each for each in chosen if self.ids[each].startswith(f"{name}@v"))]
            found += chosen or meant(self, name) or [self._unknown(name)]
        numbers = np.unique(np.array(found, np.int32))
        if kind is not None:
            for number in numbers.tolist():
                if KINDS[self.kinds[number]] != kind:
                    raise BadType(
                        f"{self.ids[number]!r} is an {KINDS[self.kinds[number]]}, and an {kind} belongs there"
                    )
        return numbers

    def _unknown(self, name: str) -> NoReturn:
        few = () if len(self) > _MANY else (*self.ids, *self.artifacts)
        raise UnknownName.of("vertex", name, few)

    # --- versions of an artifact

    def versions(self, artifact: str) -> list[str]:
        """The snapshots of an artifact, oldest first.

        They are the entities whose property `artifact` has that name, or that are a specializationOf it.
        """
        return self.ids.of(self.versions_at(artifact))

    def versions_at(self, artifact: str) -> list[int]:
        """The indices of an artifact's snapshots, oldest first."""
        named = self.artifacts.get(artifact, [])
        general = self.ids.find(artifact)
        special, wide = self.edge_table.of(_VERSION_OF)
        found = {*named, *(special[wide == general].tolist() if general is not None else ())}
        return sorted(found, key=self._age)

    def _age(self, number: int) -> tuple[int, int]:
        """The sort key of versions: version numbers if there are any, else ancestors first."""
        version = self.properties.get(number, "version")
        return version if counts(version) else -1, int(self._place[number])

    @cached_property
    def artifacts(self) -> dict[str, list[int]]:
        """The artifacts by name, with the indices of their versions."""
        rows = np.flatnonzero(self.kinds == ENTITY).astype(np.int32)
        found: dict[str, list[int]] = {}
        if self.properties.called("artifact"):
            for row, name in zip(rows.tolist(), self.properties.column("artifact", rows), strict=True):
                if isinstance(name, str):
                    found.setdefault(name, []).append(row)
        return found

    @cached_property
    def _place(self) -> NDArray[np.int64]:
        """The position of each vertex in an order with ancestors first. Vertices in cycles come last."""
        place = np.arange(len(self), dtype=np.int64) + len(self)
        place[self.ancestry.order] = np.arange(len(self.ancestry.order))
        return place

    @cached_property
    def following_revisions(self) -> Graph:
        """The same graph, in which a version is also derived from the version that it replaced without reading it."""
        return Graph(
            self.ids, self.kinds, self.edge_table, self.properties, self.edge_properties, lenient=True,
            prefixes=self.prefixes, derivations=(DERIVED, REVISION),
        )  # fmt: skip

    # --- asking

    def ancestors(self, names: Names) -> list[str]:
        """List everything that these came from, oldest first, without themselves.

        A version that replaced another without reading it did not come from it, except in `following_revisions`.
        """
        return self._reached(names, backward=True)

    def descendants(self, names: Names) -> list[str]:
        """List everything that came from these, oldest first, without themselves."""
        return self._reached(names, backward=False)

    def _reached(self, names: Names, backward: bool) -> list[str]:
        starts = self.numbers(names)
        mask = self.ancestry.reach(starts, backward)
        mask[starts] = 0
        return self.ids.of(self.in_order(np.flatnonzero(mask)))

    def in_order(self, numbers: NDArray[np.integer[Any]]) -> list[int]:
        """Sort the vertices, ancestors first."""
        found: list[int] = numbers[np.argsort(self._place[numbers], kind="stable")].tolist()
        return found

    def shortest_path(self, start: str, end: str) -> list[tuple[str, str, str]] | None:
        """Return the edges of a shortest path back from `start` to `end`; None if there is none."""
        return reach.shortest_path(self, start, end)

    def paths(self, start: str, end: str, most: int = 10_000) -> Iterator[list[tuple[str, str, str]]]:
        """Yield all paths back from `start` to `end`. Raise TooLarge after more than `most`."""
        return reach.paths(self, start, end, most)

    def blame(self, names: Names) -> dict[str, list[str]]:
        """Return the agents responsible for these or their ancestors, each with what it is responsible for."""
        mask = self.ancestry.reach(self.numbers(names), True).astype(np.bool_)
        table = self.edge_table
        rows = np.flatnonzero(np.isin(table.relation, (ASSOCIATED, ATTRIBUTED)) & mask[table.source])
        found: dict[str, set[int]] = {}
        for source, target in zip(table.source[rows].tolist(), table.target[rows].tolist(), strict=True):
            found.setdefault(self.ids[target], set()).add(source)
        return {
            agent: self.ids.of(self.in_order(np.array(sorted(things), np.int64)))
            for agent, things in sorted(found.items())
        }

    def segment(
        self,
        src: Names | None = None,
        dst: Names | None = None,
        exclude: object = None,
        expand: object = None,
        match: object = None,
        inputs: bool = False,
    ) -> Segment:
        """Find how `dst` was made from `src` (PgSeg); without `src`, how `dst` was made.

        The segment holds both, the vertices on paths from `dst` back to `src`, those on similar paths (equally long;
        with `match`, also with equal values of these properties at each step), the siblings made on the way, and the
        agents involved. `exclude` removes: names of PROV relations, boundaries (`who`, `when`, `where`, `what`,
        `beyond`, `on_edges` of `whence.graph`), functions of a vertex, or a list of these. `expand=2` adds vertices up
        to two activities further back from `src` and `dst`; `expand={"model": 2}` from these. `Segment.adjust` does the
        same to an existing segment. Inputs of the activities on the way that are on none of these paths (code, say) are
        left out, as `Segment.left_out` lists; `inputs=True` adds them.
        """
        from whence.graph.segment import Query, induce

        query = Query.of(self, src, dst, match)
        found = induce(query)
        found = found if exclude is None and expand is None else found.adjust(exclude=exclude, expand=expand)
        return found.with_inputs() if inputs else found

    def induced(self, names: Names) -> Segment:
        """Return these vertices with all edges between them, as a segment."""
        from whence.graph.segment import subgraph

        return subgraph(self, self.numbers(names))

    @cached_property
    def agents_of(self) -> dict[int, tuple[int, ...]]:
        """The agents of each vertex that has any: those it was associated with or attributed to."""
        found: dict[int, set[int]] = {}
        for code in (ASSOCIATED, ATTRIBUTED):
            for source, target in zip(*(each.tolist() for each in self.edge_table.of(code)), strict=True):
                found.setdefault(source, set()).add(target)
        return {vertex: tuple(sorted(agents)) for vertex, agents in found.items()}
