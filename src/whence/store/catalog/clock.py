"""The time, as the catalog writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """The time in UTC, to the microsecond, as text that sorts as time does.

    >>> len(now()), now()[-1]
    (27, 'Z')
    """
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
