"""Activities of a project: what a program or a person did, used and generated."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa

from whence.errors import BadType, Redefined, StoreError, UnknownName
from whence.relation import Relation
from whence.store.catalog import schema as t
from whence.store.catalog import statements
from whence.store.catalog.clock import now
from whence.store.recording import artifacts
from whence.store.recording.artifacts import Content, Gone
from whence.store.recording.files import Files
from whence.store.recording.writer import Prepared, commit, prepare
from whence.store.records import Operation
from whence.store.values import name_of, plain

if TYPE_CHECKING:
    from whence.store import Store

Thing = str | os.PathLike[str]


class Activity:
    """An activity, recorded when its block ends; `Log.activity` makes one.

    If the block fails, the activity is recorded, too, with the error as its property `error`.
    """

    def __init__(self, store: Store, name: str, command: str | None, agent: str | None, properties: Mapping[str, Any]):
        store.database.require_writable()
        self.name = name_of(name, "activity")
        self.id: str | None = None  # in the graph; set when it is recorded
        self.outputs: dict[str, str] = {}  # ids in the graph by name; set when it is recorded
        self.inputs: dict[str, str] = {}
        self._store = store
        self._agent = None if agent is None else name_of(agent, "agent")
        self._project = artifacts.project_of(store.where)
        self._properties: dict[str, Any] = {"command": name if command is None else command}
        self._used: dict[str, Content | None] = {}  # by name; None: a dataset of the log
        # By name: the path of a file, a content, or None for a dataset; and the inputs it was derived from.
        self._generated: dict[str, tuple[str | Content | None, tuple[str, ...]]] = {}
        self._copies: dict[str, str] = {}  # generated datasets, and the dataset that each is a copy of
        self._removed: dict[str, Gone] = {}
        self.removed: dict[str, str] = {}  # removed files with their version, if known
        self.started = now()  # code that records an activity afterwards sets it to the real start
        self._ended: str | None = None
        self._files: Files | None = None
        self.note(**properties)

    def note(self, **properties: Any) -> Self:
        """Add properties to the activity, such as parameters and measures."""
        self._require_open()
        self._properties.update(plain(properties, f"a property of {self.name!r}"))
        return self

    def used(self, *things: Thing) -> Self:
        """Record what the activity reads: datasets by name, or files with their current content."""
        self._require_open()
        for thing in things:
            key, is_file = self._meant(thing)
            if key not in self._used:
                self._used[key] = artifacts.content_of(thing, self._project) if is_file else None
        return self

    def used_content(self, content: Content) -> Self:
        """Record that the activity read an artifact when it had this content."""
        self._require_open()
        self._used.setdefault(content.artifact, content)
        return self

    def generated(self, *things: Thing, derived_from: Iterable[Thing] = (), copy_of: str | None = None) -> Self:
        """Record what the activity makes: datasets by name, or files with their content at the end of the block.

        `derived_from` names the inputs that went into these, as a whole, so that questions about cells follow them,
        too. `copy_of` names a dataset that these equal, cell for cell.
        """
        self._require_open()
        if isinstance(derived_from, (str, os.PathLike)):
            derived_from = (derived_from,)
        sources = tuple(self._meant(each)[0] for each in derived_from)
        for source in sources:
            if source not in self._used:
                raise UnknownName.of("thing used by this activity called", source, self._used)
        for thing in things:
            key, is_file = self._meant(thing, may_come=True)
            self._generated[key] = (os.fspath(thing) if is_file else None, sources)
            if copy_of is not None:
                self._copies[key] = copy_of
        return self

    def generated_content(self, content: Content) -> Self:
        """Record that the activity made an artifact: a new version, unless the latest has this content."""
        self._require_open()
        self._generated[content.artifact] = (content, ())
        return self

    def removed_file(self, gone: Gone) -> Self:
        """Record that the activity removed a file."""
        self._require_open()
        self._removed[gone.artifact] = gone
        return self

    def _meant(self, thing: object, *, may_come: bool = False) -> tuple[str, bool]:
        """Return the name of a thing, and whether it is a file; a string is a dataset if there is one of that name."""
        if not isinstance(thing, (str, os.PathLike)) or isinstance(os.fspath(thing), bytes):
            raise BadType(f"{self.name!r}: give the name of a dataset or the path of a file, not {thing!r}")
        if isinstance(thing, str):
            with self._store.database.read() as connection:
                known = statements.datasets(connection, thing)
            if known and known[0].kind != "file":
                return thing, False
            if not thing or not (may_come or os.path.exists(thing)):
                raise UnknownName(
                    f"{thing!r} is neither a dataset of the log nor a file: define it with log.array, or check the path"
                )
        return artifacts.artifact_name(thing, self._project), True

    def _require_open(self) -> None:
        if self._ended is not None:
            raise Redefined(f"the activity {self.name!r} has ended and is recorded: begin another with log.activity")

    # --- the block

    def __enter__(self) -> Self:
        """Record files that NumPy and pandas read and write in the block as used and generated."""
        self._files = Files(self._store, self)
        self._files.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._files is not None:
            self._files.stop()
        if error is None:
            self.record()
            return
        self.note(error=f"{type(error).__name__}: {error}")
        self.record(missing=True)

    def record(self, *, missing: bool = False, ended: str | None = None) -> None:
        """Write the activity to the log. With `missing`, generated files that do not exist are left out."""
        self._require_open()
        ended = ended or now()
        outputs: dict[str, Content | None] = {}
        for key, (made, _) in self._generated.items():
            if isinstance(made, str):
                if not Path(made).is_file():
                    if missing:
                        continue
                    raise StoreError(f"{self.name!r} should have generated {made}, which does not exist")
                made = artifacts.content_of(made, self._project)
            outputs[key] = made
        items = self._derivations(outputs)

        def write(connection: sa.Connection) -> None:
            self._write(connection, outputs, items, ended)

        commit(self._store, [item for _, item in items], write)
        self._ended = ended

    def _is_unchanged(self, key: str, content: Content) -> bool:
        """Whether a file was read and has the same content at the end, so that nothing was generated."""
        before = self._used.get(key)
        return before is not None and before.hash == content.hash

    def _derivations(self, outputs: Mapping[str, Content | None]) -> list[tuple[tuple[str, str], Prepared]]:
        datasets = [key for side in (self._used, outputs) for key, content in side.items() if content is None]
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys((*self._used, *outputs), ())
        shapes.update(self._store.reader.shapes(tuple(datasets)))
        whole = [
            ((output, source), prepare(output, source, Relation.whole(shapes[output], shapes[source]), "whole"))
            for output in outputs
            for source in self._generated[output][1]
        ]
        copies = [
            ((output, source), prepare(output, source, Relation.identity(shapes[output])))
            for output, source in self._copies.items()
        ]
        return [*whole, *copies]

    def _write(
        self, connection: sa.Connection, outputs: Mapping[str, Content | None],
        items: list[tuple[tuple[str, str], Prepared]], ended: str,
    ) -> None:  # fmt: skip
        agent = statements.agent_called(connection, self._agent)
        activity = statements.insert(
            connection, t.activities,
            {"name": self.name, "args": {}, "started": self.started, "ended": ended, "properties": self._properties},
        )  # fmt: skip
        connection.execute(t.was_associated_with.insert().values(activity=activity, agent=agent))
        # Inputs come first: a file that is read and rewritten is used in its old version.
        self.inputs = {
            key: key if content is None else artifacts.found(connection, content)[1]
            for key, content in self._used.items()
        }
        gone = {key: artifacts.removed(connection, each) for key, each in self._removed.items()}
        used = statements.ids_of(connection, set(self.inputs.values()))
        self.outputs = {
            key: key if content is None else artifacts.made(connection, content, agent, used.values())[1]
            for key, content in outputs.items()
            if content is None or not self._is_unchanged(key, content)
        }
        ids = statements.ids_of(connection, {*self.inputs.values(), *self.outputs.values()})
        for table, names in ((t.used, self.inputs), (t.was_generated_by, self.outputs)):
            rows = [{"activity": activity, "position": i, "entity": ids[n]} for i, n in enumerate(names.values())]
            if rows:
                connection.execute(table.insert(), rows)
        artifacts.invalidate(connection, [each[0] for each in gone.values() if each is not None], activity)
        self.removed = {key: each[1] for key, each in gone.items() if each is not None}
        edges = [
            dataclasses.replace(item.edge, output=self.outputs[output], input=self.inputs.get(source, source))
            for (output, source), item in items
            if output in self.outputs
        ]
        operation = Operation(activity, self.name, (), (), {}, self.started, ended)
        statements.add_edges(connection, edges, operation)
        self.id = f"{self.name}#{activity}"
