"""Print a trace plan: the predicate at each operator, and what is saved there and why."""

from __future__ import annotations

from whence.rows.expressions import TRUE, Expr, Param
from whence.rows.operators import Operator
from whence.rows.printing import line, text
from whence.rows.saving.paths import PlanPath
from whence.rows.saving.trace_plan import OUTPUT, TracePlan, param
from whence.rows.tree import Tree, transform

LONGEST = 400  # characters of a predicate that are shown


def explained(plan: Operator, found: TracePlan) -> str:
    """Return the plan as a tree. Below each operator is the predicate on its output that traces one row of the result.

    >>> from whence.rows import Attr, Project, Source, keep
    >>> from whence.rows.saving import trace_plan
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> plan = Project(Source("t", 0, (a, b)), keep(a))
    >>> print(explained(plan, trace_plan(plan)))
    Project a#1
      ? a#1 <=> :a
      Source t (memory): a#1, b#2
        ? a#1 <=> :a
    """
    names = _names_of_parameters(plan, found)
    numbers = {each.place: number for number, each in enumerate(found.saved, 1)}
    why = {each.place: each.why for each in found.saved}
    how = {each.place: "recomputed on demand" if each.recomputed else "saved" for each in found.saved}
    columns = {each.place: ", ".join(attr.name for attr in each.columns) for each in found.saved}
    asked: dict[PlanPath, Expr] = {}
    for note in found.notes:
        asked.setdefault(note.place, note.predicate)
    lines: list[str] = []

    def add(op: Operator, place: PlanPath, depth: int) -> None:
        space = "  " * depth
        lines.append(space + line(op))
        if place in asked:
            shown = text(_with_names(asked[place], names)) if asked[place] != TRUE else "every row"
            lines.append(f"{space}  ? {shown[:LONGEST]}{'...' if len(shown) > LONGEST else ''}")
        if place in numbers:
            lines.append(f"{space}  {how[place]} as {numbers[place]}: {columns[place]}  ({why[place]})")
        for index, child in enumerate(op.children):
            add(child, (*place, index), depth + 1)

    add(plan, (), 0)
    return "\n".join(lines)


def _names_of_parameters(plan: Operator, found: TracePlan) -> dict[str, str]:
    """Map parameters to names to print: a column of the row of the question, or of a saved result."""
    tables = {OUTPUT: ("", plan.output)}
    for number, each in enumerate(found.saved, 1):
        tables[each.place] = (f"{number}.", each.columns)
    return {
        param(place, attr).name: f"{before}{attr.name}" for place, (before, attrs) in tables.items() for attr in attrs
    }


def _with_names(expr: Expr, names: dict[str, str]) -> Tree:
    def change(part: Tree) -> Tree:
        return Param(names.get(part.name, part.name), part.dtype) if isinstance(part, Param) else part

    changed: Tree = transform(expr, change)
    return changed
