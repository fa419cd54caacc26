"""Translate operators to SQL for DuckDB, if DuckDB is known to compute them as Spark does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatchmethod

from whence.rows.duck.calls import scaled, whole
from whence.rows.duck.files import Files, row_sql
from whence.rows.duck.translate import translated, value_sql
from whence.rows.duck.types import DIGITS, FLOATS, WIDEST, decimal, duckdb_type
from whence.rows.expressions import AggCall, Attr, Expr, Literal, SortKey, attrs_of, fresh
from whence.rows.operators import (
    Aggregate,
    Arrange,
    Distinct,
    Filter,
    Join,
    Limit,
    Named,
    Operator,
    Project,
    Sort,
    Source,
    Union,
)  # fmt: skip
from whence.rows.questions.rows import INTEGERS
from whence.rows.tree import Tree

JOINED = {
    "inner": "JOIN",
    "cross": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "single": "LEFT JOIN",  # at most one match: otherwise Spark would have raised an error
    "semi": "SEMI JOIN",
    "anti": "ANTI JOIN",
}


class NotTranslatable(Exception):
    """The operator is not known to mean the same in both engines. `DuckQuery` catches it."""


def column_name(attr: Attr) -> str:
    """The name of a column in a query."""
    return f"x{attr.id}" if attr.id >= 0 else f"y{-attr.id}"


class QueryBuilder:
    """Translate operators to nested SELECTs, each with only the columns that are needed above it."""

    def __init__(self, files: Mapping[int, Files]) -> None:
        self._files = files
        self.read: dict[int, set[Attr]] = {}  # the columns of each use of a source
        self.numbered: set[int] = set()  # the uses of sources whose rows are numbered

    @singledispatchmethod
    def of(self, op: Operator, needed: frozenset[Attr]) -> str:
        raise NotTranslatable(type(op).__name__)

    @of.register
    def _(self, op: Source, needed: frozenset[Attr]) -> str:
        files = self._files.get(op.occurrence)
        if files is None:
            raise NotTranslatable(op.name)
        given = dict(zip(op.columns, files.columns, strict=True))
        names = files.names("s")
        used = [attr for attr in dict.fromkeys(op.columns) if attr in needed]
        self.read.setdefault(op.occurrence, set()).update(given[attr] for attr in used)
        shown = [(attr, names[given[attr]]) for attr in used]
        if op.row_id is not None and op.row_id in needed:
            self.numbered.add(op.occurrence)
            shown.append((op.row_id, row_sql("s")))
        return _select(shown, f"{files.sql()} AS s")

    @of.register
    def _(self, op: Arrange, needed: frozenset[Attr]) -> str:
        return self.of(op.child, needed)

    @of.register
    def _(self, op: Sort, needed: frozenset[Attr]) -> str:
        return self.of(op.child, needed)  # only a limit depends on the order

    @of.register
    def _(self, op: Limit, needed: frozenset[Attr]) -> str:
        """The first rows of an order. If there are ties at the end, the query raises an error, and Spark decides."""
        order, count = op.child, op.count.value if isinstance(op.count, Literal) else None
        if op.offset is not None or type(count) is not int or not isinstance(order, Sort) or not order.everywhere:
            raise NotTranslatable("Limit")
        keys = {key: fresh("key", key.dtype) for key in order.keys}
        child = self.of(order.child, needed | attrs_of(*keys))
        names = _names_of_columns(order.child.output, "t")
        kept = _passed_on(op, needed, names)
        values = [(attr, _grouping_sql(key.expr, names)) for key, attr in keys.items()]
        by = ", ".join(_order_sql(key, column_name(attr)) for key, attr in keys.items())
        top = f"{_select([*kept, *values], f'({child}) AS t')} ORDER BY {by} LIMIT {count + 1}"
        placed = (
            f"SELECT *, row_number() OVER o AS number, rank() OVER o AS place FROM ({top}) WINDOW o AS (ORDER BY {by})"
        )
        after = f"SELECT *, max(place) FILTER (WHERE number > {count}) OVER () AS after FROM ({placed})"
        tied = f"CASE WHEN after <= {count} THEN CAST(error('equal rows') AS BOOLEAN) ELSE number <= {count} END"
        return f"{_select([(attr, column_name(attr)) for attr, _ in kept], f'({after})')} WHERE {tied}"

    @of.register
    def _(self, op: Distinct, needed: frozenset[Attr]) -> str:
        if frozenset(op.keys) != frozenset(op.output):
            raise NotTranslatable("Distinct")
        child = self.of(op.child, frozenset(op.output))
        names = _names_of_columns(op.output, "d")
        values = [(attr, _grouping_sql(attr, names)) for attr in dict.fromkeys(op.output)]
        rows = f"SELECT DISTINCT {', '.join(value for _, value in values)} FROM ({child}) AS d"
        return _select(_passed_on(op, needed, names), f"({rows}) AS d")

    @of.register
    def _(self, op: Union, needed: frozenset[Attr]) -> str:
        places = [place for place, attr in enumerate(op.output) if attr in needed]
        parts = []
        for each in op.inputs:
            if any(each.output[place].dtype != op.output[place].dtype for place in places):
                raise NotTranslatable("a union of types")
            child = self.of(each, frozenset(each.output[place] for place in places))
            names = _names_of_columns(each.output, "u")
            shown = [(op.output[place], names[each.output[place]]) for place in places]
            parts.append(_select(shown, f"({child}) AS u"))
        return " UNION ALL ".join(parts)

    @of.register
    def _(self, op: Filter, needed: frozenset[Attr]) -> str:
        child = self.of(op.child, needed | op.condition.attrs)
        names = _names_of_columns(op.child.output, "f")
        where = _required(translated(op.condition, names))
        return f"{_select(_passed_on(op, needed, names), f'({child}) AS f')} WHERE {where}"

    @of.register
    def _(self, op: Project, needed: frozenset[Attr]) -> str:
        columns = _needed_columns(op.columns, needed)
        child = self.of(op.child, attrs_of(*(column.expr for column in columns)))
        return _select(_computed_sql(columns, _names_of_columns(op.child.output, "p")), f"({child}) AS p")

    @of.register
    def _(self, op: Join, needed: frozenset[Attr]) -> str:
        both = needed | (op.condition.attrs if op.condition is not None else frozenset())
        left = self.of(op.left, both & frozenset(op.left.output))
        right = self.of(op.right, both & frozenset(op.right.output))
        if frozenset(op.left.output) & frozenset(op.right.output):
            raise NotTranslatable("a join of equal columns")
        names = {**_names_of_columns(op.left.output, "l"), **_names_of_columns(op.right.output, "r")}
        on = "TRUE" if op.condition is None else _required(translated(op.condition, names))
        if op.flag is not None:
            found = f"EXISTS (SELECT 1 FROM ({right}) AS r WHERE {on})"
            shown = [*_passed_on(op.left, needed, names), (op.flag, found)]
            return _select(shown, f"({left}) AS l")
        return _select(_passed_on(op, needed, names), f"({left}) AS l {JOINED[op.how]} ({right}) AS r ON {on}")

    @of.register
    def _(self, op: Aggregate, needed: frozenset[Attr]) -> str:
        columns = _needed_columns(op.outputs, needed)
        keys = {key: fresh("key", key.dtype) for key in dict.fromkeys(op.keys)}
        calls: dict[AggCall, Attr] = {}
        shown = [Named(column.attr, _over_groups(column.expr, keys, calls)) for column in columns]
        child = self.of(op.child, attrs_of(*keys, *calls))
        names = _names_of_columns(op.child.output, "a")
        values = [(attr, _grouping_sql(key, names)) for key, attr in keys.items()]
        by = f" GROUP BY {', '.join(value for _, value in values)}" if values else ""
        values += [(attr, _aggregate_sql(call, names)) for call, attr in calls.items()]
        if not values:  # a global aggregate has one row, whatever is below
            values = [(fresh("rows", "long"), "count(*)")]
        groups = _select(values, f"({child}) AS a")
        inner = (*keys.values(), *calls.values())
        return _select(_computed_sql(shown, _names_of_columns(inner, "g")), f"({groups}{by}) AS g")


def _order_sql(key: SortKey, name: str) -> str:
    return f"{name} {'ASC' if key.ascending else 'DESC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _select(columns: Iterable[tuple[Attr, str]], rows: str) -> str:
    shown = ", ".join(f"{value} AS {column_name(attr)}" for attr, value in columns)
    return f"SELECT {shown or 'TRUE AS no'} FROM {rows}"


def _needed_columns(columns: Iterable[Named], needed: frozenset[Attr]) -> list[Named]:
    """The columns that are needed, without duplicates."""
    return list({column.attr: column for column in columns if column.attr in needed}.values())


def _names_of_columns(attrs: Iterable[Attr], alias: str) -> dict[Attr, str]:
    return {attr: f"{alias}.{column_name(attr)}" for attr in attrs}


def _passed_on(op: Operator, needed: frozenset[Attr], names: Mapping[Attr, str]) -> list[tuple[Attr, str]]:
    """The output columns that are needed above, with their names in the query."""
    return [(attr, names[attr]) for attr in dict.fromkeys(op.output) if attr in needed]


def _computed_sql(columns: Iterable[Named], names: Mapping[Attr, str]) -> list[tuple[Attr, str]]:
    return [(column.attr, _required(value_sql(column.expr, names))) for column in columns]


def _required(sql: str | None) -> str:
    """Raise unless the expression was translated."""
    if sql is None:
        raise NotTranslatable("an expression")
    return sql


def _grouping_sql(expr: Expr, names: Mapping[Attr, str]) -> str:
    """The SQL of a value to group by. Floats are refused, because 0.0 and -0.0 are equal but different."""
    if expr.dtype in FLOATS:
        raise NotTranslatable(expr.dtype)
    return _required(value_sql(expr, names))


def _over_groups(expr: Expr, keys: Mapping[Expr, Attr], calls: dict[AggCall, Attr]) -> Expr:
    """Replace group keys and aggregate calls in an output by attributes; outermost expressions first."""

    def change(part: Tree) -> Tree:
        if isinstance(part, Expr) and part in keys:
            return keys[part]
        if isinstance(part, AggCall):
            return calls.setdefault(part, fresh("call", part.dtype))
        return part.map_parts(change)

    made = change(expr)
    assert isinstance(made, Expr)
    return made


def _aggregate_sql(call: AggCall, names: Mapping[Attr, str]) -> str:
    if call.python or len(call.args) != 1:
        raise NotTranslatable(call.name)
    (arg,) = call.args
    if call.name == "bool_or":  # whence's own function
        return f"bool_or({_required(translated(arg, names))})"
    word = "DISTINCT " if call.distinct else ""
    where = "" if call.where is None else f" FILTER (WHERE {_required(translated(call.where, names))})"
    value = _grouping_sql(arg, names)
    if call.name == "Count":
        return f"count({word}{value}){where}"
    if call.name in ("Min", "Max") and call.dtype == arg.dtype:
        return f"{call.name.lower()}({value}){where}"
    made = {"Sum": _sum, "Average": _average}.get(call.name, _no_sql)(value, word, where, arg.dtype, call.dtype)
    if made is None:
        raise NotTranslatable(call.name)
    return made


def _no_sql(*_: str) -> None:
    return None


def _sum(value: str, word: str, where: str, old: str, new: str) -> str | None:
    """SUM. Of integers it is a long, and DuckDB raises an error on overflow; of decimals it has more digits."""
    before, after = decimal(old), decimal(new)
    made = f"CAST(sum({word}{value}){where} AS {duckdb_type(new)})"
    if before and after and before[1] == after[1]:
        if after[0] == before[0] + 10:  # enough for any number of rows
            return made
        if after[0] == WIDEST:  # Spark overflows even if only a partial sum does
            most = f"CAST(max(abs({value})){where} AS DOUBLE) * count({value}){where}"
            refusal = f"CAST(error('overflow') AS {duckdb_type(new)})"
            return f"CASE WHEN {most} >= 1e{WIDEST - 1 - after[1]} THEN {refusal} ELSE {made} END"
    return made if old in INTEGERS and new == "long" else None


def _average(value: str, word: str, where: str, old: str, new: str) -> str | None:
    """AVG of decimals: four more digits, rounded half up, computed with integers."""
    before, after = decimal(old), decimal(new)
    if not before or not after or after != (before[0] + 4, before[1] + 4) or after[0] + after[1] + 1 > WIDEST:
        return None
    integer = "BIGINT" if before[0] + before[1] + 1 <= DIGITS["long"] - 1 else "HUGEINT"
    total, count = f"sum({word}{whole(value, before[1], integer)}){where}", f"count({word}{value}){where}"
    rounded = f"(2 * abs({total}) * 10000 + {count}) // (2 * {count})"
    made = scaled(f"sign({total}) * ({rounded})", after[1], str(duckdb_type(new)), after[0])
    return f"CASE WHEN {count} > 0 THEN {made} END"
