"""The types of fields in a document's nodes: how each is written, read and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from whence.errors import BadType, Damaged
from whence.rows.documents.origins import NotHeld
from whence.rows.documents.values import LONGEST, type_json, type_of, value_json, value_of
from whence.rows.expressions import Attr, Expr, Frame, Inside, SortKey
from whence.rows.operators import Named, Operator
from whence.rows.tree import Tree

WIDEST_INTEGER = 1 << 63
PARAMETER = re.compile(r"(-?\d{1,9}(?:\.-?\d{1,9})*)?:(-?\d{1,19})")  # a table of a trace plan, and the id of a column


class Writes(Protocol):
    """Gives out the numbers of nodes and columns in the document."""

    def add(self, tree: Tree) -> int: ...
    def number(self, part: object) -> int: ...
    def column(self, id: int) -> int: ...


class Reads(Protocol):
    """Returns the nodes that were already read."""

    def node(self, number: object, kind: type, where: str) -> Any: ...
    def column(self, number: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Field:
    """How one type of field is written and read."""

    write: Callable[[Any, Writes], object]
    read: Callable[[Any, Reads, str], Any]


def part(kind: type) -> Field:
    """A reference to an earlier node."""
    return Field(
        lambda value, writer: writer.number(value), lambda given, reader, where: reader.node(given, kind, where)
    )


def many(of: Field) -> Field:
    """A list of fields."""

    def read(given: Any, reader: Reads, where: str) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise Damaged(f"{where}: a list is expected, not {_shown(given)}")
        return tuple(of.read(each, reader, f"{where}[{place}]") for place, each in enumerate(given))

    return Field(lambda value, writer: [of.write(each, writer) for each in value], read)


def optional(of: Field) -> Field:
    """The field or null."""
    return Field(
        lambda value, writer: None if value is None else of.write(value, writer),
        lambda given, reader, where: None if given is None else of.read(given, reader, where),
    )


def _of_type(kind: type, what: str, fits: Callable[[Any], bool] = lambda _: True) -> Field:
    def read(given: Any, _: Reads, where: str) -> Any:
        if type(given) is not kind or not fits(given):
            raise Damaged(f"{where}: {what} is expected, not {_shown(given)}")
        return given

    return Field(lambda value, _: value, read)


def _number(given: Any, _: Reads, where: str) -> float:
    if type(given) not in (int, float) or not math.isfinite(given):
        raise Damaged(f"{where}: a number is expected, not {_shown(given)}")
    return float(given)


def _frame(given: Any, _: Reads, where: str) -> Frame:
    if not isinstance(given, list) or len(given) != 3 or not isinstance(given[0], str):
        raise Damaged(f"{where}: a frame is its unit and two bounds, not {_shown(given)}")
    for bound in given[1:]:
        if bound is not None and type(bound) not in (int, str):
            raise Damaged(f"{where}: a bound of a frame is a number, a text or null, not {_shown(bound)}")
    plain = not any(isinstance(bound, str) for bound in given[1:])
    try:
        unit, lower, upper = given
        return Frame(
            unit, lower, upper, None if plain else NotHeld("a bound of the window's frame is not a plain number")
        )
    except BadType as error:
        raise Damaged(f"{where}: {error}") from error


def _inside(value: Inside, writer: Writes) -> object:
    """Write a translated function. It is not a part of the function's tree, so its nodes are added here."""
    return [[writer.add(each) for each in value.parameters], writer.add(value.value), writer.add(value.domain)]


def _inside_of(given: Any, reader: Reads, where: str) -> Inside:
    if not isinstance(given, list) or len(given) != 3:
        raise Damaged(f"{where}: parameters, a value and a domain are expected, not {_shown(given)}")
    return Inside(*(field.read(each, reader, where) for field, each in zip((ATTRS, EXPR, EXPR), given, strict=True)))


def _parameter(value: str, writer: Writes) -> object:
    """Write the name of a parameter of a trace plan. It contains the id of a column, which documents renumber."""
    found = PARAMETER.fullmatch(value)
    return value if found is None else f"{found[1] or ''}:{writer.column(int(found[2]))}"


def _parameter_of(given: Any, reader: Reads, where: str) -> str:
    name: str = TEXT.read(given, reader, where)
    found = PARAMETER.fullmatch(name)
    return name if found is None else f"{found[1] or ''}:{reader.column(int(found[2]))}"


def _column_id(given: Any, reader: Reads, where: str) -> int:
    number: int = INTEGER.read(given, reader, where)
    return reader.column(number)


def _shown(given: object) -> str:
    return f"{type(given).__name__} {str(given)[:60]!r}"


TEXT = _of_type(str, f"a text of at most {LONGEST} characters", lambda text: len(text) <= LONGEST)
FLAG = _of_type(bool, "true or false")
INTEGER = _of_type(int, "an integer of 64 bits", lambda number: -WIDEST_INTEGER <= number < WIDEST_INTEGER)
NUMBER = Field(lambda value, _: value, _number)
TYPE = Field(lambda value, _: type_json(value), lambda given, _, where: type_of(given, where))
VALUE = Field(lambda value, _: value_json(value), lambda given, _, where: value_of(given, where))
FRAME = Field(lambda value, _: [value.unit, value.lower, value.upper], _frame)
PARAMETER_NAME = Field(_parameter, _parameter_of)
COLUMN_ID = Field(lambda value, writer: writer.column(value), _column_id)
EXPR, ATTR, NAMED, SORT_KEY, OPERATOR = part(Expr), part(Attr), part(Named), part(SortKey), part(Operator)
EXPRS, ATTRS, COLUMNS, SORT_KEYS, OPERATORS = many(EXPR), many(ATTR), many(NAMED), many(SORT_KEY), many(OPERATOR)
INSIDE = Field(_inside, _inside_of)
PATH = many(INTEGER)
