"""Importing a graph: its vertices become entities, activities and agents, its edges become rows or statements."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from whence.errors import BadGraph, Redefined
from whence.graph import Graph
from whence.graph.model import KINDS
from whence.store.catalog import schema as t
from whence.store.catalog.clock import now
from whence.store.prov.importing_edges import EdgeTaker
from whence.store.recording.bulk import insert_numbered, insert_rows
from whence.store.values import name_of, plain, several
from whence.words import counted

if TYPE_CHECKING:
    from whence.store import Store

_KINDS = {"entity": t.entities, "activity": t.activities, "agent": t.agents}
_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"
_SIMPLE = (str, int, bool, type(None))
_SOME = 20_000  # vertices in one batch; their properties are in memory twice
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Imported:
    """How many records were new to the log."""

    entities: int
    activities: int
    agents: int
    relations: int

    def __str__(self) -> str:
        parts = ((self.entities, "entity", "entities"), (self.activities, "activity", "activities"),
                 (self.agents, "agent", "agents"), (self.relations, "relation", "relations"))  # fmt: skip
        return "imported " + ", ".join(counted(*part) for part in parts)

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return asdict(self)


def add_graph(store: Store, graph: Graph, prefixes: Mapping[str, str] | None = None) -> Imported:
    """Record a graph in one transaction. What is in the log already is not recorded again.

    Raise Redefined if the log has an id with other values of a property.
    """
    kinds = [KINDS[kind] for kind in graph.kinds.tolist()]
    for name, kind in zip(graph.ids, kinds, strict=True):
        name_of(name, kind)
    # Vertices in the log may get more edges, so `removing` makes readers read the whole graph again.
    with store.database.write("import into", removing=True) as connection:
        for prefix, uri in (prefixes or {}).items():
            _prefix(connection, prefix, uri)
        taker = _VertexWriter(connection, len(graph))
        for start in range(0, len(graph), _SOME):
            numbers = np.arange(start, min(start + _SOME, len(graph)), dtype=np.int32)
            for number, properties in zip(numbers.tolist(), graph.properties.rows(numbers), strict=True):
                name = graph.ids[number]
                taker.vertex(number, name, kinds[number], _recorded(properties, f"a property of {name!r}"))
            taker.write_vertices()
        relations = EdgeTaker(connection, graph, taker.numbers, taker.time).take()
        counts = taker.counts
        return Imported(counts["entity"], counts["activity"], counts["agent"], relations)


def prefixes_of(store: Store) -> dict[str, str]:
    """Return the URIs of the prefixes in names, from the imported documents."""
    with store.database.read() as connection:
        return {row.prefix: row.uri for row in connection.execute(sa.select(t.prefixes))}


def _prefix(connection: sa.Connection, prefix: str, uri: str) -> None:
    of = t.prefixes.c
    known = connection.execute(sa.select(of.uri).where(of.prefix == prefix)).scalar_one_or_none()
    if known is None:
        connection.execute(t.prefixes.insert().values(prefix=prefix, uri=uri))
    elif known != uri:
        raise Redefined(f"the prefix {prefix!r} means {known} in this log, and {uri} in the document: rename it there")


class _VertexWriter:
    """Imports vertices: new ones are inserted in batches, those in the log are compared."""

    def __init__(self, connection: sa.Connection, count: int) -> None:
        self.connection = connection
        self.time = now()
        self.numbers = np.zeros(count, np.int64)  # the id in the catalog of each vertex
        self.counts: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.known = self._known()
        of = t.snapshots.c
        self.taken = {(row.artifact, row.version) for row in connection.execute(sa.select(of.artifact, of.version))}
        self.new: dict[str, list[tuple[int, Row]]] = {kind: [] for kind in KINDS}  # vertices to insert

    def _known(self) -> dict[str, tuple[str, int, Row]]:
        """Return the vertices in the log by their ids in its graph."""
        found: dict[str, tuple[str, int, Row]] = {}
        e, g = t.entities.c, t.agents.c
        for agent in self.connection.execute(sa.select(g.id, g.name, g.kind, g.properties).order_by(g.id.desc())):
            found[agent.name] = ("agent", agent.id, {"name": agent.name, "kind": agent.kind, **agent.properties})
        for row in self.connection.execute(sa.select(t.activities)):
            own = {"command": row.name, **_not_none(started=row.started, ended=row.ended), **row.args, **row.properties}
            found[row.identifier or f"{row.name}#{row.id}"] = ("activity", row.id, own)
        for entity in self.connection.execute(sa.select(e.id, e.name, e.kind, e.created, e.properties)):
            own = {"kind": entity.kind, **_not_none(created=entity.created), **entity.properties}
            found[entity.name] = ("entity", entity.id, own)
        return found

    def vertex(self, number: int, name: str, kind: str, properties: Row) -> None:
        known = self.known.get(name)
        if known is not None:
            if known[0] != kind:
                raise Redefined(f"{name!r} is an {known[0]} in the log, and an {kind} in what is imported: rename it")
            self._known_vertex(name, kind, known, properties)
            self.numbers[number] = known[1]
            return
        self.counts[kind] += 1
        own = dict(properties)
        if kind == "entity":
            row: Row = {
                "name": name,
                "kind": _printable(own.pop("kind", "entity")) or "entity",
                "shape": [],
                "created": _created(own),
            }
            row["properties"] = own
        elif kind == "agent":
            if own.get("name") == name:
                del own["name"]
            row = {"name": name, "kind": _printable(own.pop("kind", "agent")) or "agent", "properties": own}
        else:
            row = {
                "name": _printable(own.get("command", name)) or name, "args": {}, "properties": own,
                **_times(name, own), "identifier": name,
            }  # fmt: skip
        self.new[kind].append((number, row))

    def _known_vertex(self, name: str, kind: str, known: tuple[str, int, Row], properties: Row) -> None:
        """Add new properties to a vertex of the log; raise Redefined if a property has another value."""
        added, columns = {key: value for key, value in properties.items() if value is not None}, Row()
        if kind == "activity":
            columns = {key: value for key, value in _times(name, added).items() if value is not None}
        elif kind == "entity" and "created" not in known[2]:
            columns = {"created": _created(added)}
        for key, value in {**added, **columns}.items():
            if key in known[2] and known[2][key] != value and not _same_time(known[2][key], value):
                raise Redefined(
                    f"{name!r} is in the log with {key} = {known[2][key]!r}, and is imported with {value!r}: "
                    "rename one of them"
                )
        table, number = _KINDS[kind], known[1]
        new = {key: value for key, value in columns.items() if key not in known[2] and value is not None}
        added = {key: value for key, value in added.items() if key not in known[2]}
        if added:
            own = self.connection.execute(sa.select(table.c.properties).where(table.c.id == number)).scalar_one()
            new["properties"] = {**own, **added}
        if new:
            self.connection.execute(table.update().where(table.c.id == number).values(**new))

    def write_vertices(self) -> None:
        """Insert the new vertices so far, which gives them ids in the catalog."""
        for kind, new in self.new.items():
            if not new:
                continue
            columns = tuple(new[0][1])
            rows = [tuple(row[name] for name in columns) for _, row in new]
            ids = insert_numbered(self.connection, _KINDS[kind], columns, rows)
            self.numbers[[number for number, _ in new]] = ids
            if kind == "entity":
                self._write_versions([(id, row["properties"]) for id, (_, row) in zip(ids, new, strict=True)])
            new.clear()

    def _write_versions(self, entities: list[tuple[int, Row]]) -> None:
        """Record entities with the properties of a version of a file as such versions."""
        found = []
        for id, properties in entities:
            artifact, version = properties.get("artifact"), properties.get("version")
            hashes = [properties[name] for name in ("sha256", "fingerprint") if isinstance(properties.get(name), str)]
            is_version = isinstance(artifact, str) and type(version) is int and abs(version) < 2**63 and hashes
            if is_version and (artifact, version) not in self.taken:
                self.taken.add((artifact, version))
                found.append((id, artifact, version, hashes[0]))
        insert_rows(self.connection, t.snapshots, ("entity", "artifact", "version", "hash"), found)


def _recorded(properties: Row, where: str) -> Row:
    """Convert properties for the catalog; most need no change."""
    if all(type(value) in _SIMPLE for value in properties.values()):
        return properties
    found: Row = plain(several(properties), where)
    return found


@lru_cache(4096)
def _printable(value: object) -> str:
    """Return a value as a printable string that is short enough for a name."""
    return "".join(each for each in str(value) if each.isprintable())[:400].strip()


def _times(activity: str, properties: Row) -> Row:
    """Return when an activity started and ended, in UTC and in the format of the catalog; None if unknown.

    Properties with the same value are removed. A time in another format, such as with a zone, stays as a property
    with PROV's name.
    """
    found = Row()
    for column, prov in (("started", "prov:startTime"), ("ended", "prov:endTime")):
        given = [name for name in (prov, column) if properties.get(name) is not None]
        value = properties[given[0]] if given else None
        moment = _in_utc(value)
        if given and moment is None:
            raise BadGraph(f"{given[0]} of {activity!r} is {value!r}, which is not a time such as 2026-01-31T12:00:00Z")
        found[column] = None if moment is None else moment.strftime(_FORMAT)
        for name in (prov, column):
            properties.pop(name, None)
        if value != found[column]:
            properties[prov] = value
    return found


def _created(properties: Row) -> str | None:
    """Return the property `created` and remove it, if it has the format of the catalog; else None."""
    moment = _in_utc(properties.get("created"))
    if moment is None or moment.strftime(_FORMAT) != properties["created"]:
        return None  # other values stay a property
    return str(properties.pop("created"))


def _in_utc(value: object) -> dt.datetime | None:
    """Parse a time; without a zone it is UTC. None if it is not a time."""
    if not isinstance(value, str):
        return None
    try:
        moment = dt.datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def _same_time(one: object, other: object) -> bool:
    return _in_utc(one) is not None and _in_utc(one) == _in_utc(other)


def _not_none(**values: Any) -> Row:
    return {key: value for key, value in values.items() if value is not None}
