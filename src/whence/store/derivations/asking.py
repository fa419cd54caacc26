"""Questions about cells, as people ask them: by the names of arrays and files, of versions or of the latest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from whence.errors import BadCells, BadType, NoLineage
from whence.selection import Selection
from whence.store.answers import Answers
from whence.store.derivations.first import Hunt
from whence.store.derivations.walk import Direction, Lineage, plan
from whence.store.values import name_of
from whence.words import counted

if TYPE_CHECKING:
    from whence.store import Store


def meant(store: Store, name: str) -> str:
    """The dataset that a name stands for: itself, or of a file the version that it was when it was last seen."""
    name = name_of(name)
    if store.reader.has(name):
        return name
    from whence.store.prov import finding

    with store.database.read() as connection:
        return finding.dataset_meant(connection, name) or name  # the question itself says that it is unknown


def latest(store: Store, name: str) -> str:
    """The same, and of an array with versions the latest one."""
    (found,) = store.reader.called([meant(store, name)])
    return found


def walk(
    store: Store, direction: Direction, name: str, cells: object, to: str | None, above: float | None, lineage: Lineage
) -> Selection | Answers:
    """Where cells came from, or went: the cells of one dataset, or of every one where the walk ends."""
    name, to = meant(store, name), None if to is None else meant(store, to)
    given = _all_cells(store, name, direction) if cells is None else cells
    try:
        found = store.reader.ask(name, given, lambda graph: plan(graph, name, direction, to, above, lineage))
    except NoLineage:
        whole = _whole(store, name, direction, to)
        if whole is None:
            raise
        return whole
    if to is not None:
        (end,) = found.values()
        return end.noted(found.notes) if found.notes else end
    if list(found) == [name]:
        whole = _whole(store, name, direction, None)
        if whole is not None:
            return whole
    return found


def _all_cells(store: Store, name: str, direction: Direction) -> str:
    """What stands for all cells of something that has but one, such as a file; of an array they have to be said."""
    shape = store.reader.shapes((name,))[name]
    if shape:
        axes = counted(len(shape), "axis", "axes")
        said = f"log.{direction}({name!r}, '...') for all"
        raise BadCells(f"say which cells of {name!r} are meant, which has {axes}: {said}")
    return "..."


def _whole(store: Store, name: str, direction: Direction, to: str | None) -> Selection | Answers | None:
    """The answer about a file: it has no cells, but activities that made and used it; None if it is not a file."""
    from whence.store.prov import finding

    with store.database.read() as connection:
        if not finding.is_version(connection, name):
            return None
    if to is None:
        from whence.store.prov.asking import whole

        return whole(store, name, direction)
    reach = store.graph.ancestors if direction == "backward" else store.graph.descendants
    return store.reader.all_cells(to) if to in reach(name) else None


def first(
    store: Store, name: str, predicate: Callable[[Any], Any], values: Mapping[str, Any], lineage: Lineage
) -> Answers:
    """The earliest cells along the lineage for which a condition holds."""
    given = {latest(store, key): array for key, array in values.items()}

    def holds(dataset: str) -> Selection | None:
        array = given.get(dataset)
        array = store.tracker.array_of(dataset) if array is None else array
        return None if array is None else store.reader.selected(dataset, predicate(array))

    start = latest(store, name)
    cells = holds(start)
    if cells is None:
        raise BadType(f"the values of {name!r} are not known here: give them, values={{{name!r}: array}}")
    return store.reader.ask(
        start, cells, lambda graph: Hunt(plan(graph, start, "backward", None, None, lineage), holds)
    )
