"""The pipeline view: operators as a graph from left to right, saved results, and the lineage of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.graph.picture.labels import shortened
from whence.graph.picture.nodes import Line, Node, Scene
from whence.selection import Selection
from whence.ui import answers
from whence.ui.explorer import BadRequest, Explorer, Params, number, text
from whence.ui.picturing import picture

if TYPE_CHECKING:
    from whence.spark.stored.run import StoredRun
    from whence.ui.row_counts import Counted

_HASH = re.compile(r"#-?\d+")
_PARAMETER = re.compile(r":([A-Za-z_]\w*)")
_KEPT = re.compile(r"(saved|recomputed on demand) as \d+: ")


@dataclass(slots=True)
class Step:
    """One operator of a printed plan, with its inputs.

    `asked` is the predicate that selects the lineage of a row, `kept` is what a run saves of its output and why.
    """

    title: str
    asked: str = ""
    kept: str = ""
    inputs: list[Step] = field(default_factory=list)


def parsed(plan: str) -> Step | None:
    """Parse a printed plan: lines indented by two more spaces are inputs of the operator, or describe it.

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
    """Return the plan as text, with the predicate of each operator and what is saved there, if the log has the plan."""
    from whence.rows.saving import explained, trace_plan

    try:
        subject = run._subject
        assert subject.run is not None
        found = replace(subject.run.trace_plan, notes=trace_plan(subject.analysis.plan).notes)
        return explained(subject.analysis.plan, found)
    except WhenceError:  # the plan is not stored: use the printed plan
        return recorded if isinstance(recorded, str) else ""


def pipelines(explorer: Explorer, params: Params) -> dict[str, Any]:
    """List the pipelines, with their number of runs and the time of the last."""
    found: dict[str, dict[str, Any]] = {}
    for run in explorer.log.runs():
        found[run.pipeline] = {
            "name": run.pipeline, "sources": list(run.sources), "last": run.created,
            "runs": found.get(run.pipeline, {}).get("runs", 0) + 1,
        }  # fmt: skip
    return {"pipelines": list(found.values())}


def pipeline(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Describe a pipeline by its last run; with `counts`, also the number of rows of each operator, which is slower."""
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
    counts = _counts(explorer, run) if params.get("counts") else []
    reached = _reached(explorer, made, params) if counts else {}
    return {
        "name": name, "activity": label, "row": row, "started": started, "ended": ended,
        "runs": [each.as_dict() for each in runs[-20:]], "sources": list(run.sources),
        "output": made, "rows": output.get("rows") if output else None,
        "saved": [
            {"rows": each.get("rows"), "columns": len(each.get("columns", ())), "place": each.get("place")}
            for each in saved
        ],
        "recomputed": len(document.get("recomputed", [])), "failures": document.get("failures", []),
        "reason": document.get("missing"), "columns": _planned_columns(run) or _columns(columns),
        "counted": bool(params.get("counts")),
        **(_drawn(explorer, tree, run.rows, row, counts, reached) if tree else {"picture": None}),
    }  # fmt: skip


def _activity(explorer: Explorer, name: str) -> str | None:
    found = [each for each in explorer.log.operations() if each.properties.get("command") == f"pipeline {name}"]
    return found[-1].label if found else None


def _planned_columns(run: StoredRun) -> list[dict[str, Any]]:
    """Return the source columns of each output column, with the names in the plan."""
    from whence.rows.columns import Column, columns

    def listed(found: Iterable[Column]) -> list[dict[str, str]]:
        return [{"source": source, "column": column} for source, column in sorted(found)]

    try:
        found = columns(run._analysis.plan)
    except WhenceError:  # the plan is not stored: the output's properties have them
        return []
    named: list[dict[str, Any]] = [{"name": attr.name, "from": listed(own.direct)} for attr, own in found]
    through = listed(found[0][1].through) if found else []
    return [*named, {"name": "", "from": through}] if through else named


def _columns(facet: Any) -> list[dict[str, Any]]:
    """Return the source columns of each output column."""
    if not isinstance(facet, dict):
        return []
    found = []
    for name, own in facet.get("fields", {}).items():
        inputs = [{"source": each.get("name"), "column": each.get("field")} for each in own.get("inputFields", ())]
        found.append({"name": name, "from": inputs})
    decided = [{"source": each.get("name"), "column": each.get("field")} for each in facet.get("dataset", ())]
    return [*found, {"name": "", "from": decided}] if decided else found


def _row(run: StoredRun, params: Params) -> dict[str, Any] | None:
    """Return the row of the question, or None."""
    if not params.get("row"):
        return None
    found = run.output_rows([number(params, "row", 0)]).to_pylist()
    return {
        key: value if isinstance(value, int | float | str | None) else str(value) for key, value in found[0].items()
    }


def _counts(explorer: Explorer, run: StoredRun) -> list[Counted]:
    from whence.ui.row_counts import row_counts  # imported here because it loads DuckDB

    return explorer.once(("counts", run.id), lambda: row_counts(run))


def _reached(explorer: Explorer, made: str | None, params: Params) -> dict[str, int]:
    """Return how many rows of each table the row of the question came from."""
    if made is None or not params.get("row"):
        return {}
    row = number(params, "row", 0)
    try:
        asked = answers.selected(explorer.log, made, f"{row},:")
        found = answers.reached(explorer.log, "backward", made, asked)
    except WhenceError:  # the table view says why
        return {}
    return {
        name: Selection.from_boxes(cells.boxes[:, :1], cells.shape[:1]).count
        for name, cells in found.cells.items()
        if len(cells.shape) == 2
    }


def _drawn(
    explorer: Explorer, tree: Step, rows: int | None, row: dict[str, Any] | None, counts: Sequence[Counted],
    reached: Mapping[str, int],
) -> dict[str, Any]:  # fmt: skip
    """Draw operators as activities, sources and the output as entities, from left to right."""
    most = max((each.rows or 0 for each in counts), default=0) or 1
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
        own = counts[at] if at < len(counts) else None
        operators.append(
            {
                "title": step.title, "asked": _filled(step.asked, row), "kept": step.kept, "into": [],
                "out": own.rows if own else None, "uncounted": own.why if own else "",
                "reached": reached.get(name) if is_source else None, "source": name if is_source else None,
            }
        )  # fmt: skip
        for each in step.inputs:
            there = add(each)
            given = operators[there]["out"]
            operators[at]["into"].append(given)
            label = "" if given is None else f"{given:,}"
            lines.append(Line(at, there, "used", (given or 0) / most, label))
        return at

    top = add(tree)
    nodes.append(Node("entity", "output", "the output", note="" if rows is None else f"{rows:,} rows", strong=True))
    operators.append({"title": "the output", "asked": "", "kept": "", "into": [rows], "out": rows, "uncounted": "",
                      "reached": None, "source": None})  # fmt: skip
    lines.append(Line(len(nodes) - 1, top, "wasGeneratedBy"))
    return {"picture": picture(Scene(tuple(nodes), tuple(lines))), "operators": operators}


def _rows(explorer: Explorer, name: str) -> str:
    shape = explorer.log.show(name).dataset.shape
    return f"{shape[0]:,} rows" if len(shape) == 2 else ""


def _filled(asked: str, row: dict[str, Any] | None) -> str:
    """Insert the values of a row into a predicate.

    >>> _filled("city <=> :city AND month(day) <=> :month", {"city": "Oslo", "month": 2})
    "city <=> 'Oslo' AND month(day) <=> 2"
    """
    if not row:
        return asked
    return _PARAMETER.sub(lambda found: repr(row[found[1]]) if found[1] in row else found[0], asked)
