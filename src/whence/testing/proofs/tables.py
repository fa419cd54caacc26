"""Operators over symbolic tables: rows that may exist, with the input rows that each came from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import z3

from whence.errors import BadType
from whence.rows.expressions import TRUE, AggCall, Attr, Expr
from whence.rows.operators import (
    Aggregate,
    Arrange,
    Distinct,
    Except,
    Expand,
    Filter,
    Generate,
    Intersect,
    Join,
    Operator,
    Project,
    Sort,
    Union,
    Window,
)
from whence.rows.tree import Tree
from whence.testing.proofs.around import generate, window
from whence.testing.proofs.exprs import applied, evaluate
from whence.testing.proofs.symbolic import SymbolicRow, Table, seen
from whence.testing.proofs.values import Value, boolean, choose, null_of, same, symbol, true


def symbolic(columns: Sequence[Attr], rows: int, number: int) -> Table:
    """Return an input table of up to so many rows, with unknown values."""
    return [
        SymbolicRow(
            z3.Bool(f"t{number}.{i}"),
            {attr: symbol(f"t{number}.{i}.{attr.id}", attr.dtype) for attr in columns},
            {(number, i): z3.BoolVal(True)},
        )
        for i in range(rows)
    ]


def run(op: Operator, inputs: Sequence[Table], witness: str = "rows") -> Table:
    """Return the output of one operator over symbolic inputs, with its lineage."""
    if isinstance(op, Sort | Arrange):
        return inputs[0]
    if isinstance(op, Filter):
        return [_where(row, true(evaluate(op.condition, row.values))) for row in inputs[0]]
    if isinstance(op, Project):
        return [_with(row, {c.attr: evaluate(c.expr, row.values) for c in op.columns}) for row in inputs[0]]
    if isinstance(op, Expand):
        return [
            _with(row, {a: evaluate(e, row.values) for a, e in zip(op.columns, projection, strict=True)})
            for row in inputs[0]
            for projection in op.projections
        ]
    if isinstance(op, Union):
        return [
            _with(row, {a: row.values[b] for a, b in zip(op.columns, child.output, strict=True)})
            for child, table in zip(op.inputs, inputs, strict=True)
            for row in table
        ]
    if isinstance(op, Join):
        return _join(op, inputs[0], inputs[1])
    if isinstance(op, Distinct):
        return _groups(op.keys, inputs[0], lambda row, group: row.values)
    if isinstance(op, Aggregate):
        return _aggregate(op, inputs[0], witness)
    if isinstance(op, Intersect | Except):
        return _set(op, inputs[0], inputs[1])
    if isinstance(op, Window):
        return window(op, inputs[0])
    if isinstance(op, Generate):
        return generate(op, inputs[0])
    raise BadType(f"{type(op).__name__} has no meaning over symbolic tables")


def _where(row: SymbolicRow, condition: Any) -> SymbolicRow:
    return SymbolicRow(z3.And(row.there, condition), row.values, row.made_of)


def _with(row: SymbolicRow, values: dict[Attr, Value]) -> SymbolicRow:
    return SymbolicRow(row.there, values, row.made_of)


def promised(op: Operator, inputs: list[Table]) -> list[z3.BoolRef]:
    """Conditions without which the pipeline would have failed: a scalar subquery has one value for each row."""
    if not isinstance(op, Join) or op.how != "single":
        return []
    match = _matching_pairs(op, *inputs)
    pairs = combinations(range(len(inputs[1])), 2)
    return [z3.Not(z3.And(match[i, j], match[i, k])) for j, k in pairs for i in range(len(inputs[0]))]


def _matching_pairs(op: Join, left: Table, right: Table) -> dict[tuple[int, int], z3.BoolRef]:
    condition: Expr = TRUE if op.condition is None else op.condition
    return {
        (i, j): z3.And(a.there, b.there, true(evaluate(condition, {**a.values, **b.values})))
        for i, a in enumerate(left)
        for j, b in enumerate(right)
    }


def _join(op: Join, left: Table, right: Table) -> Table:
    match = _matching_pairs(op, left, right)
    out: Table = []
    if op.how in ("semi", "anti", "existence"):
        for i, a in enumerate(left):
            found = z3.Or(*(match[i, j] for j in range(len(right))))
            matches = {key: match[i, j] for j, b in enumerate(right) for key in b.made_of}
            if op.how == "anti":
                out.append(_where(a, z3.Not(found)))
                continue
            values = a.values if op.flag is None else {**a.values, op.flag: boolean(found)}
            there = a.there if op.how == "existence" else z3.And(a.there, found)
            out.append(SymbolicRow(there, values, {**a.made_of, **matches}))
        return out
    for (i, j), there in match.items():
        a, b = left[i], right[j]
        out.append(SymbolicRow(there, {**a.values, **b.values}, {**a.made_of, **b.made_of}))
    if op.how in ("left", "single", "full"):
        nulls = {attr: null_of(attr.dtype) for attr in op.right.output}
        for i, a in enumerate(left):
            alone = z3.Not(z3.Or(*(match[i, j] for j in range(len(right)))))
            out.append(SymbolicRow(z3.And(a.there, alone), {**a.values, **nulls}, a.made_of))
    if op.how in ("right", "full"):
        nulls = {attr: null_of(attr.dtype) for attr in op.left.output}
        for j, b in enumerate(right):
            alone = z3.Not(z3.Or(*(match[i, j] for i in range(len(left)))))
            out.append(SymbolicRow(z3.And(b.there, alone), {**nulls, **b.values}, b.made_of))
    return out


def _groups(keys: Sequence[Expr], table: Table, values: Any, rows_of: Any = None) -> Table:
    """One row for each value of the keys: the first row of the group."""
    held = [[evaluate(key, row.values) for key in keys] for row in table]
    out: Table = []
    for i, row in enumerate(table):
        together = [
            z3.And(other.there, *(same(a, b) for a, b in zip(held[i], held[j], strict=True)))
            for j, other in enumerate(table)
        ]
        first = z3.And(row.there, *(z3.Not(together[j]) for j in range(i)))
        made_of = {key: together[j] for j, other in enumerate(table) for key in other.made_of}
        if rows_of is not None:
            made_of = rows_of(row, together, made_of)
        out.append(SymbolicRow(first, values(row, together), made_of))
    return out


def _aggregate(op: Aggregate, table: Table, witness: str) -> Table:
    def values(row: SymbolicRow, together: list[Any]) -> dict[Attr, Value]:
        made = {call: _aggregated(call, table, together) for call in op.calls}
        return {column.attr: _output_value(column.expr, row, made, op.keys) for column in op.outputs}

    def rows_of(row: SymbolicRow, together: list[Any], whole: dict[tuple[int, int], Any]) -> dict[tuple[int, int], Any]:
        reached: dict[tuple[int, int], Any] = {}
        if op.listed is not None:
            shown = [true(evaluate(op.listed, other.values)) for other in table]
            none = z3.Not(z3.Or(*(z3.And(*pair) for pair in zip(together, shown, strict=True))))
            for j, other in enumerate(table):
                reached |= dict.fromkeys(other.made_of, z3.And(together[j], z3.Or(shown[j], none)))
            return reached
        if witness == "group" or not op.witnessed:
            return whole
        for j, other in enumerate(table):
            attains = [same(evaluate(c.args[0], other.values), _aggregated(c, table, together)) for c in op.calls]
            for key in other.made_of:
                reached[key] = z3.And(together[j], z3.Or(*attains))
        return reached

    if op.keys:
        return _groups(op.keys, table, values, rows_of)
    together = [row.there for row in table]
    made_of = {key: row.there for row in table for key in row.made_of}
    blank = SymbolicRow(z3.BoolVal(True), {}, {})
    return [SymbolicRow(z3.BoolVal(True), values(blank, together), rows_of(blank, together, made_of))]


def _aggregated(call: AggCall, table: Table, together: list[Any]) -> Value:
    """min and max are exact; any other aggregate is an uninterpreted function of the group's rows and values."""
    held = [[evaluate(arg, row.values) for arg in call.args] for row in table]
    if call.where is not None:
        together = [z3.And(t, true(evaluate(call.where, row.values))) for t, row in zip(together, table, strict=True)]
    if call.name in ("Min", "Max") and not z3.is_bool(held[0][0].value):
        best = null_of(call.args[0].dtype)
        for (value,), inside in zip(held, together, strict=True):
            better = value.value < best.value if call.name == "Min" else value.value > best.value
            best = choose(z3.And(inside, z3.Not(value.null), z3.Or(best.null, better)), value, best)
        return best
    if call.name == "bool_or":
        return boolean(z3.Or(*(z3.And(t, true(value)) for (value,), t in zip(held, together, strict=True))))
    args = [part for values, inside in zip(held, together, strict=True) for part in seen(values, inside)]
    return applied(f"agg.{call.name}.{call.distinct}.{call.detail}.{len(call.args)}", args, call.dtype)


def _output_value(expr: Expr, row: SymbolicRow, made: dict[AggCall, Value], keys: Sequence[Expr]) -> Value:
    if expr in keys:
        return evaluate(expr, row.values)
    if isinstance(expr, AggCall):
        return made[expr]
    if isinstance(expr, Attr):
        return row.values[expr]
    parts: list[Tree] = [part for part in expr.parts() if isinstance(part, Expr)]
    values = [_output_value(part, row, made, keys) for part in parts if isinstance(part, Expr)]
    return applied(f"{type(expr).__name__}.{getattr(expr, 'name', '')}.{len(values)}", values, expr.dtype)


def _set(op: Intersect | Except, left: Table, right: Table) -> Table:
    """Equal rows share their lineage; with `all`, as many of them remain as the counts of both sides say."""
    places = list(zip(op.left.output, op.right.output, strict=True))
    out: Table = []
    for i, row in enumerate(left):
        mine = [_alike(row, other, [(a, a) for a, _ in places]) for other in left]
        theirs = [_alike(row, other, places) for other in right]
        before, count_theirs = _count(mine[:i]), _count(theirs)
        if isinstance(op, Except):
            there = before + count_theirs < _count(mine) if op.all else z3.And(before == 0, count_theirs == 0)
        else:
            there = before < count_theirs if op.all else z3.And(before == 0, count_theirs > 0)
        made_of = {key: mine[j] for j, other in enumerate(left) for key in other.made_of}
        if isinstance(op, Intersect):
            made_of |= {key: theirs[j] for j, other in enumerate(right) for key in other.made_of}
        out.append(SymbolicRow(z3.And(row.there, there), row.values, made_of))
    return out


def _alike(row: SymbolicRow, other: SymbolicRow, places: list[tuple[Attr, Attr]]) -> Any:
    return z3.And(other.there, *(same(row.values[a], other.values[b]) for a, b in places))


def _count(conditions: list[Any]) -> Any:
    return z3.Sum(z3.IntVal(0), *(z3.If(each, 1, 0) for each in conditions))
