"""The project view: the overview, opened nodes, search, vertices, segments and lists of datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from whence.graph import Graph, who
from whence.graph.boundary import Boundary
from whence.graph.model import ACTIVITY, AGENT, ASSOCIATED, ENTITY, GENERATED, KINDS, USED
from whence.graph.picture.folding import failed
from whence.graph.picture.scene import FOLDED, of_graph
from whence.store.catalog import runs
from whence.store.catalog import schema as t
from whence.ui import filters, previews
from whence.ui.explorer import Explorer, Params, listed, number, text
from whence.ui.names import Names
from whence.ui.overview import Overview, called
from whence.ui.overview import overview as overview_of
from whence.ui.picturing import picture

if TYPE_CHECKING:
    from whence.store import Store

FOUND = 60  # results of a search
NEIGHBOURS = 60  # drawn members of an opened node
PAGE = 100  # members of a list
LOOKED_UP = 400  # files that are checked for rows
FILTERS = ("kinds", "who", "after", "before")


def summary(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Describe the log, for the header of the page and the choice of filters."""
    graph = explorer.graph()

    def make() -> dict[str, Any]:
        kinds, times = counted(explorer.log._store)
        people = np.flatnonzero(graph.kinds == AGENT).tolist()
        return {
            "where": explorer.log.where, "vertices": len(graph), "edges": len(graph.edge_table),
            "kinds": {kind: kinds[kind] for kind in filters.KINDS if kinds[kind]},
            "people": graph.ids.of(people[:500]), "times": times,
            "pipelines": sorted({run.pipeline for run in runs.listed(explorer.log._store)}),
            "values": sorted(explorer.values.files),
        }  # fmt: skip

    return explorer.once("summary", make)


def counted(store: Store) -> tuple[Counter[str], list[str]]:
    """Count vertices by kind, and find the first and the last start time; by SQL, because reading the properties of a
    large project is slow."""
    entities, activities = t.entities.c, t.activities.c
    with store.database.read() as connection:
        found = connection.execute(sa.select(entities.kind, sa.func.count()).group_by(entities.kind)).all()
        done = connection.execute(sa.select(sa.func.count()).select_from(t.activities)).scalar_one()
        ends = [
            connection.execute(sa.select(sa.func.min(column), sa.func.max(column))).one()
            for column in (activities.started, entities.created)
        ]
    kinds = Counter({"activity": int(done)})
    for kind, count in found:
        kinds[kind if kind in filters.KINDS else "other"] += count
    times = [str(each) for pair in ends for each in pair if each is not None]
    return kinds, [min(times), max(times)] if times else []


def warm(explorer: Explorer) -> None:
    """Fill the cache for the first views."""
    overview(explorer, {})
    summary(explorer, {})
    search(explorer, {"q": "\0"})
    explorer.once("kinds", lambda: filters.kind_codes(explorer.graph()))


def overview(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Return the overview of the vertices that pass the filters."""

    def make() -> dict[str, Any]:
        found = _overview(explorer, params)
        shown = sum(node.stands_for for node in found.scene.nodes)
        return {"picture": picture(found.scene), "how": found.how, "shown": shown}

    return explorer.once(("drawn", *(params.get(name, "") for name in FILTERS)), make)


def _overview(explorer: Explorer, params: Params) -> Overview:
    graph = explorer.graph()
    key = ("overview", *(params.get(name, "") for name in FILTERS))
    return explorer.once(key, lambda: overview_of(graph, filters.chosen(graph, params, explorer), _called(explorer)))


def _called(explorer: Explorer) -> Callable[[], tuple[Names, Names]]:
    """Return a cached function for the names of all vertices."""
    return lambda: explorer.once("called", lambda: called(explorer.graph()))


def part(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Open a node of the overview: draw its members, with their inputs and outputs."""
    graph = explorer.graph()
    member = text(params, "of")
    alone = (graph.ids[graph.ids.number(member)],)

    def make() -> dict[str, Any]:
        found = _overview(explorer, params).scene
        own = next((node.ids for node in found.nodes if member in node.ids), alone)
        # Draw only the members around the named one, but count all.
        at = max(0, min(own.index(member) - NEIGHBOURS // 2, len(own) - NEIGHBOURS))
        chosen = own[at : at + NEIGHBOURS]
        shown = _with_neighbours(graph, np.array([graph.ids.number(each) for each in chosen], np.int32))
        segment = graph.induced(graph.ids.of(shown.tolist()))
        scene = of_graph(graph, segment.numbers.tolist(), segment.rows.tolist(), ())
        return {
            "picture": picture(scene), "members": list(own[:PAGE]), "count": len(own),
            "how": f"{len(own):,} of one kind, with their inputs and results."
            + (f" {NEIGHBOURS} of them are drawn." if len(own) > NEIGHBOURS else ""),
        }  # fmt: skip

    return explorer.once(("part", member, *(params.get(name, "") for name in FILTERS)), make)


def _with_neighbours(graph: Graph, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    inside = np.zeros(len(graph), np.bool_)
    inside[numbers] = True
    table = graph.edge_table
    near = np.isin(table.relation, (USED, GENERATED, ASSOCIATED)) | (table.relation == 2)
    around = np.concatenate([table.target[near & inside[table.source]], table.source[near & inside[table.target]]])
    return np.union1d(numbers, np.unique(around)[: 4 * NEIGHBOURS]).astype(np.int32)


def search(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Find vertices by name or command, best matches first."""
    graph, asked = explorer.graph(), text(params, "q").lower()
    names = explorer.once("names", lambda: [name.lower() for name in graph.ids])
    commands = explorer.once("commands", lambda: [(at, each.lower()) for at, each in _commands(graph)])
    ranked: list[tuple[int, int, int]] = []
    for at, name in enumerate(names):
        if asked in name:
            is_start = name.startswith(asked) or name.rpartition("/")[2].startswith(asked)
            ranked.append((0 if name == asked else 1 if is_start else 2, len(name), at))
    ranked += [(3, len(command), at) for at, command in commands if asked in command]
    ranked.sort()
    numbers = list(dict.fromkeys(at for *_, at in ranked))
    return {"found": [_brief(graph, at) for at in numbers[:FOUND]], "count": len(numbers)}


def _commands(graph: Graph) -> list[tuple[int, str]]:
    own = np.flatnonzero(graph.kinds == ACTIVITY).astype(np.int32)
    found = zip(own.tolist(), graph.properties.column("command", own), strict=True)
    return [(at, command) for at, command in found if isinstance(command, str)]


def _brief(graph: Graph, at: int) -> dict[str, Any]:
    kind, own = KINDS[graph.kinds[at]], graph.properties.row(at)
    about = own.get("command") if kind == "activity" else own.get("kind")
    when = own.get("started") or own.get("created")
    return {
        "id": graph.ids[at], "kind": kind, "about": about if isinstance(about, str) else kind,
        "when": when if isinstance(when, str) else None, "failed": kind == "activity" and failed(own),
    }  # fmt: skip


def vertex(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Describe a vertex: properties, versions, what made it and used it, and the views that can open it."""
    graph = explorer.graph()
    at = graph.ids.number(text(params, "id"))
    own, kind = graph.properties.row(at), graph.kinds[at]
    table = graph.edge_table
    out = np.flatnonzero(table.source == at)
    into = np.flatnonzero(table.target == at)
    around: dict[str, list[dict[str, Any]]] = {}
    for rows, ends, names in ((out, table.target, _FROM), (into, table.source, _TO)):
        for row in rows[:400].tolist():
            word = names.get(int(table.relation[row]))
            if word is not None:
                around.setdefault(word, []).append(_brief(graph, int(ends[row])))
    return {
        **_brief(graph, at), "properties": _short_properties(own), "around": around,
        "versions": _versions(graph, at, own) if kind == ENTITY else [], "opens": _opens(explorer, graph.ids[at], own),
    }  # fmt: skip


_FROM = {USED: "used", GENERATED: "made by", 2: "derived from", ASSOCIATED: "done by", 4: "attributed to"}
_TO = {USED: "used by", GENERATED: "made", 2: "led to", ASSOCIATED: "did"}


def _short_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """Return short properties only; plans and column lineage have their own views."""
    found: dict[str, Any] = {}
    for key, value in properties.items():
        if isinstance(value, str | int | float | bool | None):
            found[key] = value[:2000] if isinstance(value, str) else value
        elif isinstance(value, list | tuple) and value and not any(isinstance(each, dict | list) for each in value):
            found[key] = ", ".join(map(str, value))[:2000]
    return found


def _versions(graph: Graph, at: int, own: dict[str, Any]) -> list[dict[str, Any]]:
    artifact = own.get("artifact")
    numbers = graph.versions_at(artifact) if isinstance(artifact, str) else []
    found = []
    for each in numbers or [at]:
        properties = graph.properties.row(each)
        found.append(
            {**_brief(graph, each), "size": properties.get("size"), "hash": str(properties.get("sha256", ""))[:12]}
        )
    return found


def _opens(explorer: Explorer, name: str, own: dict[str, Any]) -> list[str]:
    """Return the views that can show the vertex."""
    from whence.ui.tables import has_table

    found = ["array"] if own.get("kind") == "array" else []
    found += ["table"] if has_table(explorer, name) else []
    if str(own.get("command", "")).startswith("pipeline "):
        found.append("pipeline")
    return found


def segment(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Return the segment between vertices (PgSeg), with boundaries and expansion."""
    graph = explorer.graph()
    src, dst = listed(params, "src"), listed(params, "dst")
    exclude: list[str | Boundary] = list(listed(params, "without"))
    exclude += [who(each) for each in listed(params, "not_by")]
    steps = number(params, "expand", 0, 0, 20)
    found = graph.segment(
        src or None, dst, exclude=exclude or None, expand=steps or None, inputs=params.get("inputs") == "1"
    )
    if len(found) > FOLDED:  # grouped, as in the overview
        scene = overview_of(graph, found.numbers, _called(explorer)).scene
    else:
        scene = of_graph(graph, found.numbers.tolist(), found.rows.tolist(), found.query.named.tolist())
    first = graph.ids.of(graph.in_order(found.numbers)[:2000])
    return {
        "picture": picture(scene), "why": found.why, "vertices": first, "count": len(found),
        "left_out": found.left_out[:50],
    }  # fmt: skip


def datasets(explorer: Explorer, params: Params) -> dict[str, Any]:
    """List arrays, or datasets with rows, latest first."""
    from whence.ui.tables import has_table, may_be_table

    graph, kind, asked = explorer.graph(), text(params, "kind"), params.get("q", "").lower()
    saved = previews.names(explorer)
    codes = explorer.once("kinds", lambda: filters.kind_codes(graph))
    wanted = ("array",) if kind == "array" else ("table", "file")
    numbers = np.flatnonzero(np.isin(codes, [filters.KINDS.index(each) for each in wanted])).tolist()
    named = [(at, graph.ids[at]) for at in reversed(numbers) if asked in graph.ids[at].lower()]
    if kind != "array":  # those that may have rows; only some are checked for their file
        named = [(at, name) for at, name in named if codes[at] == filters.KINDS.index("table") or may_be_table(name)]
        named = named[:LOOKED_UP]
    found = []
    for at, name in named:
        if kind != "array" and not has_table(explorer, name):
            continue
        own = graph.properties.row(at)
        shape = list(explorer.log.show(name).dataset.shape) if kind == "array" else []
        found.append({"name": name, "shape": shape, "created": own.get("created"), "by": _maker(graph, at),
                      "values": name in explorer.values.files or name in saved})  # fmt: skip
        if len(found) == PAGE:
            break
    return {"found": found, "count": len(named) if len(found) == PAGE else len(found)}


def _maker(graph: Graph, at: int) -> str | None:
    own = graph.agents_of.get(at, ())
    return graph.ids[own[0]] if own else None
