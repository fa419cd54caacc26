"""A pipeline: its operators as a graph from left to right, what each says, what was saved, and columns' lineage."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.graph.picture.labels import shortened
from whence.graph.picture.nodes import Line, Node, Scene
from whence.ui.explorer import BadRequest, Explorer, Params, number, text
from whence.ui.picturing import picture

if TYPE_CHECKING:
    from whence.spark.stored.run import StoredRun

_HASH = re.compile(r"#-?\d+")
_PARAMETER = re.compile(r":([A-Za-z_]\w*)")
_KEPT = re.compile(r"(saved|recomputed on demand) as \d+: ")


@dataclass(slots=True)
class Step:
    """One operator of a plan as it is printed, with its inputs.

    `asked` is the predicate that selects the lineage of a row there, `kept` what a run keeps of its output and why.
    """

    title: str
    asked: str = ""
    kept: str = ""
    inputs: list[Step] = field(default_factory=list)


def parsed(plan: str) -> Step | None:
    """The tree of a printed plan: two spaces deeper is an input, or what is said of the operator.

    >>> tree = parsed("Join inner on a = b\\n  Source x\\n  Filter c > 0\\n    ? c <=> :c\\n    Source y")
    >>> tree.title, [each.title for each in tree.inputs], tree.inputs[1].asked
    ('Join inner on a = b', ['Source x', 'Filter c > 0'], 'c <=> :c')
    """
    path: list[Step] = []
    root = None
    for line in plan.splitlines():
        if not line.strip():
            continue
        depth = (len(line) - len(line.lstrip(" "))) // 2
        text = _HASH.sub("", line.strip())
        if path and text.startswith("? "):
            path[depth - 1].asked = text[2:]
            continue
        if path and _KEPT.match(text):
            path[depth - 1].kept = text
            continue
        step = Step(text)
        if depth == 0 or not path:
            root = root or step
            path = [step]
            continue
        del path[depth:]
        path[-1].inputs.append(step)
        path.append(step)
    return root


def _explained(run: StoredRun, recorded: object) -> str:
    """The plan in words, with the question at each operator and what is kept there, where the log has all of it."""
    from whence.rows.saving import explained, trace_plan

    try:
        subject = run._subject
        assert subject.run is not None
        found = replace(subject.run.trace_plan, notes=trace_plan(subject.analysis.plan).notes)
        return explained(subject.analysis.plan, found)
    except WhenceError:  # a run of an older log, or one whose plan cannot be stored: what was printed is there
        return recorded if isinstance(recorded, str) else ""


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
    document = run.record.document
    row = _row(run, params)
    tree = parsed(_explained(run, own.get("plan")))
    saved = document.get("saved", [])
    output = next((each for each in saved if each.get("place") == [-1]), None)
    made = document.get("table")
    made = made if isinstance(made, str) and made in graph else None
    columns = graph.properties.get(graph.ids.number(made), "column_lineage") if made else None
    started, ended = own.get("started"), own.get("ended")
    return {
        "name": name, "activity": label, "row": row, "started": started, "ended": ended,
        "runs": [each.as_dict() for each in runs[-20:]], "sources": list(run.sources),
        "output": made, "rows": output.get("rows") if output else None,
        "saved": [
            {"rows": each.get("rows"), "columns": len(each.get("columns", ())), "place": each.get("place")}
            for each in saved
        ],
        "recomputed": len(document.get("virtual", [])), "failures": document.get("failures", []),
        "reason": document.get("missing"), "columns": _columns(columns),
        **(_drawn(explorer, tree, output.get("rows") if output else None, row) if tree else {"picture": None}),
    }  # fmt: skip


def _activity(explorer: Explorer, name: str) -> str | None:
    found = [each for each in explorer.log.operations() if each.properties.get("command") == f"pipeline {name}"]
    return found[-1].label if found else None


def _columns(facet: Any) -> list[dict[str, Any]]:
    """Which columns of which sources each column of the output came from."""
    if not isinstance(facet, dict):
        return []
    found = []
    for name, own in facet.get("fields", {}).items():
        inputs = [{"source": each.get("name"), "column": each.get("field")} for each in own.get("inputFields", ())]
        found.append({"name": name, "from": inputs})
    decided = [{"source": each.get("name"), "column": each.get("field")} for each in facet.get("dataset", ())]
    return [*found, {"name": "", "from": decided}] if decided else found


def _row(run: StoredRun, params: Params) -> dict[str, Any] | None:
    """The row that is in question, if one is."""
    if not params.get("row"):
        return None
    found = run.output_rows([number(params, "row", 0)]).to_pylist()
    return {
        key: value if isinstance(value, int | float | str | None) else str(value) for key, value in found[0].items()
    }


def _drawn(explorer: Explorer, tree: Step, rows: int | None, row: dict[str, Any] | None) -> dict[str, Any]:
    """Operators as activities, sources and the output as data; rows run from left to right."""
    nodes: list[Node] = []
    lines: list[Line] = []
    operators: list[dict[str, Any]] = []
    graph = explorer.graph()

    def add(step: Step) -> int:
        kind, _, rest = step.title.partition(" ")
        is_source = kind == "Source"
        name = rest.partition(" (")[0]
        words, note = (name, _rows(explorer, name) if name in graph else "") if is_source else (kind, rest)
        at = len(nodes)
        nodes.append(
            Node("entity" if is_source else "activity", shortened(words, 28), step.title, note=shortened(note, 36))
        )
        operators.append({"title": step.title, "asked": _filled(step.asked, row), "kept": step.kept})
        lines.extend([Line(at, add(each), "used") for each in step.inputs])
        return at

    top = add(tree)
    nodes.append(Node("entity", "output", "the output", note="" if rows is None else f"{rows:,} rows", strong=True))
    operators.append({"title": "the output", "asked": _filled("", row), "kept": ""})
    lines.append(Line(len(nodes) - 1, top, "wasGeneratedBy"))
    return {"picture": picture(Scene(tuple(nodes), tuple(lines))), "operators": operators}


def _rows(explorer: Explorer, name: str) -> str:
    shape = explorer.log.show(name).dataset.shape
    return f"{shape[0]:,} rows" if len(shape) == 2 else ""


def _filled(asked: str, row: dict[str, Any] | None) -> str:
    """A predicate with the values of the row in question.

    >>> _filled("city <=> :city AND month(day) <=> :month", {"city": "Oslo", "month": 2})
    "city <=> 'Oslo' AND month(day) <=> 2"
    """
    if not row:
        return asked
    return _PARAMETER.sub(lambda found: repr(row[found[1]]) if found[1] in row else found[0], asked)
