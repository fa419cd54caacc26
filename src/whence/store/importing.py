"""Taking a graph into the log: its vertices become entities, activities and agents, its edges rows or statements."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from whence.errors import BadGraph, Redefined
from whence.graph import Graph
from whence.graph.model import KINDS
from whence.store import schema as t
from whence.store.catalog import _insert
from whence.store.clock import now
from whence.store.records import counted
from whence.store.values import name_of, plain

if TYPE_CHECKING:
    from whence.store.log import Log

# Relations with a table of their own, and the columns that hold their two ends.
_TABLES = {
    "used": (t.used, "activity", "entity"),
    "wasGeneratedBy": (t.was_generated_by, "entity", "activity"),
    "wasDerivedFrom": (t.was_derived_from, "generated", "used"),
    "wasAssociatedWith": (t.was_associated_with, "activity", "agent"),
    "wasAttributedTo": (t.was_attributed_to, "entity", "agent"),
}
_STARTED, _ENDED = ("prov:startTime", "started"), ("prov:endTime", "ended")
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


def add_graph(log: Log, graph: Graph, prefixes: Mapping[str, str] | None = None) -> Imported:
    """Record a graph: all of it, or, on any error, nothing. What is there already is not recorded again.

    An id that the log knows with other values of a property is an error, Redefined.
    """
    vertices, edges = graph.records()
    for name, kind, _ in vertices:
        name_of(name, kind)
    with log._database.write("import into") as connection:
        for prefix, uri in (prefixes or {}).items():
            _prefix(connection, prefix, uri)
        taker = _Taker(connection)
        for name, kind, properties in vertices:
            taker.vertex(name, kind, plain(_listed(properties), f"a property of {name!r}"))
        for source, relation, target, properties in edges:
            taker.edge(source, relation, target, plain(_listed(properties), f"an attribute of {relation}"))
        return taker.finish()


def prefixes_of(log: Log) -> dict[str, str]:
    """What prefixes in the names of a log mean, as far as documents that were imported told."""
    with log._database.read() as connection:
        return {row.prefix: row.uri for row in connection.execute(sa.select(t.prefixes))}


def _listed(properties: Mapping[str, Any]) -> Row:
    """Several values of one property are not a list, which has an order."""
    return {
        name: {"$": "values", "value": list(value)} if isinstance(value, tuple) else value
        for name, value in properties.items()
    }


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

    def _known(self) -> dict[str, tuple[str, int, Row]]:
        """What the log has, by the ids of its graph."""
        found: dict[str, tuple[str, int, Row]] = {}
        e, g = t.entities.c, t.agents.c
        for agent in self.connection.execute(sa.select(g.id, g.name, g.kind, g.properties).order_by(g.id.desc())):
            found[agent.name] = ("agent", agent.id, {"name": agent.name, "kind": agent.kind, **agent.properties})
        for row in self.connection.execute(sa.select(t.activities)):
            own = {"command": row.name, "started": row.started, "ended": row.ended, **row.args, **row.properties}
            found[row.identifier or f"{row.name}#{row.id}"] = ("activity", row.id, own)
        for entity in self.connection.execute(sa.select(e.id, e.name, e.kind, e.created, e.properties)):
            own = {"kind": entity.kind, "created": entity.created, **entity.properties}
            found[entity.name] = ("entity", entity.id, own)
        return found

    def vertex(self, name: str, kind: str, properties: Row) -> None:
        known = self.known.get(name)
        if known is not None:
            if known[0] != kind:
                raise Redefined(f"{name!r} is an {known[0]} in the log, and an {kind} in what is imported: rename it")
            for key, value in properties.items():
                if key in known[2] and known[2][key] != value and not _same_time(known[2][key], value):
                    raise Redefined(
                        f"{name!r} is in the log with {key} = {known[2][key]!r}, and is imported with {value!r}: "
                        "rename one of them"
                    )
            self.ids[name] = (kind, known[1])
            return
        self.counts[kind] += 1
        own = dict(properties)
        if kind == "entity":
            row = {"name": name, "kind": str(own.pop("kind", "entity")), "shape": [], "properties": own}
            row["created"] = str(own.pop("created", self.time))
            number = _insert(self.connection, t.entities, row)
            self._snapshot(number, own)
        elif kind == "agent":
            if own.get("name") == name:
                del own["name"]
            row = {"name": name, "kind": str(own.pop("kind", "agent")), "properties": own}
            number = _insert(self.connection, t.agents, row)
        else:
            started, ended = (_moment(own, names) for names in (_STARTED, _ENDED))
            row = {
                "name": str(own.get("command", name))[:400].strip() or name, "args": {}, "properties": own,
                "started": started or ended or self.time, "ended": ended or started or self.time, "identifier": name,
            }  # fmt: skip
            number = _insert(self.connection, t.activities, row)
        self.ids[name] = (kind, number)

    def _snapshot(self, entity: int, properties: Row) -> None:
        """A version of a file that is described as the log describes them is one."""
        match properties:
            case {"artifact": str(artifact), "version": int(version), "sha256": str(hash)}:
                of = t.snapshots.c
                taken = sa.select(of.entity).where((of.artifact == artifact) & (of.version == version))
                if self.connection.execute(taken).first() is None:
                    values = {"entity": entity, "artifact": artifact, "version": version, "hash": hash}
                    self.connection.execute(t.snapshots.insert().values(**values))

    def edge(self, source: str, relation: str, target: str, properties: Row) -> None:
        (source_kind, one), (target_kind, other) = self.ids[source], self.ids[target]
        new = False
        if relation in _TABLES:
            new = self._row(relation, one, other)
        if relation not in _TABLES or properties:
            ends = (relation, source_kind, one, target_kind, other)
            if (*ends, _text(properties)) not in self._described():
                self._described().add((*ends, _text(properties)))
                new = True
                columns = ("relation", "source_kind", "source", "target_kind", "target")
                values = {**dict(zip(columns, ends, strict=True)), "properties": properties}
                self.connection.execute(t.statements.insert().values(**values))
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
        self.connection.execute(table.insert().values(**values))
        return True

    def _position(self, relation: str, table: sa.Table, activity: int) -> int:
        key = (relation, activity)
        if key not in self.places:
            last = sa.select(sa.func.max(table.c.position)).where(table.c.activity == activity)
            found = self.connection.execute(last).scalar_one_or_none()
            self.places[key] = -1 if found is None else int(found)
        self.places[key] += 1
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
        return Imported(counts["entity"], counts["activity"], counts["agent"], counts["relation"])


def _text(properties: Row) -> str:
    return json.dumps(properties, sort_keys=True)


def _moment(properties: Row, names: Iterable[str]) -> str | None:
    """The time that a property tells, as the catalog writes it; the property is then no longer needed."""
    for name in names:
        if name in properties:
            value = properties.pop(name)
            try:
                moment = dt.datetime.fromisoformat(str(value))
            except ValueError:
                raise BadGraph(f"{name} is {value!r}, which is no time such as 2026-01-31T12:00:00Z") from None
            moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
            return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return None


def _same_time(one: object, other: object) -> bool:
    try:
        return dt.datetime.fromisoformat(str(one)) == dt.datetime.fromisoformat(str(other))
    except (TypeError, ValueError):
        return False
