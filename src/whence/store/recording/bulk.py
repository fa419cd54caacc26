"""Writing many calls in few statements, in microseconds for each call."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from whence.errors import Redefined
from whence.store.catalog import schema as t
from whence.store.catalog import statements
from whence.store.catalog.clock import now
from whence.store.catalog.kinds import Document
from whence.store.recording.naming import family_of, free

Shape = tuple[int, ...]
_EMPTY: dict[type, str] = {dict: "{}", list: "[]"}


@dataclass(slots=True)
class Call:
    """A call to record. `shapes` are those of all its arrays; arrays in `given` may exist already.

    If `operation` is empty, only the arrays are recorded.
    """

    operation: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: dict[str, Shape]
    given: set[str]
    edges: list[tuple[int, int, str, statements.Stored]]  # output, input, kind, relation
    args: dict[str, Any]
    started: str
    reused: bool
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by array
    revisions: Mapping[str, str] = field(default_factory=dict)  # versions, each with the version before
    chosen: Collection[str] = ()  # names chosen by users
    where: Mapping[str, Any] = field(default_factory=dict)  # the script and the line of the call


def add(connection: sa.Connection, calls: Sequence[Call]) -> list[Mapping[str, str]]:
    """Record the calls; return for each the arrays with new names, because another program took the old ones."""
    if not calls:
        return []
    names = {name for call in calls for name in call.shapes}
    present = _present(connection, names)
    renamed = _renamed_outputs(connection, calls, present)
    agent, _ = statements.current_agent(connection)
    time = now()
    fresh: dict[str, Shape] = {}
    for call, other in zip(calls, renamed, strict=True):
        for name, shape in call.shapes.items():
            own = other.get(name, name)
            known = present[own][1] if own in present else fresh.setdefault(own, shape)
            if known != shape:
                raise Redefined(f"{own!r} is already an array of shape {known}, not {shape}: choose another name")
    properties = _properties(calls, renamed)
    entities: list[dict[str, Any]] = [
        {"name": name, "kind": "array", "shape": list(shape), "created": time,
         "properties": {**properties.get(name, {}), **_versioned(name)}}
        for name, shape in fresh.items()
    ]  # fmt: skip
    _describe(connection, {name: own for name, own in properties.items() if name in present})
    ids = {name: id for name, (id, _) in present.items()}
    ids.update(zip(fresh, _inserted(connection, t.entities, entities), strict=True))
    _insert_many(connection, t.was_attributed_to, [{"entity": ids[name], "agent": agent} for name in fresh])
    activities = _inserted(
        connection,
        t.activities,
        [
            {"name": call.operation, "args": call.args, "started": call.started, "ended": time,
             "properties": {"reuse": call.reused, **call.where}}
            for call in calls
            if call.operation
        ],
    )  # fmt: skip
    _insert_many(connection, t.was_associated_with, [{"activity": each, "agent": agent} for each in activities])
    used, generated, derived = [], [], []
    relations: dict[str, statements.Stored] = {}
    numbers = iter(activities)
    for call, other in zip(calls, renamed, strict=True):
        activity = next(numbers) if call.operation else None
        inputs = [ids[other.get(name, name)] for name in call.inputs]
        outputs = [ids[other.get(name, name)] for name in call.outputs]
        used += [{"activity": activity, "position": i, "entity": each} for i, each in enumerate(inputs)]
        generated += [{"activity": activity, "position": i, "entity": each} for i, each in enumerate(outputs)]
        derived += [
            {"generated": ids[other.get(new, new)], "used": ids[other.get(old, old)], "activity": None,
             "kind": "revision", "relation": None, "created": time}
            for new, old in call.revisions.items()
        ]  # fmt: skip
        for output, input, kind, relation in call.edges:
            relations[relation.hash] = relation
            derived.append(
                {"generated": outputs[output], "used": inputs[input], "activity": activity, "kind": kind,
                 "relation": relation.hash, "created": time}
            )  # fmt: skip
    known_relations = statements.relations(connection, relations)
    _insert_many(
        connection,
        t.relations,
        [each.row(time) for hash, each in relations.items() if hash not in known_relations],
    )
    for table, rows in ((t.used, used), (t.was_generated_by, generated), (t.was_derived_from, derived)):
        _insert_many(connection, table, rows)
    return renamed


def _present(connection: sa.Connection, names: set[str]) -> dict[str, tuple[int, Shape]]:
    columns = (t.entities.c.name, t.entities.c.id, t.entities.c.shape)
    ordered = sorted(names)
    found: dict[str, tuple[int, Shape]] = {}
    for start in range(0, len(ordered), 500):
        rows = connection.execute(sa.select(*columns).where(t.entities.c.name.in_(ordered[start : start + 500])))
        found.update({name: (int(id), tuple(shape)) for name, id, shape in rows})
    return found


def _renamed_outputs(
    connection: sa.Connection, calls: Sequence[Call], present: Mapping[str, tuple[int, Shape]]
) -> list[Mapping[str, str]]:
    """Choose new names for arrays whose names another program took after the call."""
    lost = {name for call in calls for name in call.shapes if name in present and name not in call.given}
    if not lost:
        return [{} for _ in calls]
    taken = set(statements.names(connection)) | {name for call in calls for name in call.shapes}
    fresh: dict[str, str] = {}
    chosen = {name for call in calls for name in call.chosen}
    for name in sorted(lost):
        fresh[name] = free(f"{name}@v2" if name in chosen and family_of(name)[1] == 1 else name, taken)
        taken.add(fresh[name])
    # An array keeps its new name in later calls.
    return [{name: fresh[name] for name in call.shapes if name in fresh} for call in calls]


def _properties(calls: Sequence[Call], renamed: Sequence[Mapping[str, str]]) -> dict[str, dict[str, Any]]:
    """Return the properties of each dataset."""
    found: dict[str, dict[str, Any]] = {}
    for call, other in zip(calls, renamed, strict=True):
        for name, own in call.properties.items():
            found.setdefault(other.get(name, name), {}).update(own)
    return found


def _versioned(name: str) -> dict[str, Any]:
    """Return the properties that mark a dataset as a version of an array."""
    own, version = family_of(name)
    return {"artifact": own, "version": version} if version > 1 else {}


def _describe(connection: sa.Connection, properties: Mapping[str, Mapping[str, Any]]) -> None:
    """Add properties to existing datasets."""
    for name, own in properties.items():
        of = t.entities.c
        known = connection.execute(sa.select(of.properties).where(of.name == name)).scalar_one()
        if any(known.get(key) != value for key, value in own.items()):
            connection.execute(t.entities.update().where(of.name == name).values(properties={**known, **own}))


def _inserted(connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> list[int]:
    """Insert rows and return their ids, in order."""
    if not rows:
        return []
    statement = sa.insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return [int(id) for id in connection.execute(statement, rows).scalars()]


def _insert_many(connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(sa.insert(table), rows)


def insert_rows(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: list[tuple[Any, ...]]
) -> None:
    """Insert many rows. For SQLite, bypass SQLAlchemy, which would process each value."""
    if not rows:
        return
    if connection.dialect.name != "sqlite":
        connection.execute(sa.insert(table), [dict(zip(columns, row, strict=True)) for row in rows])
        return
    encode = json.JSONEncoder().encode
    by_column = list(zip(*rows, strict=True))
    for place, name in enumerate(columns):
        if isinstance(table.c[name].type, Document):
            by_column[place] = tuple(encode(value) if value else _EMPTY[type(value)] for value in by_column[place])
    rows = list(zip(*by_column, strict=True))
    marks = ", ".join("?" * len(columns))
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})", rows)


def insert_numbered(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: list[tuple[Any, ...]]
) -> list[int]:
    """Insert many rows of a table with ids and return these, in order. The caller is the only writer."""
    if connection.dialect.name != "sqlite":
        return _inserted(connection, table, [dict(zip(columns, row, strict=True)) for row in rows])
    first = int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(table.c.id), 0))).scalar_one()) + 1
    ids = list(range(first, first + len(rows)))
    insert_rows(connection, table, ("id", *columns), [(id, *row) for id, row in zip(ids, rows, strict=True)])
    return ids
