"""Access to the fields of an OpenLineage event: each is checked, and errors name the event and the field."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whence.errors import BadGraph

Event = dict[str, Any]


@dataclass(frozen=True)
class Fields:
    """An object within an event."""

    event: str  # its name in messages
    path: str  # of this object within the event
    content: Event

    @classmethod
    def of(cls, value: object, event: str) -> Fields:
        """Return the fields of a whole event."""
        if not isinstance(value, Mapping):
            raise BadGraph(f"{event} is not an object, but {_shortened(value)}")
        return cls(event, "", dict(value))

    def __contains__(self, key: str) -> bool:
        return self.content.get(key) is not None

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def wrong(self, key: str, expected: str) -> BadGraph:
        """Return the error for a field with another type."""
        return BadGraph(f"{self.event}: {self._at(key)} is not {expected}, but {_shortened(self.content.get(key))}")

    def text(self, key: str) -> str:
        """Return a required field, a non-empty string."""
        value = self.content.get(key)
        if value is None or value == "":
            raise BadGraph(f"{self.event} has no {self._at(key)}, which OpenLineage requires")
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def optional(self, key: str) -> str | None:
        """Return a string, or None if it is missing."""
        return self.text(key) if key in self else None

    def time(self, key: str) -> tuple[dt.datetime, str]:
        """Return a time, and its original string."""
        text = self.text(key)
        try:
            found = dt.datetime.fromisoformat(text)
            return (found if found.tzinfo else found.replace(tzinfo=dt.UTC)).astimezone(dt.UTC), text
        except (ValueError, OverflowError):
            raise self.wrong(key, "a time such as 2026-01-31T12:00:00Z") from None

    def object(self, key: str) -> Fields:
        """Return an object, empty if it is missing."""
        value = self.content.get(key)
        if value is not None and not isinstance(value, Mapping):
            raise self.wrong(key, "an object")
        return Fields(self.event, self._at(key), dict(value or {}))

    def objects(self, key: str) -> list[Fields]:
        """Return a list of objects, empty if it is missing."""
        value = self.content.get(key)
        if value is not None and not isinstance(value, list):
            raise self.wrong(key, "a list")
        found = []
        for place, each in enumerate(value or ()):
            if not isinstance(each, Mapping):
                raise BadGraph(f"{self.event}: {self._at(key)}[{place}] is not an object, but {_shortened(each)}")
            found.append(Fields(self.event, f"{self._at(key)}[{place}]", dict(each)))
        return found


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
