"""Find pivots, which Catalyst has turned into aggregates, and mark the rows whose value became a column.

before: Aggregate by city: city, pivotfirst(kind, n)
after:  Aggregate by city: city, pivotfirst(kind, n), of rows where kind in ('a', 'b')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from whence.rows import AggCall, Attr, Call, Compare, Expr, Literal, Named, disjunction, walk
from whence.spark.catalyst.expressions import literal, tree_of
from whence.spark.catalyst.jvm import Origin, items
from whence.spark.catalyst.shared import Compact

MakeLiteral = Callable[[Any, Any], Any]  # makes Catalyst's literal from a value and a type


def listed(outputs: Iterable[Named], make: MakeLiteral, compact: Compact) -> Expr | None:
    """Return the condition on input rows of an aggregate that a pivot shows, or None if it is not a pivot.

    Catalyst writes `pivotfirst(k, value, 'a', 'b')` over an aggregate by `k`. If the type of the value does not allow
    that, it writes `f(if(k <=> cast('a' as string), value, null))` for each of the values.
    """
    calls = [part for column in outputs for part in walk(column.expr) if isinstance(part, AggCall)]
    for call in calls:
        if call.name == "PivotFirst":
            return disjunction(*(Compare("<=>", call.args[0], each) for each in _pivot_values(call, make, compact)))
    found = [_pivot_condition(arg) for call in calls for arg in call.args]
    conditions = [each for each in found if each is not None]
    if not conditions or len(conditions) < len(found) or len({each.left for each in conditions}) > 1:
        return None
    return disjunction(*dict.fromkeys(conditions))


def _pivot_condition(arg: Expr) -> Compare | None:
    """The condition of `if(k <=> cast('a' as string), value, null)`.

    For a pivot, Catalyst casts even a string to string. An aggregate without this cast was written by a user, and all
    rows of the group contribute to it.
    """
    if not (isinstance(arg, Call) and arg.name == "If"):
        return None
    condition, _, otherwise = arg.args
    same = isinstance(condition, Compare) and condition.op == "<=>" and _is_cast(condition.right)
    nothing = [part for part in walk(otherwise) if isinstance(part, Literal | Attr)]
    if not same or len(nothing) != 1 or not isinstance(nothing[0], Literal) or nothing[0].value is not None:
        return None
    assert isinstance(condition, Compare)
    return condition


def _is_cast(value: Expr) -> bool:
    return isinstance(value, Call) and value.name == "Cast" and not value.attrs


def _pivot_values(call: AggCall, make: MakeLiteral, compact: Compact) -> Iterable[Literal]:
    assert isinstance(call.origin, Origin)
    function: Any = call.origin.java.aggregateFunction()
    dtype = call.args[0].dtype
    for value in items(function.pivotColumnValues()):
        if hasattr(value, "_target_id"):  # a JVM object: strings, decimals, structs
            made = make(value, function.pivotColumn().dataType())
            yield literal(tree_of(made, compact))
        else:
            yield Literal(_python_value(value, dtype), dtype)


def _python_value(value: Any, dtype: str) -> object:
    """Convert a value of Catalyst to Python. In Catalyst, dates and times are integers."""
    if value is None or dtype not in ("date", "timestamp", "timestamp_ntz"):
        return value
    if dtype == "date":
        return date(1970, 1, 1) + timedelta(days=value)
    return datetime(1970, 1, 1, tzinfo=UTC if dtype == "timestamp" else None) + timedelta(microseconds=value)
