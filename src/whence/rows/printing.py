"""Print operators and expressions: one line per operator, inputs indented below it."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from functools import singledispatch
from typing import TYPE_CHECKING

from whence.rows import expressions as e
from whence.rows import operators as o

if TYPE_CHECKING:
    from whence.rows.tree import Tree

COLUMNS_SHOWN = 8  # columns on one line
DEEPEST = 50  # nesting levels of an expression
_depth: ContextVar[int] = ContextVar("depth", default=0)
INFIX = {"Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "Remainder": "%", "Concat": "||"}


def tree_text(operator: o.Operator, notes: dict[int, str] | None = None) -> str:
    """Return the operator and its inputs as a tree; `notes`, by pre-order index of the operator, follow its line.

    >>> from whence.rows import Attr, Compare, Filter, Literal, Source
    >>> a = Attr(1, "a", "long")
    >>> print(tree_text(Filter(Source("t", 0, (a,)), Compare("<", a, Literal(5, "long")))))
    Filter a#1 < 5
      Source t (memory): a#1
    """
    lines: list[str] = []

    def add(node: o.Operator, depth: int) -> None:
        note = f"   -- {notes[len(lines)]}" if notes and len(lines) in notes else ""
        lines.append("  " * depth + line(node) + note)
        for child in node.children:
            add(child, depth + 1)

    add(operator, 0)
    return "\n".join(lines)


@singledispatch
def line(node: Tree) -> str:
    """Return one operator on one line, without its inputs."""
    return type(node).__name__


@line.register
def _(node: o.Source) -> str:
    kind = f"{node.format}, domain copy" if node.is_domain_copy else node.format
    return f"Source {node.name} ({kind}): {_list_of_columns(node.output)}"


@line.register
def _(node: o.Values) -> str:
    return f"Values: {_list_of_columns(node.columns)}"


@line.register
def _(node: o.Filter) -> str:
    return f"Filter {node.condition}"


@line.register
def _(node: o.Project) -> str:
    return f"Project {_list_of_columns(node.columns)}"


@line.register
def _(node: o.Join) -> str:
    on = "" if node.condition is None else f" on {node.condition}"
    return f"Join {node.how}{on}" + ("" if node.flag is None else f" as {node.flag}")


@line.register
def _(node: o.Union) -> str:
    return f"Union: {_list_of_columns(node.columns)}"


@line.register(o.Intersect)
@line.register(o.Except)
def _(node: o.Intersect | o.Except) -> str:
    return type(node).__name__ + (" all" if node.all else "")


@line.register
def _(node: o.Distinct) -> str:
    return f"Distinct by {_list_of_columns(node.keys)}" if node.picks else "Distinct"


@line.register
def _(node: o.Aggregate) -> str:
    by = f" by {_list_of_columns(node.keys)}" if node.keys else ""
    listed = "" if node.listed is None else f", of rows where {node.listed}"
    return f"Aggregate{by}{listed}: {_list_of_columns(node.outputs)}"


@line.register
def _(node: o.Window) -> str:
    partition = f" partition by {_list_of_columns(node.partition)}" if node.partition else ""
    order = f" order by {_list_of_columns(node.order)}" if node.order else ""
    return f"Window {_list_of_columns(node.calls)}{partition}{order}"


@line.register
def _(node: o.Sort) -> str:
    return f"Sort {_list_of_columns(node.keys)}" + ("" if node.everywhere else " within partitions")


@line.register
def _(node: o.Limit) -> str:
    return f"Limit {'all' if node.count is None else node.count}" + (f" offset {node.offset}" if node.offset else "")


@line.register
def _(node: o.Generate) -> str:
    return f"Generate{' outer' if node.outer else ''} {node.generator} as {_list_of_columns(node.columns)}"


@line.register
def _(node: o.Expand) -> str:
    return f"Expand into {len(node.projections)}: {_list_of_columns(node.columns)}"


@line.register
def _(node: o.Sample) -> str:
    return f"Sample {node.lower:g} to {node.upper:g}, seed {node.seed}"


@line.register
def _(node: o.Arrange) -> str:
    return f"Arrange {node.what}"


@line.register
def _(node: o.Opaque) -> str:
    return f"Opaque {node.why}: {_list_of_columns(node.columns)}"


@line.register
def _(node: o.GroupedMap) -> str:
    return f"GroupedMap {node.function} by {_list_of_columns(node.keys)}: {_list_of_columns(node.columns)}"


@line.register
def _(node: o.Cogroup) -> str:
    return f"Cogroup {node.function} by {_list_of_columns(node.left_keys)}: {_list_of_columns(node.columns)}"


def _list_of_columns(columns: Iterable[Tree]) -> str:
    held = list(columns)
    more = f", and {len(held) - COLUMNS_SHOWN} more" if len(held) > COLUMNS_SHOWN else ""
    return ", ".join(map(str, held[:COLUMNS_SHOWN])) + more


def shown(expr: Tree) -> str:
    """Return an expression as a string; deeply nested parts become `...`."""
    depth = _depth.get()
    if depth == DEEPEST:
        return "..."
    before = _depth.set(depth + 1)
    try:
        return text(expr)
    finally:
        _depth.reset(before)


@singledispatch
def text(expr: Tree) -> str:
    """Return an expression in SQL-like form."""
    return repr(expr)


@text.register
def _(expr: e.Literal) -> str:
    return "NULL" if expr.value is None else repr(expr.value) if isinstance(expr.value, str) else str(expr.value)


@text.register
def _(expr: e.Param) -> str:
    return f":{expr.name}"


@text.register
def _(expr: e.Outer) -> str:
    return f"outer({expr.attr})"


@text.register
def _(expr: e.Compare) -> str:
    return f"{_in_parentheses(expr.left)} {expr.op} {_in_parentheses(expr.right)}"


@text.register
def _(expr: e.And) -> str:
    return " and ".join(map(_in_parentheses, expr.args))


@text.register
def _(expr: e.Or) -> str:
    return " or ".join(map(_in_parentheses, expr.args))


@text.register
def _(expr: e.Not) -> str:
    return f"{expr.arg.arg} is not null" if isinstance(expr.arg, e.IsNull) else f"not {_in_parentheses(expr.arg)}"


@text.register
def _(expr: e.IsNull) -> str:
    return f"{_in_parentheses(expr.arg)} is null"


@text.register
def _(expr: e.In) -> str:
    return f"{_in_parentheses(expr.arg)} in ({_list_of_columns(expr.values)})"


@text.register
def _(expr: e.Call) -> str:
    if expr.name == "Cast":
        return f"cast({expr.args[0]} as {expr.dtype})"
    if expr.name in INFIX and len(expr.args) == 2:
        return f"{_in_parentheses(expr.args[0])} {INFIX[expr.name]} {_in_parentheses(expr.args[1])}"
    return f"{expr.name.lower()}({', '.join(map(str, expr.args))})"


@text.register
def _(expr: e.AggCall) -> str:
    where = f" filter ({expr.where})" if expr.where is not None else ""
    return f"{expr.name.lower()}({'distinct ' if expr.distinct else ''}{', '.join(map(str, expr.args))}){where}"


@text.register
def _(expr: e.WindowCall) -> str:
    where = "" if expr.where is None else f" filter (where {expr.where})"
    return f"{expr.name.lower()}({', '.join(map(str, expr.args))}){where} over ({expr.frame})"


@text.register
def _(expr: e.SortKey) -> str:
    nulls = "" if expr.nulls_first == expr.ascending else f" nulls {'first' if expr.nulls_first else 'last'}"
    return f"{expr.expr}{'' if expr.ascending else ' desc'}{nulls}"


@text.register
def _(expr: e.ScalarQuery) -> str:
    return "(scalar query)"


@text.register
def _(expr: e.Exists) -> str:
    return "exists (query)"


@text.register
def _(expr: e.InQuery) -> str:
    return f"({_list_of_columns(expr.args)}) in (query)"


def _in_parentheses(expr: Tree) -> str:
    compound = isinstance(expr, e.Compare | e.And | e.Or | e.In | e.IsNull) or (
        isinstance(expr, e.Call) and expr.name in INFIX
    )
    return f"({expr})" if compound else str(expr)
