"""The current time, in the format of the catalog."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """Return the time in UTC, to the microsecond, as a string; strings sort in the order of time.

    >>> len(now()), now()[-1]
    (27, 'Z')
    """
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
