"""The column types of the catalog: SQLite stores any type in any column, so values are checked when they are read."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import sqlalchemy as sa

from whence.errors import Damaged

DAMAGED = "the catalog is damaged: {what}; `whence check` says where, restore the catalog from a backup"


def refuse(what: str, error: Exception | None = None) -> NoReturn:
    """Raise Damaged: the catalog contains an invalid value."""
    raise Damaged(DAMAGED.format(what=what)) from error


class Number(sa.TypeDecorator[int]):
    """A 64-bit integer."""

    impl: Any = sa.BigInteger
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Check that the value is an integer."""
        return value if value is None or type(value) is int else refuse(f"{value!r:.40} is no whole number")


class SmallNumber(Number):
    """A 32-bit integer."""

    impl = sa.Integer
    cache_ok = True


class Words(sa.TypeDecorator[str]):
    """A string."""

    impl = sa.Text
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Check that the value is a valid string."""
        return value if value is None or type(value) is str else refuse(f"{value!r:.40} is no text")


class Digits(Words):
    """An integer of any size, as a string of digits."""

    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Check that the value is a valid string."""
        found = super().process_result_value(value, dialect)
        return found if found is None or found.isdecimal() else refuse(f"{value!r:.40} is no whole number")


class Content(sa.TypeDecorator[bytes]):
    """Bytes."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Check that the value is bytes."""
        return (
            value if value is None or isinstance(value, bytes | memoryview) else refuse(f"{value!r:.40} is no content")
        )


class Document(sa.TypeDecorator[Any]):
    """A JSON object or list."""

    impl = sa.JSON
    cache_ok = True

    def coerce_compared_value(self, op: Any, value: Any) -> Any:
        """Do the same as `sa.JSON`."""
        return self.impl_instance.coerce_compared_value(op, value)

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Any:
        """Parse JSON; raise Damaged if it is invalid."""
        read = super().result_processor(dialect, coltype)

        def checked(value: Any) -> Any:
            try:
                found = read(value) if read is not None else value
            except (ValueError, TypeError, RecursionError) as error:
                refuse(f"{value!r:.40} is not JSON", error)
            return found if value is None or self.holds(found) else refuse(f"{json.dumps(found):.40} is out of place")

        return checked

    def holds(self, found: Any) -> bool:
        """Whether the value is valid in this column."""
        return found is None or isinstance(found, dict | list)


class Properties(Document):
    """A JSON object: values by name."""

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
    """Return SQLite's condition that a value has another type than its column; None if any value is valid."""
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
