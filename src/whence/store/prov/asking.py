"""Questions about a project: ancestors, descendants, blame, versions and differences.

The name of a file without a version means the version when it was last seen. Descendants of a file are those of all its
versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import BadType
from whence.graph.compare import Difference, compare
from whence.graph.model import ACTIVITY, GENERATED, USED
from whence.store.answers import Blamed, Listed, size_of
from whence.store.prov.finding import dataset_meant
from whence.store.recording.artifacts import latest_version
from whence.words import in_units

if TYPE_CHECKING:
    from whence.graph import Graph
    from whence.store import Store

Names = str | Iterable[str]
SHOWN_ENDS = 8  # printed inputs or outputs of an activity
COLUMNS = ("name", "kind", "about", "by", "when", "now")


def now_named(store: Store, names: Names) -> list[str]:
    """Return the vertices that names mean; for a file, the version when it was last seen."""
    given = [names] if isinstance(names, str) else list(names)
    with store.database.read() as connection:
        for name in given:
            if not isinstance(name, str):
                raise BadType(f"a name is a string, not {name!r}")
        return [dataset_meant(connection, name) or name for name in given]


def ancestors(store: Store, names: Names, *, revisions: bool = False) -> Listed[str]:
    """Return all vertices that these came from, oldest first."""
    return things(store, _graph(store, revisions).ancestors(now_named(store, names)), "nothing that was recorded")


def descendants(store: Store, names: Names, *, revisions: bool = False) -> Listed[str]:
    """Return all vertices that came from these, oldest first."""
    return things(store, _graph(store, revisions).descendants(names), "nothing that was recorded")


def blame(store: Store, names: Names, *, revisions: bool = False) -> Blamed:
    """Return the agents responsible for these, each with what they did or made."""
    return Blamed(_graph(store, revisions).blame(now_named(store, names)))


def versions(store: Store, name: str) -> Listed[str]:
    """Return the versions of a file, oldest first."""
    graph = store.graph
    first = graph.ids.of(graph.numbers(name).tolist()[:1])[0]
    artifact = graph[first].get("artifact")
    found = graph.versions(artifact) if isinstance(artifact, str) else graph.versions(name) or [first]
    return things(store, found, "none")


def diff(store: Store, one: str, other: str) -> Difference:
    """Compare two activities, or the latest versions of two files."""
    return compare(store.graph, *now_named(store, [one, other]))


def _graph(store: Store, revisions: bool) -> Graph:
    return store.graph.following_revisions if revisions else store.graph


def things(store: Store, ids: Sequence[str], empty: str) -> Listed[str]:
    """List vertices as a table: kind, agents, time, and whether a version of a file is the current one."""
    graph = store.graph
    current: dict[str, str | None] = {}

    def is_now(properties: dict[str, Any], name: str) -> str:
        artifact = properties.get("artifact")
        if not isinstance(artifact, str):
            return ""
        if artifact not in current:
            with store.database.read() as connection:
                current[artifact] = latest_version(connection, artifact)
        return "yes" if current[artifact] == name else "no"

    def row(name: str) -> Sequence[object]:
        number = graph.ids.number(name)
        own = graph.properties.row(number)
        is_activity = graph.kinds[number] == ACTIVITY
        kind = "activity" if is_activity else str(own.get("kind", "entity"))
        agents = ", ".join(graph.ids.of(graph.agents_of.get(number, ())))
        when = str(own.get("started" if is_activity else "created") or "")[:19]
        return name, kind, about(own, is_activity), agents, when, is_now(own, name)

    return Listed(ids, COLUMNS, row, empty)


def about(properties: dict[str, Any], is_activity: bool) -> str:
    """Describe a vertex in a few words: the command of an activity and how it ended, or the size of a file."""
    if is_activity:
        status = properties.get("exit_code")
        failed = f" (exit status {status})" if status else f" ({properties['error']})" if "error" in properties else ""
        return f"{properties.get('command', '')}{failed}"
    size = size_of(properties)
    return "" if size is None else in_units(size)


def how(store: Store, name: str, direction: str) -> str:
    """Say in a sentence which activities made or used a file."""
    graph = store.graph
    number, edges = graph.ids.number(name), graph.edge_table
    backward = direction == "backward"
    near, far = (GENERATED, USED) if backward else (USED, GENERATED)

    def across(numbers: list[int], relation: int) -> list[int]:
        here, there = (edges.source, edges.target) if backward else (edges.target, edges.source)
        found = there[np.flatnonzero((edges.relation == relation) & np.isin(here, numbers))].tolist()
        return list(dict.fromkeys(found))

    activities = across([number], near)
    ends = graph.ids.of(each for each in across(activities, far) if each != number)
    return _how(graph, name, activities, backward, ends)


def _how(graph: Graph, name: str, activities: Sequence[int], backward: bool, ends: Sequence[str]) -> str:
    if not activities:
        return f"{name} is a source: nothing recorded made it" if backward else f"nothing recorded used {name}"
    labels = []
    for each in activities:
        label, command = graph.ids[each], graph.properties.get(each, "command")
        labels.append(f"{label} ({command})" if isinstance(command, str) and command != label else label)
    did, then = ("was generated by", "which used") if backward else ("was used by", "which generated")
    some = ", ".join(ends[:SHOWN_ENDS]) + (f" and {len(ends) - SHOWN_ENDS:,} more" if len(ends) > SHOWN_ENDS else "")
    return f"{name} {did} {', '.join(labels)}, {then} {some or 'nothing that was recorded'}"
