"""The context of an answer: its activities, people, commands and commits.

Only the records of the answer's datasets and activities are read, not the whole project.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from whence.store.answers import ActivityInfo, Circumstances
from whence.store.catalog import schema as t
from whence.store.catalog.statements import label

if TYPE_CHECKING:
    from whence.store import Store

_SOME = 500  # names in one statement


def circumstances(store: Store, names: Sequence[str], labels: Sequence[str]) -> Circumstances:
    """Read the context of the datasets and activities of an answer."""
    with store.database.read() as connection:
        entities = _entities(connection, names)
        unknown = {*names} - {name for name, _ in entities.values()}  # the first version of an array has no suffix
        entities |= _entities(connection, {name.removesuffix("@v1") for name in unknown})
        made = list(_related(connection, entities))
        numbers = _numbers(connection, labels) | {activity for _, activity in made}
        deeds = _deeds(connection, numbers)
        attributed = _agents(connection, t.was_attributed_to, t.was_attributed_to.c.entity, entities)
    named = {id: name for id, (name, _) in entities.items()}
    makers: dict[str, tuple[str, ...]] = {}
    for entity, activity in made:
        makers[named[entity]] = (*makers.get(named[entity], ()), deeds[activity].label)
    people = [who for deed in deeds.values() for who in deed.by] + [who for own in attributed.values() for who in own]
    commits = [deed.commit for deed in deeds.values() if deed.commit]
    return Circumstances(
        {deed.label: deed for deed in deeds.values()}, makers,
        tuple(name for name in names if any(name == of and kind == "file" for of, kind in entities.values())),
        tuple(dict.fromkeys(people)), tuple(dict.fromkeys(commits)),
    )  # fmt: skip


def _batches(values: Iterable[Any]) -> Iterator[list[Any]]:
    ordered = sorted(values)
    for start in range(0, len(ordered), _SOME):
        yield ordered[start : start + _SOME]


def _entities(connection: sa.Connection, names: Iterable[str]) -> dict[int, tuple[str, str]]:
    of = t.entities.c
    return {
        row.id: (row.name, row.kind)
        for some in _batches(names)
        for row in connection.execute(sa.select(of.id, of.name, of.kind).where(of.name.in_(some)))
    }


def _related(connection: sa.Connection, entities: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield (entity, activity) for the activities that generated an entity, and the commits that contain it."""
    made, said = t.was_generated_by.c, t.statements.c
    for some in _batches(entities):
        for row in connection.execute(sa.select(made.entity, made.activity).where(made.entity.in_(some))):
            yield row.entity, row.activity
        influenced = sa.select(said.target, said.source).where(
            said.relation == "wasInfluencedBy", said.source_kind == "activity", said.target_kind == "entity",
            said.target.in_(some),
        )  # fmt: skip
        for row in connection.execute(influenced):
            yield row.target, row.source


def _numbers(connection: sa.Connection, labels: Sequence[str]) -> set[int]:
    """Return the ids of the activities with these labels."""
    of = t.activities.c
    wanted, found = set(labels), set[int]()
    ids = {int(end) for each in wanted if (end := each.rpartition("#")[2]).isdecimal() and len(end) < 18}
    for column, values in ((of.id, ids), (of.identifier, wanted)):
        for some in _batches(values):
            for row in connection.execute(sa.select(of.id, of.name, of.identifier).where(column.in_(some))):
                if label(row.id, row.name, row.identifier) in wanted:
                    found.add(row.id)
    return found


def _agents(connection: sa.Connection, table: sa.Table, of: Any, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for some in _batches(ids):
        chosen = sa.select(of, t.agents.c.name).select_from(table).join(t.agents, t.agents.c.id == table.c.agent)
        for thing, name in connection.execute(chosen.where(of.in_(some)).order_by(of, t.agents.c.id)):
            found[thing] = (*found.get(thing, ()), name)
    return found


def _deeds(connection: sa.Connection, numbers: Iterable[int]) -> dict[int, ActivityInfo]:
    numbers = set(numbers)
    agents = _agents(connection, t.was_associated_with, t.was_associated_with.c.activity, numbers)
    return {
        row.id: _deed(row, agents.get(row.id, ()))
        for some in _batches(numbers)
        for row in connection.execute(sa.select(t.activities).where(t.activities.c.id.in_(some)))
    }


def _deed(row: Any, by: tuple[str, ...]) -> ActivityInfo:
    own: Mapping[str, Any] = {**row.args, **row.properties}
    command = own.get("command")
    return ActivityInfo(
        label(row.id, row.name, row.identifier), row.name,
        command if isinstance(command, str) and command != row.name else None,
        _place(own), by, row.started, _text(own, "git_commit"), _text(own, "message"), _failure(own),
    )  # fmt: skip


def _text(own: Mapping[str, Any], name: str) -> str | None:
    value = own.get(name)
    return value if isinstance(value, str) and value else None


def _place(own: Mapping[str, Any]) -> str | None:
    script, line = own.get("script"), own.get("line")
    if script is None:
        return line if isinstance(line, str) and ":" in line else None
    return str(script) if line is None else f"{script}:{line}"


def _failure(own: Mapping[str, Any]) -> str | None:
    if isinstance(own.get("error"), str):
        return str(own["error"])
    status = own.get("exit_code")
    return f"exit status {status}" if status else None
