"""The columns of row ids, and the expressions that combine them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from whence.rows.expressions import AggCall, Attr, Call, Expr, Literal, fresh
from whence.rows.operators import Named, Operator

LONG = "long"
LIST = '{"type":"array","elementType":"long","containsNull":true}'


@dataclass(frozen=True, slots=True)
class Ids:
    """A column of ids: one id per row, or a list of them. NULL means none."""

    attr: Attr
    many: bool = False


IdColumns: TypeAlias = Mapping[int, Ids]  # by the occurrence of the source


@dataclass(frozen=True, slots=True)
class Tagged:
    """An operator with columns of ids; `ids` says which columns these are."""

    plan: Operator
    ids: IdColumns
    reasons: tuple[str, ...] = ()  # why there may be more ids than the lineage has


def array_of(dtype: str) -> str:
    """The type of a list."""
    return f'{{"type":"array","elementType":{_quoted_type(dtype)},"containsNull":true}}'


def struct_of(fields: Mapping[str, str]) -> str:
    """The type of a struct.

    >>> struct_of({"a": "long"})
    '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
    """
    inner = ",".join(
        f'{{"name":"{name}","type":{_quoted_type(dtype)},"nullable":true,"metadata":{{}}}}'
        for name, dtype in fields.items()
    )
    return f'{{"type":"struct","fields":[{inner}]}}'


def _quoted_type(dtype: str) -> str:
    return dtype if dtype.startswith("{") else f'"{dtype}"'


def new_ids(occurrence: int, many: bool = True) -> Ids:
    return Ids(fresh(f"_ids_{occurrence}", LIST if many else LONG), many)


def nothing(many: bool) -> Expr:
    """The expression for no ids."""
    return Literal(None, LIST if many else LONG)


_ZERO = Call("array", (Literal(0, LONG),), LIST)
EMPTY = Call("array_except", (_ZERO, _ZERO), LIST)  # `array()` alone would have no type


def as_list(ids: Ids) -> Expr:
    """The ids of a row as a list, never NULL."""
    return listed(ids.attr, ids.many)


def listed(ids: Expr, many: bool) -> Expr:
    """The same for an expression: one id, or a list of them."""
    if many:
        return Call("coalesce", (ids, EMPTY), LIST)
    return Call("array_compact", (Call("array", (ids,), LIST),), LIST)


def collected(ids: Ids) -> Expr:
    """The aggregate that collects the ids of all rows of a group, without duplicates."""
    if ids.many:
        # Rows that matched the same rows in a semi-join have equal lists; collect each once.
        lists = AggCall("collect_set", (ids.attr,), array_of(LIST))
        return Call("array_distinct", (Call("flatten", (lists,), LIST),), LIST)
    return AggCall("collect_set", (ids.attr,), LIST)


def gathered(ids: IdColumns) -> tuple[dict[int, Ids], tuple[Named, ...]]:
    """Return new columns for the ids of a group, and their expressions."""
    fresh_ids = {occurrence: new_ids(occurrence) for occurrence in ids}
    return fresh_ids, tuple(Named(fresh_ids[number].attr, collected(each)) for number, each in ids.items())
