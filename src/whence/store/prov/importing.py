"""Taking a graph into the log: its vertices become entities, activities and agents, its edges rows or statements."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from whence.errors import BadGraph, Redefined
from whence.graph import Graph
from whence.graph.model import KINDS
from whence.store.catalog import schema as t
from whence.store.catalog.clock import now
from whence.store.recording.bulk import _inserted, _many
from whence.store.values import name_of, plain, several
from whence.words import counted

if TYPE_CHECKING:
    from whence.store import Store

# Relations with a table of their own, and the columns that hold their two ends.
_TABLES = {
    "used": (t.used, "activity", "entity"),
    "wasGeneratedBy": (t.was_generated_by, "entity", "activity"),
    "wasDerivedFrom": (t.was_derived_from, "generated", "used"),
    "wasAssociatedWith": (t.was_associated_with, "activity", "agent"),
    "wasAttributedTo": (t.was_attributed_to, "entity", "agent"),
}
_KINDS = {"entity": t.entities, "activity": t.activities, "agent": t.agents}
_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Imported:
    """How much was new to the log."""

    entities: int
    activities: int
    agents: int
    relations: int

    def __str__(self) -> str:
        parts = ((self.entities, "entity", "entities"), (self.activities, "activity", "activities"),
                 (self.agents, "agent", "agents"), (self.relations, "relation", "relations"))  # fmt: skip
        return "imported " + ", ".join(counted(*part) for part in parts)

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        return asdict(self)


def add_graph(store: Store, graph: Graph, prefixes: Mapping[str, str] | None = None) -> Imported:
    """Record a graph: all of it, or, on any error, nothing. What is there already is not recorded again.

    An id that the log knows with other values of a property is an error, Redefined.
    """
    vertices, edges = graph.records()
    for name, kind, _ in vertices:
        name_of(name, kind)
    with store.database.write("import into") as connection:
        for prefix, uri in (prefixes or {}).items():
            _prefix(connection, prefix, uri)
        taker = _Taker(connection)
        for name, kind, properties in vertices:
            taker.vertex(name, kind, plain(several(properties), f"a property of {name!r}"))
        taker.write_vertices()
        described = {edge[:3] for edge in edges if edge[3]}
        for source, relation, target, properties in edges:
            own = plain(several(properties), f"an attribute of {relation}")
            taker.edge(source, relation, target, own, (source, relation, target) in described)
        return taker.finish()


def prefixes_of(store: Store) -> dict[str, str]:
    """What prefixes in the names of a log mean, as far as documents that were imported told."""
    with store.database.read() as connection:
        return {row.prefix: row.uri for row in connection.execute(sa.select(t.prefixes))}


def _prefix(connection: sa.Connection, prefix: str, uri: str) -> None:
    of = t.prefixes.c
    known = connection.execute(sa.select(of.uri).where(of.prefix == prefix)).scalar_one_or_none()
    if known is None:
        connection.execute(t.prefixes.insert().values(prefix=prefix, uri=uri))
    elif known != uri:
        raise Redefined(f"the prefix {prefix!r} means {known} in this log, and {uri} in the document: rename it there")


class _Taker:
    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.time = now()
        self.ids: dict[str, tuple[str, int]] = {}
        self.counts = dict.fromkeys((*KINDS, "relation"), 0)
        self.known = self._known()
        self.rows: dict[str, set[tuple[int, int]]] = {}
        self.places: dict[tuple[str, int], int] = {}
        self.described: set[tuple[Any, ...]] | None = None
        self.new: dict[str, dict[str, Row]] = {kind: {} for kind in KINDS}  # rows to be inserted, by id
        self.pending: dict[str, list[Row]] = {}  # rows of relations, by their table

    def _known(self) -> dict[str, tuple[str, int, Row]]:
        """What the log has, by the ids of its graph."""
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

    def vertex(self, name: str, kind: str, properties: Row) -> None:
        known = self.known.get(name)
        if known is not None:
            if known[0] != kind:
                raise Redefined(f"{name!r} is an {known[0]} in the log, and an {kind} in what is imported: rename it")
            self._known_vertex(name, kind, known, properties)
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
        self.new[kind][name] = row

    def _known_vertex(self, name: str, kind: str, known: tuple[str, int, Row], properties: Row) -> None:
        """Something that the log has: what is new of it is added, and nothing may contradict."""
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
        self.ids[name] = (kind, known[1])
        table, number = _KINDS[kind], known[1]
        new = {key: value for key, value in columns.items() if key not in known[2] and value is not None}
        added = {key: value for key, value in added.items() if key not in known[2]}
        if added:
            own = self.connection.execute(sa.select(table.c.properties).where(table.c.id == number)).scalar_one()
            new["properties"] = {**own, **added}
        if new:
            self.connection.execute(table.update().where(table.c.id == number).values(**new))

    def write_vertices(self) -> None:
        """Insert what is new; all vertices then have a number."""
        for kind, rows in self.new.items():
            numbers = _inserted(self.connection, _KINDS[kind], list(rows.values()))
            self.ids.update((name, (kind, number)) for name, number in zip(rows, numbers, strict=True))
        of = t.snapshots.c
        taken = {(row.artifact, row.version) for row in self.connection.execute(sa.select(of.artifact, of.version))}
        for name, row in self.new["entity"].items():
            match row["properties"]:  # a version of a file that is described as the log describes them is one
                case {"artifact": str(artifact), "version": int(version), "sha256": str(hash)} | {
                    "artifact": str(artifact),
                    "version": int(version),
                    "fingerprint": str(hash),
                }:
                    if (artifact, version) not in taken and type(version) is int and abs(version) < 2**63:
                        taken.add((artifact, version))
                        values = {"entity": self.ids[name][1], "artifact": artifact, "version": version, "hash": hash}
                        self.pending.setdefault("snapshots", []).append(values)

    def edge(self, source: str, relation: str, target: str, properties: Row, described: bool) -> None:
        """Take an edge; if one with the same ends is `described`, this one is written down beside it."""
        (source_kind, one), (target_kind, other) = self.ids[source], self.ids[target]
        new = False
        if relation in _TABLES:
            new = self._row(relation, one, other)
        if relation not in _TABLES or described:
            ends = (relation, source_kind, one, target_kind, other)
            if (*ends, _text(properties)) not in self._described():
                self._described().add((*ends, _text(properties)))
                new = True
                columns = ("relation", "source_kind", "source", "target_kind", "target")
                values = {**dict(zip(columns, ends, strict=True)), "properties": properties}
                self.pending.setdefault("statements", []).append(values)
        self.counts["relation"] += new

    def _row(self, relation: str, one: int, other: int) -> bool:
        """The row of a relation that has a table; whether it was not there."""
        table, source, target = _TABLES[relation]
        if relation not in self.rows:
            rows = self.connection.execute(sa.select(table.c[source], table.c[target]))
            self.rows[relation] = {(row[0], row[1]) for row in rows}
        if (one, other) in self.rows[relation]:
            return False
        self.rows[relation].add((one, other))
        values: Row = {source: one, target: other}
        if relation in ("used", "wasGeneratedBy"):
            values["position"] = self._position(relation, table, values["activity"])
        elif relation == "wasDerivedFrom":
            values |= {"kind": "imported", "created": self.time}
        self.pending.setdefault(table.name, []).append(values)
        return True

    def _position(self, relation: str, table: sa.Table, activity: int) -> int:
        key = (relation, activity)
        if (relation, -1) not in self.places:
            last = sa.select(table.c.activity, sa.func.max(table.c.position)).group_by(table.c.activity)
            self.places.update(((relation, row[0]), row[1]) for row in self.connection.execute(last))
            self.places[relation, -1] = 0  # they have been read
        self.places[key] = self.places.get(key, -1) + 1
        return self.places[key]

    def _described(self) -> set[tuple[Any, ...]]:
        if self.described is None:
            rows = self.connection.execute(sa.select(t.statements))
            self.described = {
                (row.relation, row.source_kind, row.source, row.target_kind, row.target, _text(row.properties))
                for row in rows
            }
        return self.described

    def finish(self) -> Imported:
        counts = self.counts
        for name, rows in self.pending.items():
            _many(self.connection, t.metadata.tables[name], rows)
        return Imported(counts["entity"], counts["activity"], counts["agent"], counts["relation"])


def _printable(value: object) -> str:
    """A value as text that every catalog can hold, and that is not too long for a name."""
    return "".join(each for each in str(value) if each.isprintable())[:400].strip()


def _text(properties: Row) -> str:
    return json.dumps(properties, sort_keys=True)


def _times(activity: str, properties: Row) -> Row:
    """When an activity started and ended, in UTC as the catalog writes it; None if the properties do not say.

    Properties that say no more are removed. The time as it was written, with its zone, stays under PROV's name.
    """
    found = Row()
    for column, prov in (("started", "prov:startTime"), ("ended", "prov:endTime")):
        given = [name for name in (prov, column) if properties.get(name) is not None]
        value = properties[given[0]] if given else None
        moment = _time(value)
        if given and moment is None:
            raise BadGraph(f"{given[0]} of {activity!r} is {value!r}, which is no time such as 2026-01-31T12:00:00Z")
        found[column] = None if moment is None else moment.strftime(_FORMAT)
        for name in (prov, column):
            properties.pop(name, None)
        if value != found[column]:
            properties[prov] = value
    return found


def _created(properties: Row) -> str | None:
    """When an entity was created, if a property says so as the catalog writes it; the property is then removed."""
    moment = _time(properties.get("created"))
    if moment is None or moment.strftime(_FORMAT) != properties["created"]:
        return None  # another spelling, or no time at all, stays a property as any other
    return str(properties.pop("created"))


def _time(value: object) -> dt.datetime | None:
    """A point in time, in UTC; without a zone it is taken as UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = dt.datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def _same_time(one: object, other: object) -> bool:
    return _time(one) is not None and _time(one) == _time(other)


def _not_none(**values: Any) -> Row:
    return {key: value for key, value in values.items() if value is not None}
