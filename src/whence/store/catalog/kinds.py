"""The kinds of values in the catalog: SQLite keeps anything in any column, so values are looked at when read."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import sqlalchemy as sa

from whence.errors import Damaged

DAMAGED = "the catalog is damaged: {what}; `whence check` says where, restore the catalog from a backup"


def refuse(what: str, error: Exception | None = None) -> NoReturn:
    """Say that the catalog holds what it cannot hold."""
    raise Damaged(DAMAGED.format(what=what)) from error


class Number(sa.TypeDecorator[int]):
    """A whole number of 64 bits."""

    impl: Any = sa.BigInteger
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """The number that was read."""
        return value if value is None or type(value) is int else refuse(f"{value!r:.40} is no whole number")


class SmallNumber(Number):
    """A whole number of 32 bits."""

    impl = sa.Integer
    cache_ok = True


class Words(sa.TypeDecorator[str]):
    """A text."""

    impl = sa.Text
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """The text that was read."""
        return value if value is None or type(value) is str else refuse(f"{value!r:.40} is no text")


class Digits(Words):
    """A whole number of any size, as a text."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """The text that was read."""
        found = super().process_result_value(value, dialect)
        return found if found is None or found.isdecimal() else refuse(f"{value!r:.40} is no whole number")


class Content(sa.TypeDecorator[bytes]):
    """Bytes."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """The bytes that were read."""
        return (
            value if value is None or isinstance(value, bytes | memoryview) else refuse(f"{value!r:.40} is no content")
        )


class Document(sa.TypeDecorator[Any]):
    """An object or a list of JSON."""

    impl = sa.JSON
    cache_ok = True

    def coerce_compared_value(self, op: Any, value: Any) -> Any:
        """As JSON has it."""
        return self.impl_instance.coerce_compared_value(op, value)

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Any:
        """JSON that cannot be read is damage, whatever the reader says of it."""
        read = super().result_processor(dialect, coltype)

        def checked(value: Any) -> Any:
            try:
                found = read(value) if read is not None else value
            except (ValueError, TypeError, RecursionError) as error:
                refuse(f"{value!r:.40} is not JSON", error)
            return found if value is None or self.holds(found) else refuse(f"{json.dumps(found):.40} is out of place")

        return checked

    def holds(self, found: Any) -> bool:
        """Whether the column may hold it."""
        return found is None or isinstance(found, dict | list)


class Properties(Document):
    """Values by name."""

    impl = sa.JSON
    cache_ok = True

    def holds(self, found: Any) -> bool:
        """Whether it is an object."""
        return isinstance(found, dict)


class Shape(Document):
    """The shape of an array."""

    impl = sa.JSON
    cache_ok = True

    def holds(self, found: Any) -> bool:
        """Whether it is a list of lengths."""
        return isinstance(found, list) and all(type(each) is int and 0 <= each < 1 << 63 for each in found)


def misplaced(column: sa.Column[Any]) -> sa.ColumnElement[bool] | None:
    """The condition, for SQLite, that a value is of another kind than its column; None if any value will do."""
    name = f'"{column.name}"'
    json_type = f"CASE WHEN json_valid({name}) THEN json_type({name}) ELSE 'none' END"
    conditions = {
        Number: f"typeof({name}) != 'integer'",
        SmallNumber: f"typeof({name}) != 'integer'",
        Words: f"typeof({name}) != 'text'",
        Digits: f"(typeof({name}) != 'text' OR {name} = '' OR {name} GLOB '*[^0-9]*')",
        Content: f"typeof({name}) != 'blob'",
        Document: f"{json_type} NOT IN ('object', 'array', 'null')",
        Properties: f"{json_type} != 'object'",
        Shape: f"{json_type} != 'array'",
    }
    condition = conditions.get(type(column.type))
    return None if condition is None else sa.literal_column(f"{name} IS NOT NULL AND {condition}", sa.Boolean)
