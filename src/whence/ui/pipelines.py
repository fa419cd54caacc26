"""A pipeline: its operators as a graph from left to right, what each says, what was saved, and columns' lineage."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from whence.graph.picture.labels import shortened
from whence.graph.picture.nodes import Line, Node, Scene
from whence.ui.explorer import BadRequest, Explorer, Params, text
from whence.ui.picturing import picture

_HASH = re.compile(r"#\d+")


@dataclass(slots=True)
class Step:
    """One operator of a plan as it is printed, with its inputs."""

    title: str
    inputs: list[Step] = field(default_factory=list)


def parsed(plan: str) -> Step | None:
    """The tree of a printed plan: two spaces deeper is an input.

    >>> tree = parsed("Join inner on a = b\\n  Source x\\n  Filter c > 0\\n    Source y")
    >>> tree.title, [each.title for each in tree.inputs], tree.inputs[1].inputs[0].title
    ('Join inner on a = b', ['Source x', 'Filter c > 0'], 'Source y')
    """
    path: list[Step] = []
    root = None
    for line in plan.splitlines():
        if not line.strip():
            continue
        depth = (len(line) - len(line.lstrip(" "))) // 2
        step = Step(_HASH.sub("", line.strip()))
        if depth == 0 or not path:
            root = root or step
            path = [step]
            continue
        del path[depth:]
        path[-1].inputs.append(step)
        path.append(step)
    return root


def pipelines(explorer: Explorer, params: Params) -> dict[str, Any]:
    """The pipelines that ran, with how often and when last."""
    found: dict[str, dict[str, Any]] = {}
    for run in explorer.log.runs():
        found[run.pipeline] = {
            "name": run.pipeline, "sources": list(run.sources), "last": run.created,
            "runs": found.get(run.pipeline, {}).get("runs", 0) + 1,
        }  # fmt: skip
    return {"pipelines": list(found.values())}


def pipeline(explorer: Explorer, params: Params) -> dict[str, Any]:
    """One pipeline as its last run had it."""
    name = text(params, "name")
    runs = explorer.log.runs(name)
    if not runs:
        raise BadRequest(f"there is no run of a pipeline {name!r} in the log")
    run = runs[-1]
    graph = explorer.graph()
    label = _activity(explorer, name)
    own = graph.properties.row(graph.ids.number(label)) if label else {}
    plan = own.get("plan")
    tree = parsed(plan) if isinstance(plan, str) else None
    saved = run.document.get("saved", [])
    output = next((each for each in saved if each.get("place") == [-1]), None)
    made = run.document.get("table")
    made = made if isinstance(made, str) and made in graph else None
    columns = graph.properties.get(graph.ids.number(made), "column_lineage") if made else None
    started, ended = own.get("started"), own.get("ended")
    return {
        "name": name, "activity": label, "plan": plan, "started": started, "ended": ended,
        "runs": [each.as_dict() for each in runs[-20:]], "sources": list(run.sources),
        "output": made, "rows": output.get("rows") if output else None,
        "saved": [
            {"rows": each.get("rows"), "columns": len(each.get("columns", ())), "place": each.get("place")}
            for each in saved
        ],
        "recomputed": len(run.document.get("virtual", [])), "failures": run.document.get("failures", []),
        "reason": run.document.get("missing"), "columns": _columns(columns),
        "picture": picture(_scene(tree, output.get("rows") if output else None)) if tree else None,
    }  # fmt: skip


def _activity(explorer: Explorer, name: str) -> str | None:
    found = [each for each in explorer.log.operations() if each.properties.get("command") == f"pipeline {name}"]
    return found[-1].label if found else None


def _columns(told: Any) -> list[dict[str, Any]]:
    """Which columns of which sources each column of the output came from."""
    if not isinstance(told, dict):
        return []
    found = []
    for name, own in told.get("fields", {}).items():
        inputs = [{"source": each.get("name"), "column": each.get("field")} for each in own.get("inputFields", ())]
        found.append({"name": name, "from": inputs})
    decided = [{"source": each.get("name"), "column": each.get("field")} for each in told.get("dataset", ())]
    return [*found, {"name": "", "from": decided}] if decided else found


def _scene(tree: Step, rows: int | None) -> Scene:
    """Operators as activities, sources and the output as data; rows run from left to right."""
    nodes: list[Node] = []
    lines: list[Line] = []

    def add(step: Step) -> int:
        kind, _, rest = step.title.partition(" ")
        is_source = kind == "Source"
        words = rest.partition(":")[0] if is_source else kind
        note = "" if is_source else shortened(rest, 36)
        at = len(nodes)
        nodes.append(Node("entity" if is_source else "activity", shortened(words, 28), step.title, note=note))
        lines.extend([Line(at, add(each), "used") for each in step.inputs])
        return at

    top = add(tree)
    nodes.append(Node("entity", "output", "the output", note="" if rows is None else f"{rows:,} rows", strong=True))
    lines.append(Line(len(nodes) - 1, top, "wasGeneratedBy"))
    return Scene(tuple(nodes), tuple(lines))
