"""Questions about cells, by names of arrays, tables and files; a name without a version means the latest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from whence.errors import BadCells, BadType, NoLineage
from whence.selection import Selection
from whence.store.answers import Answer
from whence.store.derivations.adjacency import Direction, Lineage, is_activity, table_called
from whence.store.derivations.first import Hunt
from whence.store.derivations.walk import plan
from whence.store.values import name_of
from whence.words import counted

if TYPE_CHECKING:
    from whence.store import Store


def meant(store: Store, name: str) -> str:
    """Return the dataset that a name means; for a file, the version when it was last seen."""
    name = name_of(name)
    for each in (name, table_called(name)):
        if store.reader.has(each):
            return each
    from whence.store.prov import finding

    with store.database.read() as connection:
        return finding.dataset_meant(connection, name) or name  # an unknown name fails later, in the question


def latest(store: Store, name: str) -> str:
    """Return the dataset that a name means; for an array with versions, the latest."""
    (found,) = store.reader.called([meant(store, name)])
    return found


def walk(
    store: Store, direction: Direction, name: str, cells: object, to: str | None, above: float | None,
    lineage: Lineage, columns: Sequence[str] | None = None,
) -> Selection | Answer:  # fmt: skip
    """Find where cells came from, or went: the cells of `to`, or of every dataset where the walk ends."""
    name, to = meant(store, name), None if to is None else meant(store, to)
    given = _given(store, name, cells, columns, direction)
    by_cells = columns is not None or _names_cells(store, name, cells)
    try:
        found = store.reader.ask(name, given, lambda graph: plan(graph, name, direction, to, above, lineage, by_cells))
    except NoLineage:
        whole = _whole(store, name, direction, to)
        if whole is None:
            raise
        return whole
    if to is not None:
        (end,) = _tables(store, found).values()
        notes = (*found.notes, *(f"not exact: {each}" for each in found.reasons if each not in found.notes))
        return end.noted(notes) if notes else end
    return _completed(store, name, direction, found)


def ask(
    store: Store, direction: Direction, name: str, cells: object, lineage: Lineage, columns: Sequence[str] | None
) -> Answer:
    """Find where cells came from, or went, in every dataset where the walk ends."""
    answer = walk(store, direction, name, cells, None, None, lineage, columns)
    assert isinstance(answer, Answer)
    return answer


def _completed(store: Store, name: str, direction: Direction, found: Answer) -> Answer:
    """Return the answer with a function that looks up its activities and people later."""
    from whence.store.prov.circumstances import circumstances

    is_file = store.reader.is_file(name)
    ends = {} if is_file and list(found) == [name] else found
    how = ""
    if is_file:
        from whence.store.prov.asking import how as how_of

        how = how_of(store, name, direction)
    (asked,) = _tables(store, dict([found.asked])).items()
    return Answer(
        _tables(store, ends), how, found.notes, found.steps, _tables(store, found.reached), found.reasons,
        partial(circumstances, store, tuple(found.reached), found.activities), asked,
    )  # fmt: skip


def _tables(store: Store, found: Mapping[str, Selection]) -> Mapping[str, Selection]:
    """Replace selections of tables by ones that have column names and fetch rows."""
    tables = store.reader.tables(found)
    if not tables:
        return found
    from whence.store.derivations.table_selection import TableSelection

    return {
        name: TableSelection.of_table(each, tables[name][1], partial(store.tables.arrow, tables[name][0]))
        if name in tables and len(each.shape) == 2
        else each
        for name, each in found.items()
    }


def _given(store: Store, name: str, cells: object, columns: Sequence[str] | None, direction: Direction) -> object:
    """Return the cells of a question in a form that `Selection.of` accepts; look up rows of a table by their values."""
    if _is_rows(cells) or columns is not None:
        return _selected_rows(store, name, cells, columns)
    return _all_cells(store, name, direction) if cells is None else cells


def _is_rows(cells: object) -> bool:
    """Whether rows of a table are given by their values."""
    if isinstance(cells, Mapping):
        return True
    return isinstance(cells, Sequence) and len(cells) > 0 and all(isinstance(each, Mapping) for each in cells)


def _names_cells(store: Store, name: str, cells: object) -> bool:
    """Whether cells of a table with one column are given by position. In wider tables, all columns mean the row."""
    return not _is_rows(cells) and any(len(columns) == 1 for _, columns in store.reader.tables([name]).values())


def _selected_rows(store: Store, name: str, rows: Any, columns: Sequence[str] | None) -> Selection:
    """Return the rows of a table with these values, limited to these columns."""
    (latest,) = store.reader.called([name])
    if not store.reader.is_table(latest):
        kind = "a file" if store.reader.is_file(latest) else "an array"
        what = "rows" if columns is None else "columns"
        raise BadCells(f"only tables have {what}; {name!r} is {kind}: say which cells, log.backward({name!r}, '3,1')")
    return store.tables.selected(latest, rows, columns)


def _all_cells(store: Store, name: str, direction: Direction) -> str:
    """Return "..." for a dataset of one cell, such as a file; raise BadCells for others: their cells must be given."""
    shape = store.reader.shapes((name,))[name]
    if shape:
        axes = counted(len(shape), "axis", "axes")
        said = f"log.{direction}({name!r}, '...') for all"
        raise BadCells(f"say which cells of {name!r} are meant, which has {axes}: {said}")
    return "..."


def _whole(store: Store, name: str, direction: Direction, to: str | None) -> Selection | None:
    """Return all cells of `to` if activities lead there from a file, although relations do not; else None."""
    if to is None or not store.reader.is_file(name):
        return None
    reach = store.graph.ancestors if direction == "backward" else store.graph.descendants
    if to not in reach(name):
        return None
    return store.reader.all_cells(to).noted(
        (f"not exact: only that {name!r} and {to!r} are related as a whole is known",)
    )


def first(
    store: Store, name: str, predicate: Callable[[Any], Any], values: Mapping[str, Any], lineage: Lineage
) -> Answer:
    """Find the earliest cells along the lineage for which a condition holds."""
    if not callable(predicate):
        raise BadType(f"log.first takes a function that returns a mask, such as np.isnan, not {predicate!r}")
    given = {latest(store, key): array for key, array in values.items()}

    def holds(dataset: str) -> Selection | None:
        array = given.get(dataset)
        array = store.tracker.array_of(dataset) if array is None else array
        array = _previewed(store, dataset) if array is None else array
        return None if array is None else store.reader.selected(dataset, predicate(array))

    start = latest(store, name)
    cells = holds(start)
    if cells is None:
        raise BadType(f"the values of {name!r} are not known here: give them, values={{{name!r}: array}}")
    return store.reader.ask(
        start, cells, lambda graph: Hunt(plan(graph, start, "backward", None, None, lineage), holds)
    )


def _previewed(store: Store, dataset: str) -> Any:
    """Return the values of a dataset if its preview has every cell; a condition cannot be checked on tiles."""
    from whence.store.recording.previews import saved_preview

    if is_activity(dataset):
        return None
    found = saved_preview(store, dataset, store.reader.shapes((dataset,))[dataset])
    return None if found is None else found.cells
