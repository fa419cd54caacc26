"""The arguments of an aggregate function: which of them its value comes from, and whose NULLs it leaves out."""

from __future__ import annotations

from whence.rows.cells.terms import both
from whence.rows.expressions import AggCall, Expr, IsNull, Literal, Not, WindowCall

BY = {"MaxBy": "max", "MinBy": "min"}
"""`max_by(a, b)` returns the `a` of the row with the largest `b`: here the function that finds this `b`."""

PICKED = frozenset({"First", "Last", "AnyValue", "NthValue"})  # they may pick NULL as a value
OF_FIRST = frozenset({*BY, "ListAgg"})  # the other arguments only choose or order values
NULLS_OF_FIRST = frozenset({"ListAgg", "HistogramNumeric", "CountMinSketchAgg"})  # NULLs of other arguments count


def value_arguments(call: AggCall | WindowCall) -> tuple[Expr, ...]:
    """The arguments whose cells the value is computed from."""
    return call.args[:1] if call.name in OF_FIRST else call.args


def deciding_arguments(call: AggCall | WindowCall) -> tuple[Expr, ...]:
    """The arguments that only choose or order values: selection lineage."""
    return call.args[1:] if call.name in OF_FIRST else ()


def null_arguments(call: AggCall | WindowCall) -> tuple[Expr, ...]:
    """The arguments that leave a row out if one of them is NULL there."""
    if call.python or (call.name in PICKED and "ignoreNulls=true" not in call.detail):
        return ()
    args = call.args[1:] if call.name in BY else call.args[:1] if call.name in NULLS_OF_FIRST else call.args
    return tuple(arg for arg in args if not isinstance(arg, Literal))


def entering(call: AggCall | WindowCall) -> Expr | None:
    """The condition on rows that count: those that FILTER keeps and that have no NULL; None for all rows."""
    where = call.where
    for arg in null_arguments(call):
        where = both(where, Not(IsNull(arg)))
    return where
