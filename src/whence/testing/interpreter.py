"""Run plans in Python, row by row, with the lineage of every row: slow, simple, and without Spark.

`run` is the oracle. `trace` follows a trace plan over the same tables, as tracing from saved results does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, partial
from typing import Any

from whence.rows import operators as o
from whence.rows.expressions import (
    AggCall,
    And,
    Attr,
    Call,
    Compare,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Param,
    SortKey,
    WindowCall,
)
from whence.rows.operators.join import LEFT_ONLY
from whence.rows.saving import OUTPUT, PlanPath, TracePlan, param
from whence.rows.tree import Tree

Tables = Mapping[str, Sequence[tuple[Any, ...]]]
Values = Mapping[Any, Any]  # of attributes, or of parameters by name
RowId = tuple[int, int]  # the use of a source, and the row number


@dataclass(frozen=True, slots=True)
class Row:
    """A row, and the source rows that it came from."""

    values: dict[Attr, Any]
    lineage: frozenset[RowId]

    def shown(self, columns: Iterable[Attr]) -> tuple[Any, ...]:
        """The values of some columns."""
        return tuple(self.values[attr] for attr in columns)


def run(plan: o.Operator, tables: Tables, witness: str = "rows") -> list[Row]:
    """Return all rows of a plan's output, with their lineage.

    >>> from whence.rows import Attr, Compare, Filter, Literal, Source
    >>> a = Attr(1, "a", "long")
    >>> rows = run(Filter(Source("t", 0, (a,)), Compare(">", a, Literal(1, "long"))), {"t": [(1,), (2,)]})
    >>> [(row.shown([a]), sorted(row.lineage)) for row in rows]
    [((2,), [(0, 1)])]
    """
    below = [run(child, tables, witness) for child in plan.children]
    if isinstance(plan, o.Source):
        return list(_source(plan, tables))
    if isinstance(plan, o.Filter):
        return [row for row in below[0] if evaluate(plan.condition, row.values) is True]
    if isinstance(plan, o.Project):
        return [
            Row({column.attr: evaluate(column.expr, row.values) for column in plan.columns}, row.lineage)
            for row in below[0]
        ]
    if isinstance(plan, o.Join):
        return list(_join(plan, *below))
    if isinstance(plan, o.Aggregate):
        return _aggregate(plan, below[0], witness)
    if isinstance(plan, o.Distinct):
        return [Row(group[0].values, _union(group)) for group in _groups(plan.keys, below[0]).values()]
    if isinstance(plan, o.Union):
        return [
            Row(dict(zip(plan.columns, row.shown(child.output), strict=True)), row.lineage)
            for child, rows in zip(plan.inputs, below, strict=True)
            for row in rows
        ]
    if isinstance(plan, o.Window):
        return list(_window(plan, below[0]))
    if isinstance(plan, o.Sort):
        return sorted(below[0], key=cmp_to_key(partial(_compare_rows, plan.keys)))
    if isinstance(plan, o.Limit):
        assert isinstance(plan.count, Literal)
        assert isinstance(plan.count.value, int)
        return below[0][: plan.count.value]
    if isinstance(plan, o.Arrange):
        return below[0]
    raise NotImplementedError(type(plan).__name__)


def trace(found: TracePlan, plan: o.Operator, tables: Tables, asked: Sequence[Values]) -> frozenset[RowId]:
    """Return the source rows that a trace plan finds for output rows, which are given by all their columns."""
    rows: dict[PlanPath, list[Values]] = {OUTPUT: [_parameters(OUTPUT, plan.output, row) for row in asked]}
    for saved in found.saved:
        all_rows = {row.shown(saved.columns): row.values for row in run(saved.operator, tables)}
        led_to = [row for row in all_rows.values() if _holds_for_some(saved.predicate, row, rows[saved.table])]
        rows[saved.place] = [_parameters(saved.place, saved.columns, row) for row in led_to]
    return frozenset(
        identity
        for use in found.uses
        for row in _source(use.source, tables)
        if _holds_for_some(use.predicate, row.values, rows[use.table])
        for identity in row.lineage
    )


def evaluate(expr: Tree, values: Values) -> Any:
    """Return the value of an expression for one row; NULL is None."""
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Attr):
        return values[expr]
    if isinstance(expr, Param):
        return values[expr.name]
    if isinstance(expr, And | Or):
        return _logic(expr, values)
    if isinstance(expr, Not):
        value = evaluate(expr.arg, values)
        return None if value is None else not value
    if isinstance(expr, IsNull):
        return evaluate(expr.arg, values) is None
    if isinstance(expr, Compare):
        return _compare(expr.op, evaluate(expr.left, values), evaluate(expr.right, values))
    if isinstance(expr, In):
        value, choices = evaluate(expr.arg, values), [evaluate(each, values) for each in expr.values]
        if value is None:
            return None
        return True if value in choices else None if None in choices else False
    if isinstance(expr, Call) and expr.name == "Add":
        one, other = (evaluate(each, values) for each in expr.args)
        return None if one is None or other is None else one + other
    raise NotImplementedError(str(expr))


def _logic(expr: And | Or, values: Values) -> bool | None:
    deciding = isinstance(expr, Or)
    found = [evaluate(each, values) for each in expr.args]
    return deciding if deciding in found else None if None in found else not deciding


def _compare(op: str, one: Any, other: Any) -> bool | None:
    if op == "<=>":
        return bool(one == other)
    if one is None or other is None:
        return None
    results = {"=": one == other, "!=": one != other, "<": one < other, "<=": one <= other, ">": one > other}
    return bool(results.get(op, one >= other))


def _holds_for_some(predicate: Expr, row: Values, table: Iterable[Values]) -> bool:
    """Whether a predicate is true for a row with some row of a table."""
    return any(evaluate(predicate, {**row, **parameters}) is True for parameters in table)


def _parameters(place: PlanPath, columns: Iterable[Attr], row: Values) -> Values:
    return {param(place, attr).name: row[attr] for attr in columns}


def _source(source: o.Source, tables: Tables) -> Iterator[Row]:
    for number, values in enumerate(tables[source.name]):
        yield Row(dict(zip(source.columns, values, strict=True)), frozenset({(source.occurrence, number)}))


def _join(plan: o.Join, left: list[Row], right: list[Row]) -> Iterator[Row]:
    def matches(one: Row, other: Row) -> bool:
        return plan.condition is None or evaluate(plan.condition, {**one.values, **other.values}) is True

    found = [(one, [other for other in right if matches(one, other)]) for one in left]
    if plan.how in LEFT_ONLY:
        yield from _lets_through(plan, found)
        return
    nothing_left = Row(dict.fromkeys(plan.left.output), frozenset())
    nothing_right = Row(dict.fromkeys(plan.right.output), frozenset())
    pairs = [(one, other) for one, others in found for other in others]
    if plan.how in ("left", "full", "single"):
        pairs += [(one, nothing_right) for one, others in found if not others]
    if plan.how in ("right", "full"):
        pairs += [(nothing_left, other) for other in right if not any(matches(one, other) for one in left)]
    for one, other in pairs:
        yield Row({**one.values, **other.values}, one.lineage | other.lineage)


def _lets_through(plan: o.Join, found: list[tuple[Row, list[Row]]]) -> Iterator[Row]:
    for one, others in found:
        both = one.lineage | _union(others)
        if plan.flag is not None:
            yield Row({**one.values, plan.flag: bool(others)}, both)
        elif bool(others) == (plan.how == "semi"):
            yield Row(one.values, both)


def _groups(keys: Iterable[Expr], rows: Iterable[Row]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(evaluate(key, row.values) for key in keys), []).append(row)
    return found


def _aggregate(plan: o.Aggregate, rows: list[Row], witness: str) -> list[Row]:
    groups = _groups(plan.keys, rows) if plan.keys else {(): rows}
    made = []
    for key, group in groups.items():
        known: dict[Tree, Any] = dict(zip(plan.keys, key, strict=True))
        known |= {
            call: _summed(call.name, [evaluate(call.args[0], row.values) for row in group]) for call in plan.calls
        }
        values = {column.attr: known[column.expr] for column in plan.outputs}
        some = plan.witnessed and witness == "rows"  # only rows that attain the values count
        own = [row for row in group if not some or _attains(plan.calls, known, row)]
        made.append(Row(values, _union(own)))
    return made


def _attains(calls: Iterable[AggCall], known: Mapping[Tree, Any], row: Row) -> bool:
    return any(evaluate(call.args[0], row.values) == known[call] for call in calls)


def _summed(name: str, values: list[Any]) -> Any:
    there = [value for value in values if value is not None]
    functions: dict[str, Callable[[list[Any]], Any]] = {"Sum": sum, "Min": min, "Max": max}
    return len(there) if name == "Count" else functions[name](there) if there else None


def _window(plan: o.Window, rows: list[Row]) -> Iterator[Row]:
    """Frames of the whole partition, or from its start to the rows that are tied with the current one."""
    for group in _groups(plan.partition, rows).values():
        for row in group:
            values, lineage = dict(row.values), row.lineage
            for named in plan.calls:
                assert isinstance(named.expr, WindowCall)
                frame = named.expr.frame
                assert frame.whole or (frame.unit, frame.lower, frame.upper) == ("range", None, 0)
                seen = [each for each in group if frame.whole or _compare_rows(plan.order, each, row) <= 0]
                values[named.attr] = _summed(
                    named.expr.name, [evaluate(named.expr.args[0], each.values) for each in seen]
                )
                lineage |= _union(seen)
            yield Row(values, lineage)


def _compare_rows(keys: Sequence[SortKey], one: Row, other: Row) -> int:
    for key in keys:
        a, b = evaluate(key.expr, one.values), evaluate(key.expr, other.values)
        if a == b:
            continue
        if a is None or b is None:
            return -1 if (a is None) == key.nulls_first else 1
        return -1 if (a < b) == key.ascending else 1
    return 0


def _union(rows: Iterable[Row]) -> frozenset[RowId]:
    return frozenset().union(*(row.lineage for row in rows))
