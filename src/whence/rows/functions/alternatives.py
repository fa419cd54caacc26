"""Operations on symbolic values with several alternatives: map, truth, elements."""

from __future__ import annotations

import types
from collections.abc import Callable, ItemsView, KeysView, ValuesView
from typing import TYPE_CHECKING

from whence.rows.expressions import FALSE, TRUE, Compare, Expr, IsNull, Literal
from whence.rows.functions import texts
from whence.rows.functions.numbers import Raised
from whence.rows.functions.refusal import ITEMS, Refusal
from whence.rows.functions.values import (
    VIEWS,
    Alternative,
    Bool,
    Const,
    Date,
    Float,
    Int,
    Item,
    Items,
    Match,
    Split,
    Stamp,
    Str,
    Value,
    as_type,
    both,
    combined,
    const,
    either,
    is_plain,
    lifted,
    negated,
    only,
)

if TYPE_CHECKING:
    from whence.rows.functions.looking import Looking


def each(value: Value, change: Callable[[Item], Item | Value], at: Looking) -> Value:
    """Apply an operation to each alternative of a value; an alternative that raises an error has no value."""
    parts: list[Alternative] = []
    for alternative in at.possible(value):
        with at.under(alternative.guard):
            try:
                made = change(alternative.item)
            except Raised as raised:
                at.fails(TRUE, raised.kind)
                continue
        values = made if isinstance(made, tuple) else only(made)
        parts += [Alternative(both(alternative.guard, one.guard), one.item) for one in values]
    return combined(parts) if parts else ()


def pairs(left: Value, right: Value, change: Callable[[Item, Item], Item | Value], at: Looking) -> Value:
    """Apply an operation to each pair of alternatives of two values."""
    return each(left, lambda a: each(right, lambda b: change(a, b), at), at)


def truth(value: Value) -> Expr:
    """Return the condition that Python's `bool(value)` is True."""
    if len(value) == 1:
        return _true(value[0].item)
    return either(FALSE, *(both(one.guard, _true(one.item)) for one in value))


def _true(item: Item) -> Expr:
    item = lifted(item)
    if isinstance(item, Bool):
        return item.expr
    if isinstance(item, Int):
        if item.low > 0 or item.high < 0:
            return TRUE
        return Compare("!=", item.expr, as_type(Literal(0, "long"), item.expr.dtype))
    if isinstance(item, Float):
        return Compare("!=", item.expr, Literal(0.0, "double"))
    if isinstance(item, Str):
        return texts.truth(item.expr)
    if isinstance(item, Split):
        return texts.truth(item.text) if item.words else TRUE
    if isinstance(item, Date | Stamp | Match):
        return TRUE
    if isinstance(item, Items):
        return TRUE if item.items else FALSE
    if isinstance(item, Const) and (
        is_plain(item.value) or type(item.value) in (list, tuple, dict, set, frozenset, types.FunctionType)
    ):
        return TRUE if item.value else FALSE
    raise Refusal("it tests the truth of a value of unknown type")


def truth_value(expr: Expr) -> Value:
    return const(expr == TRUE) if expr in (TRUE, FALSE) else only(Bool(expr))


def items_of(value: Value) -> tuple[Value, ...] | None:
    """Return the elements of a list of known length, in order; None if the value is no such list."""
    if len(value) != 1:
        return None
    item = value[0].item
    if isinstance(item, Items):
        return item.items
    if isinstance(item, Const) and isinstance(
        item.value, list | tuple | range | str | dict | KeysView | ValuesView | ItemsView
    ):
        if type(item.value) not in (list, tuple, range, str, dict, *VIEWS):
            return None
        if len(item.value) > ITEMS:
            raise Refusal("it iterates over a long list")
        return tuple(const(each) for each in item.value)
    return None


def none_or(expr: Expr, item: Item) -> Value:
    """Return the value of a column: None if it is NULL."""
    return (Alternative(IsNull(expr), Const(None)), Alternative(negated(IsNull(expr)), item))
