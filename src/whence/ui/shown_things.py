"""Requests of widgets for objects other than logs: cells of a relation, rows of an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.selection import Selection
from whence.ui.arrays import described_cells
from whence.ui.explorer import BadRequest, Params, number, text
from whence.ui.tables import shown_value

if TYPE_CHECKING:
    from whence.relation import Relation
    from whence.spark.lineage import Lineage

Answer = dict[str, Any] | bytes
Answers = Callable[[str, Params], tuple[int, Answer]]
ENDS = ("input", "output")
ROWS = 50  # rows of a page


def _guarded(questions: dict[str, Callable[[Params], dict[str, Any]]]) -> Answers:
    """Return a function that answers requests by name; errors of whence are returned as answers, too."""

    def answered(name: str, params: Params) -> tuple[int, Answer]:
        if name not in questions:
            return 404, {"error": f"there is no question {name!r}"}
        try:
            return 200, questions[name](params)
        except WhenceError as error:
            return 400, {"error": str(error.args[0]) if error.args else str(error)}

    return answered


def of_relation(relation: Relation) -> Answers:
    """Show a relation as a chain of two arrays, `input` and `output`, whose cells can be selected."""
    shapes = {"input": relation.in_shape, "output": relation.out_shape}

    def named(params: Params) -> str:
        name = text(params, "name")
        if name not in shapes:
            raise BadRequest(f"a relation has an input and an output, and no {name!r}")
        return name

    def array(params: Params) -> dict[str, Any]:
        name = named(params)
        stored = {"input": "input", "tuples": relation.count(), "boxes": len(relation), "size": 0}
        return {
            "name": name, "kind": "array", "shape": list(shapes[name]), "created": None, "by": None, "note": None,
            "made": [], "derived": [stored] if name == "output" else [], "values": None,
            "chain": [{"name": each, "kind": "array", "shape": list(shapes[each]), "values": False} for each in ENDS],
        }  # fmt: skip

    def lineage(params: Params) -> dict[str, Any]:
        name = named(params)
        cells = Selection.of(text(params, "cells"), shapes[name])
        back = [("input", relation.backward(cells))] if name == "output" else []
        forth = [("output", relation.forward(cells))] if name == "input" else []
        asked = {
            "name": name,
            **described_cells(cells),
            "backward_ms": 0,
            "forward_ms": 0,
            "precise": True,
            "reason": None,
        }
        return {
            "asked": asked, "backward": [{"name": each, **described_cells(own)} for each, own in back],
            "forward": [{"name": each, **described_cells(own)} for each, own in forth], "backward_steps": [],
            "forward_steps": [], "people": [], "commits": [], "notes": [],
        }  # fmt: skip

    return _guarded({"array": array, "lineage": lineage})


def of_lineage(lineage: Lineage) -> Answers:
    """Show the rows of each source of an answer in pages."""

    def page(params: Params) -> dict[str, Any]:
        source, start = text(params, "source"), number(params, "from", 0)
        rows = lineage.arrow(source)
        held = rows.slice(start, ROWS)
        cells = zip(*(each.to_pylist() for each in held.columns), strict=True)
        return {
            "total": len(rows), "from": start, "columns": held.column_names,
            "rows": [[shown_value(each) for each in row] for row in cells],
        }  # fmt: skip

    return _guarded({"page": page})
