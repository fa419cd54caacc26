"""Windows and generators over symbolic tables."""

from __future__ import annotations

from typing import Any

import z3

from whence.errors import BadType
from whence.rows.expressions import Attr, Call, Frame, SortKey, WindowCall
from whence.rows.frames import frame_of
from whence.rows.operators import Generate, Window
from whence.testing.proofs.exprs import applied, elements, evaluate
from whence.testing.proofs.symbolic import SymbolicRow, Table, seen
from whence.testing.proofs.values import Value, null_of, same


def window(op: Window, table: Table) -> Table:
    """Add the window functions to each row. A function depends on which rows are in the frame, and on their values.

    Ties are ordered by position in the table; in Spark their order is arbitrary.
    """
    out: Table = []
    for i, row in enumerate(table):
        together = [
            z3.And(other.there, *(same(evaluate(e, row.values), evaluate(e, other.values)) for e in op.partition))
            for other in table
        ]
        made_of: dict[tuple[int, int], Any] = dict(row.made_of)
        values = dict(row.values)
        frames: dict[Frame, list[Any]] = {}
        for function in op.functions:
            frame = frame_of(function)
            inside = [z3.And(t, _in_frame(op, frame, table, i, j)) for j, t in enumerate(together)]
            frames[frame] = inside
        for named in op.calls:
            if not isinstance(named.expr, WindowCall):
                raise BadType(f"{named.expr} has no meaning over symbolic tables")
            inside = frames[frame_of(named.expr)]
            args = [
                part
                for other, within in zip(table, inside, strict=True)
                for part in seen([evaluate(arg, other.values) for arg in named.expr.args], within)
            ]
            values[named.attr] = applied(f"window.{named.expr.name}", args, named.expr.dtype)
        for inside in frames.values():
            for other, within in zip(table, inside, strict=True):
                for key in other.made_of:
                    made_of[key] = z3.Or(made_of.get(key, z3.BoolVal(False)), within)
        out.append(SymbolicRow(row.there, values, made_of))
    return out


def _in_frame(op: Window, frame: Frame, table: Table, i: int, j: int) -> Any:
    if frame.whole:
        return z3.BoolVal(True)
    before, tied = _order(op.order, table[j], table[i])
    after = z3.Not(z3.Or(before, tied))
    if frame.unit == "rows":
        before, after = z3.Or(before, z3.And(tied, j < i)), z3.Or(after, z3.And(tied, j > i))
    if (frame.lower, frame.upper) == (None, 0):
        return z3.Not(after)
    if (frame.lower, frame.upper) == (0, None):
        return z3.Not(before)
    raise BadType(f"a frame of {frame} has no meaning over symbolic tables")


def _order(keys: tuple[SortKey, ...], a: SymbolicRow, b: SymbolicRow) -> tuple[Any, Any]:
    """Whether a comes before b, and whether they are tied."""
    before, tied = z3.BoolVal(False), z3.BoolVal(True)
    for key in keys:
        x, y = evaluate(key.expr, a.values), evaluate(key.expr, b.values)
        less = x.value < y.value if key.ascending else x.value > y.value
        nulls = z3.And(x.null, z3.Not(y.null)) if key.nulls_first else z3.And(y.null, z3.Not(x.null))
        first = z3.Or(nulls, z3.And(z3.Not(x.null), z3.Not(y.null), less))
        before = z3.Or(before, z3.And(tied, first))
        tied = z3.And(tied, same(x, y))
    return before, tied


def generate(op: Generate, table: Table) -> Table:
    """explode of an array with a few elements."""
    generator = op.generator
    if not (isinstance(generator, Call) and generator.name in ("Explode", "explode")):
        raise BadType(f"{generator} has no meaning over symbolic tables")
    (column,) = op.columns
    out: Table = []
    for row in table:
        kept = {attr: row.values[attr] for attr in op.kept}
        array = evaluate(generator.args[0], row.values)
        parts = elements(array, column.dtype)
        for there, value in parts:
            out.append(_expanded(row, z3.And(row.there, there), kept, column, value))
        if op.outer:
            none = z3.Not(z3.Or(*(there for there, _ in parts)))
            out.append(_expanded(row, z3.And(row.there, none), kept, column, null_of(column.dtype)))
    return out


def _expanded(row: SymbolicRow, there: Any, kept: dict[Attr, Value], column: Attr, value: Value) -> SymbolicRow:
    return SymbolicRow(there, {**kept, column: value}, row.made_of)
