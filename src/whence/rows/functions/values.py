"""Symbolic values of a function's variables: their alternatives, each with a condition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeAlias

from whence.rows.expressions import (
    FALSE,
    TRUE,
    Call,
    Compare,
    Expr,
    Literal,
    Not,
    Or,
    conjunction,
    conjuncts,
    disjunction,
)
from whence.rows.functions.refusal import TEXT, Refusal

LONG = (-(1 << 63), (1 << 63) - 1)
INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
DIGITS = 38  # of the widest decimal
_EMPTY: dict[object, object] = {}
VIEWS: tuple[type, ...] = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))


@dataclass(frozen=True, slots=True)
class Int:
    """An integer between two bounds; its expression is a long or a decimal without a fraction."""

    expr: Expr
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class _Computed:
    """A value that an expression computes; the class says its Python type."""

    expr: Expr


class Float(_Computed):
    __slots__ = ()


class Str(_Computed):
    __slots__ = ()


class Bool(_Computed):
    __slots__ = ()


class Date(_Computed):
    __slots__ = ()


class Stamp(_Computed):
    """A `datetime` without a time zone; its expression is a long, the microseconds since 1970."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of `text.split(by)`. If `words`, those of `text.split()`; the text then has no space at its ends."""

    text: Expr
    by: str
    words: bool = False


@dataclass(frozen=True, slots=True)
class Days:
    """The difference of two dates."""

    days: Int


@dataclass(frozen=True, slots=True)
class Match:
    """A match object of `re`."""


class Other(_Computed):
    """A value of any other type. Only whether it is None is translated."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A Python object that is the same in every call: None, a string, number, collection, function or module."""

    value: object


@dataclass(frozen=True, slots=True)
class Method:
    """A bound method of a value."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list or tuple that the function creates."""

    items: tuple[Value, ...]


Item: TypeAlias = Int | Float | Str | Bool | Date | Stamp | Split | Days | Match | Other | Const | Method | Items


@dataclass(frozen=True, slots=True)
class Alternative:
    """One possible value, if `guard` is true. The guards of alternatives exclude each other."""

    guard: Expr
    item: Item


Value: TypeAlias = tuple[Alternative, ...]  # if no guard is true, the function has raised an error


def is_none(item: Item) -> bool:
    return isinstance(item, Const) and item.value is None


def only(item: Item) -> Value:
    """Return a value with one alternative."""
    return (Alternative(TRUE, item),)


def const(value: object) -> Value:
    return only(Const(value))


def constant(value: Value) -> Const | None:
    """Return the constant, if the value is one."""
    if len(value) == 1 and isinstance(value[0].item, Const) and value[0].guard == TRUE:
        return value[0].item
    return None


# --- expressions, with simple simplifications


def both(*args: Expr) -> Expr:
    return conjunction(*args)


def either(*args: Expr) -> Expr:
    return disjunction(*args)


_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def negated(expr: Expr) -> Expr:
    """NOT. A comparison becomes its opposite, which is correct with Spark's total order."""
    if expr == TRUE:
        return FALSE
    if expr == FALSE:
        return TRUE
    if isinstance(expr, Not):
        return expr.arg
    if isinstance(expr, Compare) and expr.op in _OPPOSITE:
        return Compare(_OPPOSITE[expr.op], expr.left, expr.right)
    return Not(expr)


def case(guard: Expr, then: Expr, otherwise: Expr) -> Expr:
    """CASE WHEN. A CASE in the ELSE becomes further branches."""
    if guard == TRUE or then == otherwise:
        return then
    if guard == FALSE:
        return otherwise
    if then.dtype == "boolean" and then in (TRUE, FALSE) and otherwise in (TRUE, FALSE):
        return guard if then == TRUE else negated(guard)
    if isinstance(otherwise, Call) and otherwise.name == "CaseWhen" and otherwise.dtype == then.dtype:
        return Call("CaseWhen", (guard, then, *otherwise.args), then.dtype)
    return Call("CaseWhen", (guard, then, otherwise), then.dtype)


def long(value: int) -> Literal:
    return Literal(value, "long")


def text(value: str) -> Literal:
    return Literal(value, "string")


def as_type(expr: Expr, dtype: str) -> Expr:
    """Convert to a wider type."""
    if expr.dtype == dtype:
        return expr
    if isinstance(expr, Literal) and dtype == "long":
        return Literal(expr.value, dtype)
    if isinstance(expr, Literal) and dtype == "double" and isinstance(expr.value, int):
        return Literal(float(expr.value), dtype)
    return Call("Cast", (expr,), dtype, "evalMode=LEGACY")


# --- constants as expressions


def lifted(item: Item) -> Item:
    """Return a constant of a plain type as an expression; any other item unchanged."""
    if not isinstance(item, Const):
        return item
    value = item.value
    if type(value) is bool:
        return Bool(TRUE if value else FALSE)
    if type(value) is int:
        return whole(value)
    if type(value) is float:
        return Float(Literal(value, "double"))
    if type(value) is str:
        if len(value) > TEXT or not _encodes(value):
            raise Refusal("a constant string is too long, or not valid in Spark")
        return Str(text(value))
    if type(value) is date:
        return Date(Literal(value, "date"))
    if type(value) is datetime and value.tzinfo is None:
        return Stamp(long(microseconds(value)))
    return item


def microseconds(value: datetime) -> int:
    """The microseconds since 1970, in the clock time of the value."""
    return (value.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole(value: int) -> Int:
    if not LONG[0] <= value <= LONG[1]:
        raise Refusal("it uses a number of more than 64 bits")
    return Int(long(value), value, value)


def is_plain(value: object) -> bool:
    """Whether a constant has a type whose values are immutable and compare by value."""
    return value is None or type(value) in (bool, int, float, str, date, datetime, bytes)


# --- merging


def merged(guard: Expr, then: Value, otherwise: Value) -> Value:
    """Merge the values of a variable after two branches: `then` if `guard` is true, otherwise `otherwise`."""
    if guard == TRUE or then is otherwise:
        return then
    if guard == FALSE:
        return otherwise
    if not then:
        return otherwise
    if not otherwise:
        return then
    parts = [Alternative(both(guard, each.guard), each.item) for each in then]
    parts += [Alternative(both(negated(guard), each.guard), each.item) for each in otherwise]
    return combined(parts)


def combined(parts: Iterable[Alternative]) -> Value:
    """Merge alternatives of the same type into one."""
    possible = [part for part in parts if part.guard != FALSE]
    if len(possible) == 1:
        return (Alternative(TRUE, possible[0].item),)
    groups: dict[object, list[Alternative]] = {}
    for part in possible:
        item = part.item
        if (
            isinstance(item, Const)
            and is_plain(item.value)
            and item.value is not None
            and type(item.value) is not bytes
        ):
            item = lifted(item)
        key: object = type(item)
        if isinstance(item, Const):
            key = None if item.value is None else ("const", id(item.value))
        elif isinstance(item, Split | Match | Items | Method | Other):
            key = item
        groups.setdefault(key, []).append(Alternative(part.guard, item))
    found = [_one(group) for group in groups.values()]
    if len(found) == 1:
        return (Alternative(TRUE, found[0].item),)
    return tuple(found)


def _one(group: list[Alternative]) -> Alternative:
    first = group[0].item
    if len(group) == 1:
        return group[0]
    guard = either(*(each.guard for each in group))
    if isinstance(first, Const | Split | Match | Items | Method | Other):
        return Alternative(guard, first)
    if isinstance(first, Days):
        days = _one([Alternative(each.guard, each.item.days) for each in group if isinstance(each.item, Days)])
        assert isinstance(days.item, Int)
        return Alternative(guard, Days(days.item))
    if isinstance(first, Int):
        ints = [each.item for each in group if isinstance(each.item, Int)]
        dtype = widest([each.expr.dtype for each in ints])
        expr = _cases([(each.guard, as_type(item.expr, dtype)) for each, item in zip(group, ints, strict=True)])
        return Alternative(guard, Int(expr, min(each.low for each in ints), max(each.high for each in ints)))
    exprs = [(each.guard, each.item.expr) for each in group if isinstance(each.item, Float | Str | Bool | Date | Stamp)]
    return Alternative(guard, type(first)(_cases(exprs)))


def _cases(pairs: list[tuple[Expr, Expr]]) -> Expr:
    """Return a CASE of the pairs. The last guard is omitted: if none is true, there is no value."""
    found = pairs[-1][1]
    for guard, expr in reversed(pairs[:-1]):
        found = case(guard, expr, found)
    return found


def widest(dtypes: list[str]) -> str:
    """The narrowest of long and the decimals without a fraction that can represent all values."""
    sizes = [int(each[len("decimal(") :].split(",")[0]) for each in dtypes if each.startswith("decimal")]
    if not sizes:
        return "long"
    return f"decimal({max(*sizes, 19) if 'long' in dtypes else max(sizes)},0)"


def facts_of(expr: Expr) -> tuple[Expr, ...]:
    """The facts that follow from a condition."""
    if isinstance(expr, Not) and isinstance(expr.arg, Or):
        return tuple(fact for arg in expr.arg.args for fact in facts_of(negated(arg)))
    return (expr, *conjuncts(expr))
