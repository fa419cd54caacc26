"""Parse cells written as text: on the command line, in a notebook, in a configuration."""

from __future__ import annotations

import re
from types import EllipsisType

from whence.errors import BadCells

Entry = int | slice | EllipsisType

FORMS = "cells are written as '3,4', '0:10,5', ':,0', '::2' or '...', several separated by ';'"

_NUMBER = re.compile(r"[+-]?[0-9]{1,40}")
_PAIRS = {"(": ")", "[": "]"}


def indices_of_text(text: str) -> list[tuple[Entry, ...]]:
    """Parse each group of a text as an index of slices and integers.

    >>> indices_of_text("3, 4; 0:10,5")
    [(3, 4), (slice(0, 10, None), 5)]
    """
    if re.search(r"[^\s;,]\s+:|:\s+[^\s;,]", text):
        raise BadCells(f"{text!r}: a space beside ':' may mean one range or two groups; leave it out, or write ';'")
    # A space after a comma is ignored; any other space separates groups.
    groups = [group for group in re.split(r"[;\s]+", re.sub(r"\s*,\s*", ",", text)) if group]
    return [_index_of(group, text) for group in groups]


def _index_of(group: str, text: str) -> tuple[Entry, ...]:
    inner = group
    if group[0] in _PAIRS:
        if group[-1] != _PAIRS[group[0]]:
            raise BadCells(f"{text!r}: {group!r} has an unclosed bracket; {FORMS}")
        inner = group[1:-1]
    parts = inner.removesuffix(",").split(",")
    return () if parts in ([""], ["()"]) else tuple(_entry_of(part, text) for part in parts)


def _entry_of(part: str, text: str) -> Entry:
    if part == "...":
        return Ellipsis
    ends = part.split(":")
    if len(ends) > 3 or not all(_NUMBER.fullmatch(end) for end in ends if end or len(ends) == 1):
        raise BadCells(f"{text!r}: {part!r} is not an index; {FORMS}")
    numbers = [int(end) if end else None for end in ends]
    if len(numbers) == 1:
        return int(ends[0])
    if numbers[2:] == [0]:
        raise BadCells(f"{text!r}: the step of {part!r} is zero; {FORMS}")
    return slice(*numbers)
