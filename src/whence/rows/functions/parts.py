"""Parts of values: attributes, slices, items of lists and dictionaries."""

from __future__ import annotations

import re
import types
from datetime import datetime
from typing import TYPE_CHECKING

from whence.rows.expressions import FALSE, Call
from whence.rows.functions import texts
from whence.rows.functions.numbers import Raised
from whence.rows.functions.operators import one_of
from whence.rows.functions.refusal import ITEMS, Refusal
from whence.rows.functions.values import (
    Bool,
    Const,
    Date,
    Days,
    Int,
    Item,
    Items,
    Match,
    Method,
    Split,
    Stamp,
    Str,
    Value,
    as_type,
    const,
    either,
    is_none,
    is_plain,
    lifted,
    merged,
    negated,
    only,
)

if TYPE_CHECKING:
    from whence.rows.functions.looking import Looking

OF_DATES = {"year": "Year", "month": "Month", "day": "DayOfMonth"}
CLOCK = frozenset({"ClockDate", "ClockPart"})  # whence's own calls, which Spark does not have
OF_CLOCKS = {"hour": 23, "minute": 59, "second": 59, "microsecond": 999_999}


def day_of(item: Stamp) -> Date:
    """Return the date of a datetime."""
    return Date(Call("ClockDate", (item.expr,), "date"))


def attribute(item: Item, name: str) -> Item:
    if isinstance(item, Const) and isinstance(item.value, types.ModuleType):
        if not hasattr(item.value, name):
            raise Raised(AttributeError)
        return Const(getattr(item.value, name))
    if isinstance(item, Const) and type(item.value) is datetime and name in (*OF_DATES, *OF_CLOCKS):
        return Const(getattr(item.value, name))
    item_ = lifted(item)
    if isinstance(item_, Date) and name in OF_DATES:
        low, high = {"year": (1, 9999), "month": (1, 12), "day": (1, 31)}[name]
        return Int(as_type(Call(OF_DATES[name], (item_.expr,), "integer"), "long"), low, high)
    if isinstance(item_, Stamp) and name in OF_DATES:
        return attribute(day_of(item_), name)
    if isinstance(item_, Stamp) and name in OF_CLOCKS:
        return Int(Call("ClockPart", (item_.expr,), "long", name), 0, OF_CLOCKS[name])
    if isinstance(item_, Days) and name == "days":
        return item_.days
    if isinstance(item, Const) and isinstance(item.value, re.Pattern) and name in ("search", "match", "fullmatch"):
        return Method(only(item), name)
    if isinstance(item_, Str | Date | Stamp | Match | Split) or (
        isinstance(item, Const) and type(item.value) in (dict, str)
    ):
        return Method(only(item), name)
    if isinstance(item, Const) and item.value is None:
        raise Raised(AttributeError)
    raise Refusal(f"the attribute {name!r} of something that is not translated")


def sliced(item: Item, start: int | None, stop: int | None) -> Item:
    if isinstance(item, Const) and type(item.value) in (str, list, tuple):
        return Const(item.value[start:stop])  # type: ignore[index]  # one of these
    item = lifted(item)
    if isinstance(item, Str):
        return Str(texts.sliced(item.expr, start, stop))
    if isinstance(item, Const) and item.value is None:
        raise Raised(TypeError)
    raise Refusal("a slice of something that is not a string")


def item_at(owner: Item, key: Item, at: Looking) -> Item | Value:
    if isinstance(owner, Const) and type(owner.value) is dict:
        return looked_up(owner.value, key, None, at)
    place = key.value if isinstance(key, Const) else None
    if isinstance(owner, Const) and owner.value is None:
        raise Raised(TypeError)
    if type(place) is not int:
        return _chosen(owner, key, at)
    if isinstance(owner, Const) and type(owner.value) in (str, list, tuple):
        try:
            return Const(owner.value[place])  # type: ignore[index]  # one of these
        except IndexError:
            raise Raised(IndexError) from None
    if isinstance(owner, Str):
        return Str(texts.at(owner.expr, place, at))
    if isinstance(owner, Split):
        return Str(texts.part(owner, place, at))
    if isinstance(owner, Items):
        try:
            return owner.items[place]
        except IndexError:
            raise Raised(IndexError) from None
    raise Refusal("it indexes something that is not translated")


def _chosen(owner: Item, key: Item, at: Looking) -> Value:
    """`["Mon", "Tue", ...][day.weekday()]`: the item of a constant list at a computed place."""
    listed = owner.value if isinstance(owner, Const) else None
    if type(listed) in (list, tuple) and is_none(key):
        raise Raised(TypeError)
    if type(listed) not in (list, tuple) or not isinstance(lifted(key), Int | Bool):
        raise Refusal("it indexes with something that is not a constant")
    assert isinstance(listed, list | tuple)
    places = range(-len(listed), len(listed))
    return looked_up({place: listed[place] for place in places}, key, None, at, IndexError)


def looked_up(
    table: dict[object, object], key: Item, default: Value | None, at: Looking, error: type[Exception] = KeyError
) -> Value:
    """`table[key]`, or `table.get(key, default)`."""
    if len(table) > ITEMS:
        raise Refusal(f"it looks something up among {len(table)} keys")
    if not all(is_plain(each) for each in table) or not all(is_plain(each) for each in table.values()):
        raise Refusal("it looks something up among objects")
    if isinstance(key, Items | Split | Match | Method) or (isinstance(key, Const) and not is_plain(key.value)):
        raise Refusal("it looks up something that is not a plain value")
    groups: dict[tuple[type, object], list[object]] = {}
    for each, value in table.items():  # group the keys by value
        groups.setdefault((type(value), repr(value)), []).append(each)
    tests = [(one_of(key, keys, at), table[keys[0]]) for keys in groups.values()]
    tests = [(test, value) for test, value in tests if test != FALSE]
    if default is None:
        there = either(FALSE, *(test for test, _ in tests))
        if there == FALSE:
            raise Raised(error)
        at.fails(negated(there), error)
    result: Value = default or ()
    for test, value in reversed(tests):
        result = merged(test, const(value), result) if result else const(value)
    return result
