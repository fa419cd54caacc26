"""Recording tables as datasets: rows by row number, columns by name, and the tables they came from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from whence.relation import Relation
from whence.relation.parts import hash_of
from whence.relation.table_cells import TableRelation
from whence.store.catalog import schema as t
from whence.store.catalog import statements
from whence.store.catalog.clock import now
from whence.store.derivations.adjacency import ROWS, RUN, table_called
from whence.store.recording.copies import saved_table
from whence.store.recording.naming import family_of
from whence.store.recording.writer import Blob, Prepared, commit, prepare
from whence.store.records import Operation
from whence.store.values import name_of

if TYPE_CHECKING:
    from whence.store import Store

KIND = "table"
SMALL = 4096  # bytes; smaller relations are stored in the catalog


@dataclass(frozen=True, slots=True)
class Table:
    """A table to record. `digest` differs if the content does: another content is another version."""

    name: str
    columns: tuple[str, ...]
    rows: int
    digest: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    artifact: str | None = None  # the version of a file or directory that contains it

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.rows, len(self.columns)

    def noted(self, superset: str) -> Table:
        """Return a copy with a note that says why the lineage is a superset."""
        about = {"note": f"may come from only some of these rows: {superset}", "doubt": True}
        return replace(self, properties={**self.properties, **about})

    def described(self) -> dict[str, Any]:
        """Return the properties of the dataset."""
        return {"columns": list(self.columns), "digest": self.digest, **self.properties}


@dataclass(frozen=True, slots=True)
class Origin:
    """A table that another one came from: by a stored relation, or by the run with this id, which answers questions."""

    table: Table
    relation: Relation | None = None
    run: int | None = None
    source: str = ""


def record(
    store: Store, output: Table, origins: Sequence[Origin], activity: int, run: int,
    uncounted: Mapping[str, str | None] | None = None,
) -> str:  # fmt: skip
    """Record the output of a run with the tables it came from; return the name of its dataset.

    `uncounted` are other sources, by name, with the version of their files: the output is derived from these as a whole
    until their rows are counted. Sources without files are listed in its property `lacks`.

    A table with the same content is the same dataset. If the output of the run was recorded before, its properties are
    updated. Derivations that a run answers are replaced by stored relations, or by those of the latest run, whose
    pipeline this program may have. Relations between rows are replaced by relations between cells.
    """
    left = dict(uncounted or {})
    output = replace(output, properties={**output.properties, "lacks": sorted(n for n, v in left.items() if v is None)})
    prepared = [_prepared(output, each) for each in origins]
    for each in (output, *(origin.table for origin in origins)):
        store.forget_name(each.name)

    def write(connection: sa.Connection) -> tuple[str, dict[str, str]]:
        made = _output_of(connection, run, output)
        found = {each.table.name: defined(connection, each.table) for each in origins}
        edges = []
        for each, item in zip(origins, prepared, strict=True):
            stored = item.edge.relation
            edge = statements.Edge(made, found[each.table.name], stored, item.edge.kind)
            if not _known(connection, edge) and not _known_better(connection, edge, each.relation):
                edges.append(edge)
        statements.add_edges(connection, edges, Operation(activity, "", (), (), {}, None, None))
        for artifact in left.values():
            _derive_whole(connection, made, artifact)
        _take_part(connection, t.was_generated_by, activity, made)
        for name in found.values():
            _take_part(connection, t.used, activity, name)
        return made, found

    large = [item for item in prepared if item.edge.relation.data is None]
    made, found = commit(store, large, write)
    latest = {item.edge.relation.hash for item in prepared}
    for origin in origins:
        _remove_coarser(store, made, found[origin.table.name], latest, isinstance(origin.relation, TableRelation))
    _remove_whole(store, made, [each.table.artifact for each in origins if each.table.artifact not in left.values()])
    for each in (output, *(origin.table for origin in origins)):
        store.forget_name(each.name)
    return made


def _output_of(connection: sa.Connection, run: int, output: Table) -> str:
    """Return the dataset of a run's output, with updated properties."""
    document = connection.execute(sa.select(t.runs.c.document).where(t.runs.c.id == run)).scalar_one()
    of = t.entities.c
    known = connection.execute(sa.select(of.properties).where(of.name == document.get("table"))).scalar_one_or_none()
    if known is None:
        made = defined(connection, output)
        connection.execute(t.runs.update().where(t.runs.c.id == run).values(document={**document, "table": made}))
        return made
    made = str(document["table"])
    described = {**known, **output.properties}
    if described != known:
        connection.execute(t.entities.update().where(of.name == made).values(properties=described))
    return made


def defined(connection: sa.Connection, table: Table) -> str:
    """Return the dataset of a table: the version with its content, or a new one."""
    own = name_of(table.name)
    files = sa.select(t.snapshots.c.entity).where(t.snapshots.c.artifact == own).limit(1)
    if connection.execute(files).first() is not None:  # versions of a directory with this name use the same names
        own = table_called(own)
    name, is_new = version_of(connection, own, KIND, table.shape, table.described())
    if is_new and not _is_copy(connection, name, table):
        _derive_whole(connection, name, table.artifact)
    return name


def _is_copy(connection: sa.Connection, name: str, table: Table) -> bool:
    """Whether a table is a frame that was saved to this Parquet file; if so, record the derivation."""
    if table.artifact is None or table.properties.get("format") != "parquet":
        return False
    source = saved_table(connection, table.artifact, table.shape)
    if source is None:
        return False
    item = prepare(name, source, Relation.identity(table.shape), small=SMALL)
    statements.add_edges(connection, [item.edge], None)
    return True


def _derive_whole(connection: sa.Connection, name: str, artifact: str | None) -> None:
    """Record that a table came from files, as a whole, because files have no cells."""
    if artifact is None:
        return
    ids, of = statements.ids_of(connection, {name, artifact}), t.was_derived_from.c
    same = (of.generated == ids[name]) & (of.used == ids[artifact]) & of.relation.is_(None)
    if connection.execute(sa.select(of.id).where(same).limit(1)).first() is None:
        values = {"generated": ids[name], "used": ids[artifact], "kind": "whole", "created": now()}
        connection.execute(t.was_derived_from.insert().values(**values))


def _remove_whole(store: Store, output: str, artifacts: Sequence[str | None]) -> None:
    """Remove derivations as a whole from files whose rows are known now."""
    wanted = {each for each in artifacts if each is not None}
    if not wanted:
        return
    of = t.was_derived_from.c

    def chosen(connection: sa.Connection) -> sa.ColumnElement[bool]:
        ids = statements.ids_of(connection, {output, *wanted})
        used = of.used.in_([ids[each] for each in wanted])
        return (of.generated == ids[output]) & used & of.relation.is_(None) & (of.kind == "whole")

    with store.database.read() as connection:
        if connection.execute(sa.select(of.id).where(chosen(connection)).limit(1)).first() is None:
            return
    with store.database.write(removing=True) as connection:
        connection.execute(t.was_derived_from.delete().where(chosen(connection)))


def version_of(
    connection: sa.Connection, own: str, kind: str, shape: tuple[int, ...], properties: Mapping[str, Any]
) -> tuple[str, bool]:
    """Return the version of a dataset with this property `digest`, or a new one; and whether it is new."""
    of = t.entities.c
    like = own.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    rows = connection.execute(
        sa.select(of.name, of.shape, of.properties).where((of.name == own) | of.name.like(f"{like}@v%", escape="\\"))
    ).all()
    versions = {family_of(name)[1]: (name, shape, known) for name, shape, known in rows if family_of(name)[0] == own}
    for number in sorted(versions, reverse=True):
        name, known_shape, known = versions[number]
        if known.get("digest") == properties["digest"] and tuple(known_shape) == shape:
            return str(name), False
    number = max(versions, default=0) + 1
    name = own if number == 1 else f"{own}@v{number}"
    version = {"artifact": own, "version": number} if number > 1 else {}
    statements.add_dataset(connection, name, kind, shape, {**properties, **version})
    return name, True


def record_given(store: Store, table: Table, file: Blob, relation: Relation, source: str, how: str) -> str:
    """Record a table made from a dataset, with a file of its rows; return the name of the table."""
    started = now()
    item = prepare(table.name, source, relation, small=SMALL)
    store.forget_name(table.name)

    def write(connection: sa.Connection) -> str:
        made = defined(connection, table)
        entity = statements.ids_of(connection, {made})[made]
        of = t.table_rows.c
        if connection.execute(sa.select(of.hash).where(of.entity == entity)).first() is None:
            values = {"entity": entity, "position": 0, "hash": file.hash, "size": file.size}
            connection.execute(t.table_rows.insert().values(**values))
        edge = statements.Edge(made, source, item.edge.relation)
        if not _known(connection, edge):
            operation = statements.add_operation(connection, how, [source], [made], {}, started, False)
            statements.add_edges(connection, [edge], operation)
        return made

    made = commit(store, [file, *([] if item.edge.relation.data is not None else [item])], write)
    store.forget_name(table.name)
    return made


def record_value(
    store: Store, name: str, value: Any, relation: Relation, source: str, how: str, columns: Sequence[str] | None
) -> str:
    """Record an array, or a frame with these columns, made from a dataset; tracked calls recognise it from now on."""
    from whence.arrays.linking.content import digest_of
    from whence.arrays.linking.frames import array_behind, table_digest

    started = now()
    array = array_behind(value)
    content = table_digest(value) if array is None else digest_of(array)
    properties = {
        "digest": f"{content.hex()} of {source}",
        **({} if columns is None else {"columns": list(columns), "rows_of": source}),
    }
    item = prepare(name, source, relation, small=SMALL)
    store.forget_name(name)

    def write(connection: sa.Connection) -> str:
        kind = "array" if columns is None else KIND
        made, _ = version_of(connection, name, kind, relation.out_shape, properties)
        edge = statements.Edge(made, source, item.edge.relation)
        if not _known(connection, edge):
            operation = statements.add_operation(connection, how, [source], [made], {}, started, False)
            statements.add_edges(connection, [edge], operation)
        return made

    made = commit(store, [] if item.edge.relation.data is not None else [item], write)
    store.forget_name(name)
    with store.database.lock:
        store.tracker.links.source(value, made)
    return made


def _prepared(output: Table, origin: Origin) -> Prepared:
    if origin.relation is not None:
        return prepare(output.name, origin.table.name, origin.relation, ROWS, small=SMALL)
    shapes = {"out_shape": list(output.shape), "in_shape": list(origin.table.shape)}
    document = {"asked": RUN, "run": origin.run, "source": origin.source, **shapes}
    data = json.dumps(document, sort_keys=True).encode()
    stored = statements.Stored(hash_of(data), len(data), 0, 0, data)
    return Prepared(statements.Edge(output.name, origin.table.name, stored, RUN), data)


def _known(connection: sa.Connection, edge: statements.Edge) -> bool:
    ids = statements.ids_of(connection, {edge.output, edge.input})
    of = t.was_derived_from.c
    same = (of.generated == ids[edge.output]) & (of.used == ids[edge.input]) & (of.relation == edge.relation.hash)
    return connection.execute(sa.select(of.id).where(same).limit(1)).first() is not None


def _take_part(connection: sa.Connection, table: sa.Table, activity: int, name: str) -> None:
    """Record that an activity used or generated a dataset, unless it is recorded already."""
    entity = statements.ids_of(connection, {name})[name]
    rows = connection.execute(sa.select(table.c.entity, table.c.position).where(table.c.activity == activity)).all()
    if entity not in {row.entity for row in rows}:
        place = 1 + max((row.position for row in rows), default=-1)
        connection.execute(table.insert().values(activity=activity, position=place, entity=entity))


def _known_better(connection: sa.Connection, edge: statements.Edge, relation: Relation | None) -> bool:
    """Whether a relation between rows is stored already, and the new one has no cells."""
    if isinstance(relation, TableRelation):
        return False
    ids, of = statements.ids_of(connection, {edge.output, edge.input}), t.was_derived_from.c
    same = (of.generated == ids[edge.output]) & (of.used == ids[edge.input]) & (of.kind == ROWS)
    return connection.execute(sa.select(of.id).where(same).limit(1)).first() is not None


def _remove_coarser(store: Store, output: str, input: str, latest: set[str], cells: bool) -> None:
    """Remove derivations that an earlier run answers and, if `cells`, those without cells; `latest` are kept."""
    of = t.was_derived_from.c

    def chosen(connection: sa.Connection) -> sa.ColumnElement[bool]:
        ids = statements.ids_of(connection, {output, input})
        kinds = (RUN, ROWS) if cells else (RUN,)
        same = (of.generated == ids[output]) & (of.used == ids[input])
        return same & of.kind.in_(kinds) & of.relation.not_in(latest)

    with store.database.read() as connection:
        if connection.execute(sa.select(of.id).where(chosen(connection)).limit(1)).first() is None:
            return
    with store.database.write(removing=True) as connection:
        connection.execute(t.was_derived_from.delete().where(chosen(connection)))
        statements.forget_relations(connection)
