"""Links between calls: finding the dataset of an array that is passed to a call, and recording the link."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from whence.arrays.linking.arrivals import Arrival, Change, Seen
from whence.arrays.linking.besides import is_data
from whence.arrays.linking.content import digest_of, is_distinctive
from whence.arrays.linking.frames import array_behind, column_digests, is_frame, table_digest
from whence.arrays.linking.layout import Layout, shown
from whence.arrays.linking.living import Living, root_of
from whence.arrays.linking.making import made_from_nothing
from whence.arrays.linking.numbers import Numbers
from whence.arrays.linking.places import (
    CodeLine,
    UnknownOrigin,
    arrays_held,
    assigned_to,
    caller,
    place_of,
    variable_of,
)
from whence.arrays.linking.tables import Tables, is_distinctive_table
from whence.arrays.recording.calls import Edge
from whence.arrays.tracing._origins import Origins, overwritten
from whence.relation import Relation
from whence.relation.tables import chosen_columns
from whence.selection import Selection
from whence.store.recording.arriving import FOREIGN, OPERATIONS, Arrived, Base, Draft, Handed, Shape, note_of
from whence.store.recording.naming import Names, family_of


class Links:
    """The known arrays, tables and numbers of a program, for one open log."""

    def __init__(self, names: Names) -> None:
        self.living = Living()
        self.numbers = Numbers()
        self.tables = Tables()
        self._names = names
        self._objects: dict[int, tuple[weakref.ref[Any], str, bytes]] = {}
        self._early: dict[int, weakref.ref[Any]] = {}
        self._gave = False  # whether a call has returned results
        self._said: set[tuple[str, int, str]] = set()

    # --- before the call

    def arrived(self, values: Iterable[Any]) -> Handed:
        """Look up the arguments of a call; return them with the line of the call."""
        frame = caller()
        place = place_of(frame)
        if not self._gave:
            self._early = {id(each): weakref.ref(each) for each in arrays_held(frame)}
        among = Living()  # arguments of one call may share memory
        return tuple(self._among(self._one(each, frame), among, frame) for each in values), place

    def _among(self, arrived: Arrived, others: Living, frame: Any) -> Arrived:
        """Link an unknown array to other arguments that share memory with it, or to the array that it is a view of."""
        found = arrived.found
        if found is None or found.how in ("same", "view") or arrived.array is None:
            return arrived
        shared = others.shared(arrived.array)
        if shared is not None and shared.how != "new":
            return replace(arrived, found=shared)
        if shared is not None:
            found = replace(found, parts=(*found.parts, *shared.parts))
        if found.how == "new" and not found.sources and not found.parts:
            root = root_of(arrived.array)
            variable = variable_of(frame, root) if root.size > arrived.array.size else None
            relation = shown(Layout.of(arrived.array), Layout.of(root)) if variable is not None else None
            if variable is not None and relation is not None:
                seen = others.keep(root, "", digest_of(root), result=False, part=False, copy=True)
                base = Base(root, variable, seen, self._suspicious(root, root, frame))
                return replace(arrived, found=Arrival("view", found.digest, ((seen, relation),)), base=base)
        seen = others.keep(arrived.array, "", found.digest, result=False, part=False, copy=True)
        return replace(arrived, found=found, itself=seen)

    def _suspicious(self, value: Any, array: Any, frame: Any) -> bool:
        """Whether an unknown array was probably computed from results of tracked calls: it may have been, and its
        values are not trivial, such as zeros or a range.
        """
        return self._may_be_of_results(value, frame) and self._is_distinctive(value, array)

    @staticmethod
    def _is_distinctive(value: Any, array: Any) -> bool:
        return is_distinctive_table(value) if array is None else is_distinctive(array)

    def _may_be_of_results(self, value: Any, frame: Any) -> bool:
        """Whether an unknown array may have been computed from results of tracked calls.

        It cannot if it existed before any result, if no variable of the program has a result, or if the statement that
        made it used no data of the program.
        """
        known = self._early.get(id(value))
        if not self._gave or (known is not None and known() is value):
            return False
        if not self.living.has_results(root_of(each) for each in arrays_held(frame)):
            return False
        return not made_from_nothing(frame, variable_of(frame, value), self._is_known)

    def suspects(self, number: Any) -> bool:
        """Whether a number that is passed to a call may have been computed from results of tracked calls.

        It cannot if it is a constant of the code, or if the statement that made it used no data of the program.
        """
        if self.numbers.equal_to(number) is not None:
            return True
        frame = caller() if self._gave else None
        if frame is None or any(type(each) is float and each == number for each in frame.f_code.co_consts):
            return False

        def is_computed(item: Any) -> bool:
            return isinstance(item, float) and (is_data(item) or self._is_known(item))

        return not made_from_nothing(frame, variable_of(frame, number), is_computed)

    def _is_known(self, number: Any) -> bool:
        return self.numbers.name_of(number) is not None

    def _one(self, value: Any, frame: Any) -> Arrived:
        array = array_behind(value)
        held = self._held(value, array) if is_frame(value) else None
        if held is not None and held[1] is not None:
            return Arrived(value, array, None, held)
        found = None if array is None else self.living.find(array)
        if held is not None and (found is None or (found.how == "new" and not found.sources)):
            by_columns = self.tables.find(value, held[0], self.living) if value.ndim == 2 else None
            found = by_columns or found or Arrival("new", held[0])
        if found is None:
            return Arrived(value, array, None, held)
        if found.how == "new" and array is not None and not array.ndim and self.numbers.is_foreign(array):
            return Arrived(value, array, replace(found, why=FOREIGN), suspicious=True)
        if (
            found.how == "new"
            and array is not None
            and not array.ndim
            and (number := self.numbers.behind(array)) is not None
        ):
            if (name := self.numbers.equal_to(number)) is not None:  # float(m) of a known m
                seen = Seen(name, Layout.of(array), found.digest, True, weakref.ref(array))
                return Arrived(value, array, Arrival("copy", found.digest, ((seen, None),)), held)
            found = self.living.picked(array, found, {})
            return Arrived(value, array, found, held, variable_of(frame, number), self._gave and found.how == "new")
        variable = variable_of(frame, value) if found.how != "same" else None
        numbers = self.numbers.by_name() if found.how == "new" else {}
        doubtful = found.how == "new" and self._may_be_of_results(value, frame)
        if array is not None and (doubtful or numbers) and not (found.sources or found.parts or found.why):
            found = self.living.picked(array, found, numbers)
        suspicious = doubtful and found.how == "new" and self._is_distinctive(value, array)
        return Arrived(value, array, found, held, variable, suspicious)

    def _held(self, table: Any, array: Any) -> tuple[bytes, str | None]:
        """Return the digest of a table, and its dataset if it is known and unchanged."""
        digest = table_digest(table) if array is None else digest_of(array)
        known = self._objects.get(id(table))
        return digest, known[1] if known is not None and known[0]() is table and known[2] == digest else None

    def table_called(self, table: Any) -> str | None:
        """Return the dataset of a table, if it is known and unchanged."""
        known = self._objects.get(id(table))
        if known is None or known[0]() is not table:  # avoid a digest of an unknown table
            return None
        return self._held(table, array_behind(table))[1]

    def is_linked(self, table: Any) -> bool:
        """Whether a table has rows and columns of known tables."""
        found = self.tables.find(table, b"", self.living) if table.ndim == 2 else None
        return found is not None and bool(found.sources)

    # --- after it

    def input(
        self, label: str, shape: Shape, arrived: Arrived, chosen: str | None, place: CodeLine, draft: Draft,
        links: list[Draft],
    ) -> str:  # fmt: skip
        """Return the dataset of an input, and add operations that link it to others to `links`."""
        found = arrived.found
        if found is None:
            return self._object(label, shape, arrived, chosen, draft)
        for change in found.changes:
            self._changed(change, place, draft)
        if arrived.base is not None:
            self._new_base(arrived.base, label, place, draft)
        sources = [(seen.name, seen.layout.shape, relation) for seen, relation in found.sources]
        if found.how == "same" and (chosen is None or family_of(sources[0][0])[0] == chosen):
            return draft.needs(sources[0][0], shape, there=True)
        digest = found.digest.hex()
        if chosen is not None:
            name, there = self._names.found(chosen, shape, digest)
            draft.needs(name, shape, there=there, digest=digest)
            draft.chosen.add(name)
        else:
            name = draft.needs(self._names.fresh(label, arrived.variable), shape, there=False)
        if found.rest:
            sources.append(self._rest(name, shape, arrived, place, draft))
        if note := note_of(found, [each for each, _, _ in sources], place):
            by_content = found.how in ("copy", "joined", "picked") or found.by_content
            draft.needs(name, shape, there=name in draft.given, note=note, doubt=by_content, line=str(place))
        if sources:
            edges = tuple(
                Edge(0, n, "value", Relation.identity(shape) if relation is None else relation)
                for n, (_, _, relation) in enumerate(sources)
            )
            link = Draft(OPERATIONS[found.how], tuple(each for each, _, _ in sources), (name,), edges)
            for each, own, _ in (*sources, (name, shape, None)):
                link.needs(each, own, there=True)
            links.append(link)
        if arrived.itself is not None:
            arrived.itself.name = name
        for seen, relation in found.parts:  # known arrays that turn out to be views of this one
            part = Draft("view", (name,), (seen.name,), (Edge(0, 0, "value", relation),))
            part.needs(name, shape, there=True)
            part.needs(seen.name, seen.layout.shape, there=True)
            links.append(part)
        if arrived.suspicious and found.how == "new":
            self._warn(label, arrived.variable, place, found.why)
        return name

    def remember(self, name: str, arrived: Arrived) -> None:
        """Remember the array of an input that was recorded and that the call did not change."""
        found = arrived.found
        if (
            arrived.array is not None
            and found is not None
            and (found.how != "same" or found.sources[0][0].name != name)
        ):
            part, copy = found.how == "view", found.how in ("copy", "view", "same")
            self.living.keep(arrived.array, name, found.digest, result=False, part=part, copy=copy)
        if arrived.object is not None:
            before = frozenset(seen.name for seen, _ in found.sources) if found is not None else frozenset()
            self._hold(arrived.value, name, arrived.object[0], before)

    def _rest(
        self, name: str, shape: Shape, arrived: Arrived, place: CodeLine, draft: Draft
    ) -> tuple[str, Shape, Relation]:
        """Return a new source for the unknown columns of a table, with its shape and relation."""
        columns = arrived.found.rest if arrived.found is not None else ()
        own = (shape[0], len(columns))
        called = [str(arrived.value.columns[each]) for each in columns]
        some = ", ".join(map(repr, called[:5])) + (f" and {len(called) - 5} more" if len(called) > 5 else "")
        note = f"holds the columns {some} of {name!r}, which start at {place}: how they were made was not recorded"
        made = draft.needs(
            self._names.fresh(f"{name}_new_columns"), own, there=False, note=note, line=str(place), columns=called
        )
        return made, own, chosen_columns(shape[0], shape[1], list(columns)).inverse

    def output(self, label: str, shape: Shape, chosen: str | None, draft: Draft) -> str:
        """Return the dataset of a result."""
        if chosen is None:
            variable = assigned_to(caller()) if label == draft.operation else None
            said = {} if variable is None else {"variable": variable}  # questions can also use the variable's name
            return draft.needs(self._names.fresh(label), shape, there=False, **said)
        name, there = self._names.made(chosen, shape)
        draft.chosen.add(name)
        if family_of(name)[1] > 1 and (before := self._names.before(name)) is not None:
            draft.revisions[name] = draft.needs(before[0], before[1], there=True)
        return draft.needs(name, shape, there=there)

    def result(self, value: Any, name: str, *, written: bool) -> None:
        """Remember a result that was recorded."""
        self._gave = True
        if isinstance(value, (np.generic, float)):
            self.numbers.keep(value, name)
            return
        array = array_behind(value)
        if array is not None:
            if written:
                self.living.wrote(array)
            digest = digest_of(array)
            self.living.keep(array, name, digest, result=True, part=False, copy=False)
        if is_frame(value):
            self._hold(value, name, table_digest(value) if array is None else digest)

    def source(self, value: Any, name: str) -> None:
        """Remember an array or a table that was read from a file and recorded."""
        array = array_behind(value)
        if array is not None:
            self.living.keep(array, name, digest_of(array), result=False, part=False, copy=False)
        if is_frame(value):
            self._hold(value, name, table_digest(value) if array is None else digest_of(array))

    def around(self, arrived: Arrived, written: str, place: CodeLine) -> Draft | None:
        """If a call wrote to a view, return an operation for the new version of the array that contains the view."""
        found = arrived.found
        if found is None or found.how != "view" or (seen := self.living.kept(found.sources[0][0])) is None:
            return None
        view, array = found.sources[0][1], seen.array()
        if view is None or array is None:
            return None
        cells = view.backward(Selection.all(view.out_shape))
        whole: Origins = {(0, "value"): (Relation.identity(view.in_shape),)}
        origins = overwritten(whole, {(1, "value"): (view.inverse,)}, cells)
        before = seen.name
        name = self._names.next_version(before)
        edges = tuple(Edge(0, n, kind, each) for (n, kind), every in origins.items() for each in every if len(each))
        draft = Draft("written in part", (before, written), (name,), edges)
        draft.needs(before, view.in_shape, there=True)
        draft.needs(written, view.out_shape, there=True)
        draft.needs(name, view.in_shape, there=False, line=str(place))
        draft.revisions[name] = before
        self.living.changed(Change(seen, digest_of(array), ""), name)
        return draft

    def renamed(self, other: Mapping[str, str]) -> None:
        """Rename datasets whose names another program took first."""
        if other:
            self.living.rename(other)
            self.tables.rename(other)
            self.numbers.rename(dict(other))
            self._names.renamed(dict(other))
            self._objects = {k: (ref, other.get(name, name), d) for k, (ref, name, d) in self._objects.items()}

    def _hold(self, value: Any, name: str, digest: bytes, before: frozenset[str] = frozenset()) -> None:
        self.living.keep_columns(value, name)
        if value.ndim == 2 and digest:
            self.tables.keep(value, name, column_digests(value), before)
        key = id(value)
        self._objects[key] = (weakref.ref(value, lambda _: self._objects.pop(key, None)), name, digest)

    def _object(self, label: str, shape: Shape, arrived: Arrived, chosen: str | None, draft: Draft) -> str:
        digest, known = arrived.object or (b"", None)
        if known is not None and (chosen is None or family_of(known)[0] == chosen):
            return draft.needs(known, shape, there=True)
        if chosen is not None:
            name, there = self._names.found(chosen, shape, digest.hex())
            draft.chosen.add(name)
            return draft.needs(name, shape, there=there, digest=digest.hex())
        return draft.needs(self._names.fresh(label, arrived.variable), shape, there=False)

    def _new_base(self, base: Base, label: str, place: CodeLine, draft: Draft) -> None:
        name = base.seen.name = self._names.fresh(base.variable)
        note = note_of(Arrival("new", base.seen.digest), (), place)
        draft.needs(name, base.array.shape, there=False, note=note, line=str(place))
        self.living.keep(base.array, name, base.seen.digest, result=False, part=False, copy=False)
        if base.suspicious:
            self._warn(label, base.variable, place, "")

    def _changed(self, change: Change, place: CodeLine, draft: Draft) -> None:
        seen = change.seen
        if seen.digest == change.digest and not seen.stale:
            return  # another input of the same call recorded it
        before = seen.name
        name = self._names.next_version(before)
        note = f"is what {before!r} became: {change.why} (noticed at {place}), and how was not recorded"
        draft.needs(name, seen.layout.shape, there=False, note=note, line=str(place))
        draft.needs(before, seen.layout.shape, there=True)
        draft.revisions[name] = before
        self.living.changed(change, name)

    def _warn(self, label: str, variable: str | None, place: CodeLine, why: str) -> None:
        key = (place.file, place.line, label)
        if key in self._said:
            return
        self._said.add(key)
        what = f"{label!r}" + (f" ({variable})" if variable not in (None, label) else "")
        warnings.warn_explicit(
            f"{what} starts here: how it was made was not recorded" + (f" ({why})" if why else "")
            + "; if it was computed from the results of tracked calls, that link is lost: compute it in a tracked "
            "function, or record it with log.lineage",
            UnknownOrigin, place.file, place.line,
        )  # fmt: skip
