"""Windows: select the partition, or the rows of the frame.

before: city <=> :city and day <=> :day  on  Window(sum(n) over (partition by city order by day))
after:  city <=> :city and (day is null or day < :day or day <=> :day)        (NULLs come first)
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.rows.expressions import (
    TRUE,
    Attr,
    Compare,
    Expr,
    Frame,
    IsNull,
    Not,
    SortKey,
    conjunction,
    disjunction,
)
from whence.rows.frames import frame_of
from whence.rows.operators import Window
from whence.rows.pushdown.base import Aim, Pushed, give_up
from whence.rows.pushdown.pins import may_replace, pins, substituted
from whence.rows.pushdown.unique import unique

INEXACT = ("float", "double")  # 0.0 and -0.0 are equal but different values, so only Spark decides what is a tie


def push_window(op: Window, predicate: Expr, aim: Aim) -> Pushed:
    """Select the partition, if its columns are pinned; only the rows of the frames, if the order keys are, too."""
    known = pins(predicate)
    if not all(_pinned(expr, known) for expr in op.partition):
        return give_up(op, "the columns asked for do not determine the window's partition")
    partition = conjunction(*(Compare("<=>", expr, substituted(expr, known)) for expr in op.partition))
    if aim is Aim.RESTRICT:
        return Pushed((partition,), assumes_row_exists=True)
    parts = [_rows_in_frame(op, frame_of(function), known) for function in op.functions]
    whole = disjunction(*(part for part in parts if part is not None))
    if None in parts:
        return Pushed(
            (partition,), False, "the columns asked for do not determine the window's frame", assumes_row_exists=True
        )
    return Pushed((conjunction(partition, whole),), assumes_row_exists=True)


def _pinned(expr: Expr, known: Mapping[Attr, Expr]) -> bool:
    return expr.deterministic and all(
        attr in known and (isinstance(expr, Attr) or may_replace(attr, expr)) for attr in expr.attrs
    )


def _rows_in_frame(op: Window, frame: Frame, known: Mapping[Attr, Expr]) -> Expr | None:
    """Return the predicate for the rows in the frame of the selected row; None if its columns do not determine them."""
    if frame.whole:
        return TRUE
    if not op.order or any(key.dtype in INEXACT or not _pinned(key.expr, known) for key in op.order):
        return None
    keys = frozenset(expr for expr in (*op.partition, *(key.expr for key in op.order)) if isinstance(expr, Attr))
    if frame.unit == "rows" and not unique(op.child, keys):
        return None
    if (frame.lower, frame.upper) == (0, 0):
        return conjunction(*(Compare("<=>", key.expr, substituted(key.expr, known)) for key in op.order))
    if (frame.lower, frame.upper) == (None, 0):
        return _up_to(op.order, known, before=True)
    if (frame.lower, frame.upper) == (0, None):
        return _up_to(op.order, known, before=False)
    return None


def _up_to(order: tuple[SortKey, ...], known: Mapping[Attr, Expr], *, before: bool) -> Expr:
    """The rows not after (or not before) the one whose order keys have the known values."""
    out: list[Expr] = []
    equal: list[Expr] = []
    for key in order:
        value = substituted(key.expr, known)
        out.append(conjunction(*equal, _strictly(key, value, before)))
        equal.append(Compare("<=>", key.expr, value))
    return disjunction(*out, conjunction(*equal))


def _strictly(key: SortKey, value: Expr, before: bool) -> Expr:
    """The key comes before (or after) a value; nulls come first or last, as the sort key says."""
    smaller = Compare("<" if key.ascending == before else ">", key.expr, value)
    if key.nulls_first == before:  # nulls come on that side of every value
        return conjunction(Not(IsNull(value)), disjunction(IsNull(key.expr), smaller))
    return disjunction(smaller, conjunction(IsNull(value), Not(IsNull(key.expr))))
