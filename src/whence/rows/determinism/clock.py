"""Fix the time of a run: `current_timestamp()` has one value in each run, which can be written into the plan."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from whence.rows.expressions import Call, Literal
from whence.rows.operators import Operator
from whence.rows.tree import Tree, transform, walk

INSTANTS = frozenset({"CurrentTimestamp", "Now"})
LOCAL = frozenset({"CurrentDate", "LocalTimestamp"})  # in the session's time zone


def reads_clock(plan: Operator) -> bool:
    """Whether the plan reads the current time."""
    return any(isinstance(part, Call) and part.name in INSTANTS | LOCAL for part in walk(plan))


def pin_time(plan: Operator, time: datetime, zone: str) -> Operator:
    """Return the plan with the current time fixed, in a time zone. If the zone is unknown, local times stay calls.

    >>> from whence.rows import Attr, Named, Project, Source
    >>> today = Call("CurrentDate", (), "date", pure=False)
    >>> plan = Project(Source("t", 0, ()), (Named(Attr(1, "day", "date"), today),))
    >>> print(pin_time(plan, datetime(2024, 5, 1, 23, tzinfo=UTC), "+02:00"))
    Project 2024-05-02 as day#1
      Source t (memory):
    """
    there = zone_of(zone)

    def change(part: Tree) -> Tree:
        if not isinstance(part, Call) or part.name not in INSTANTS | LOCAL:
            return part
        if part.name in INSTANTS:
            return Literal(time.astimezone(UTC), part.dtype)
        if there is None:
            return part
        local = time.astimezone(there).replace(tzinfo=None)
        return Literal(local.date() if part.name == "CurrentDate" else local, part.dtype)

    made: Operator = transform(plan, change)
    return made


def zone_of(name: str) -> ZoneInfo | timezone | None:
    """The time zone with Spark's name; None if Python does not have it."""
    sign, digits = name[:1], name[1:].split(":")
    if sign in "+-" and all(each.isdecimal() for each in digits):
        hours, minutes = (*map(int, digits), 0)[:2]
        offset = timedelta(hours=hours, minutes=minutes)
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None
