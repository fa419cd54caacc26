"""Ask the rows in memory, with a limit for the size of the answer."""

from __future__ import annotations

from whence import _core
from whence.errors import TooLarge
from whence.relation.blocks import Ints
from whence.selection import Selection

ANSWER_LIMIT = 1 << 26
"""The most boxes that an answer may need before they are merged."""


def ask_table(table: _core.Table, given: Selection, backward: bool) -> Ints:
    """Return the boxes on the other side of the selected cells."""
    try:
        return table.ask(given.boxes, backward, ANSWER_LIMIT)
    except TooLarge:
        raise
    except (ValueError, MemoryError) as error:
        raise TooLarge("the answer does not fit into memory; ask for fewer cells at a time") from error
