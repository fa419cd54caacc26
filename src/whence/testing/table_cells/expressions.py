"""Evaluate expressions over annotated cells: which cells a value is computed from, and which only selected it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from whence.rows.expressions import TRUE, And, Call, Compare, Expr, In, IsNull, Literal, Not, Or, SortKey, Udf
from whence.rows.tree import Tree
from whence.testing.table_cells.cell import NONE, Cell, united
from whence.testing.table_cells.functions import USERS, applied, compared

Known: TypeAlias = Mapping[Any, Cell]  # attributes; over a group also its keys and aggregates


def cell_of(expr: Tree, known: Known) -> Cell:
    """Return the value of an expression for one row, with its two sets of source cells.

    >>> from whence.rows.expressions import Attr
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> row = {a: Cell(None, frozenset({(0, 0, "a")})), b: Cell(7, frozenset({(0, 0, "b")}))}
    >>> found = cell_of(Call("Coalesce", (a, b), "long"), row)
    >>> found.value, sorted(found.cells), sorted(found.selection)
    (7, [(0, 0, 'b')], [(0, 0, 'a')])
    """
    if expr in known:
        return known[expr]
    if isinstance(expr, Literal):
        return Cell(expr.value)
    if isinstance(expr, SortKey):
        return cell_of(expr.expr, known)
    if isinstance(expr, Call) and expr.name in BRANCHES:
        return BRANCHES[expr.name](expr, known)
    if isinstance(expr, Call) and expr.name == "GetArrayItem":
        array, at = (cell_of(each, known) for each in expr.args)
        if array.items is not None:
            return array.items[int(at.value)]
    if isinstance(expr, Call) and expr.name == "ArrayFilter":
        return _filtered(expr, known)
    if isinstance(expr, Call) and expr.name == "With":  # common subexpressions, which the first argument refers to
        child, *defined = expr.args
        named = {_id(each): cell_of(each, known) for each in defined}
        return cell_of(child, {**known, **named})
    if isinstance(expr, Call) and expr.name == "CommonExpressionRef":
        return known[_id(expr)]
    if isinstance(expr, Udf) and expr.inside is not None and expr.inside.domain == TRUE:
        return cell_of(expr.over(expr.inside.value), known)
    parts = [cell_of(each, known) for each in expr.parts() if isinstance(each, Expr)]
    value = _value(expr, [each.value for each in parts])
    return Cell(value, united(each.cells for each in parts), united(each.selection for each in parts))


def _id(expr: Expr) -> str:
    assert isinstance(expr, Call)
    return expr.detail.split()[0]


def _case(expr: Call, known: Known) -> Cell:
    """The branch that was taken, selected by the conditions up to it."""
    decided, args = NONE, list(expr.args)
    while len(args) > 1:
        condition = cell_of(args.pop(0), known)
        decided |= condition.read
        branch = args.pop(0)
        if condition.value is True:
            return cell_of(branch, known).selected(decided)
    return (cell_of(args[0], known) if args else Cell(None)).selected(decided)


def _if(expr: Call, known: Known) -> Cell:
    condition = cell_of(expr.args[0], known)
    return cell_of(expr.args[1 if condition.value is True else 2], known).selected(condition.read)


def _coalesce(expr: Call, known: Known) -> Cell:
    """The first value that is not NULL, selected by the NULLs before it."""
    decided = NONE
    for each in expr.args[:-1]:
        found = cell_of(each, known)
        if found.value is not None:
            return found.selected(decided)
        decided |= found.read
    return cell_of(expr.args[-1], known).selected(decided)


def _null_if(expr: Call, known: Known) -> Cell:
    """Catalyst's `nullif`: a condition, and the value if it is not true."""
    condition, value = (cell_of(each, known) for each in expr.args)
    return (Cell(None) if condition.value is True else value).selected(condition.read)


BRANCHES: dict[str, Callable[[Call, Known], Cell]] = {
    "CaseWhen": _case,
    "If": _if,
    "Coalesce": _coalesce,
    "NullIfResult": _null_if,
}


def _filtered(expr: Call, known: Known) -> Cell:
    """`filter(array, x -> ...)`: reads the array, and everything that the condition reads."""
    array, function = expr.args
    assert isinstance(function, Call)
    body, variable = function.args[:2]
    found = cell_of(array, known)
    kept, cells, selection = [], found.cells, found.selection
    for value in found.value or ():
        held = cell_of(body, {**known, variable: Cell(value)})
        cells, selection = cells | held.cells, selection | held.selection
        if held.value is True:
            kept.append(value)
    return replace(found, value=None if found.value is None else kept, cells=cells, selection=selection)


def _value(expr: Tree, values: list[Any]) -> Any:
    if isinstance(expr, And | Or):
        deciding = isinstance(expr, Or)
        return deciding if deciding in values else None if None in values else not deciding
    if isinstance(expr, Not):
        return None if values[0] is None else not values[0]
    if isinstance(expr, IsNull):
        return values[0] is None
    if isinstance(expr, Compare):
        return compared(expr.op, *values)
    if isinstance(expr, In):
        value, *choices = values
        if value is None:
            return None
        return True if any(compared("=", value, each) for each in choices) else None if None in choices else False
    if isinstance(expr, Udf) and (name := expr.title.removesuffix("()")) in USERS:
        return USERS[name](*values)
    if isinstance(expr, Call):
        return applied(expr.name, values, expr.dtype)
    raise NotImplementedError(f"{type(expr).__name__}: {expr}")
