"""The frame of a window function: which rows of its partition it reads."""

from __future__ import annotations

from whence.rows.expressions import Frame, WindowCall

# The value depends on how many rows the partition has, whatever the frame Catalyst writes for them.
OF_PARTITION = frozenset({"NTile", "PercentRank", "CumeDist"})
# Rows that are tied have the same rank, so the frame holds all of them: Catalyst's, of rows, would depend on chance.
OF_RANK = frozenset({"Rank", "DenseRank"})
WHOLE = Frame("rows", None, None)
ITSELF = Frame("rows", 0, 0)
OF_PLACE = "place"  # the detail of a row number in the order of the rows: an index, as pandas has it
OF_LIMIT = "limit"  # the detail of a row number that only a limit asks for: the row is the row, as below any limit


def frame_of(call: WindowCall) -> Frame:
    """The rows that decide a window function's value.

    >>> print(frame_of(WindowCall("NTile", (), Frame("rows", None, 0), "integer")))
    rows unbounded to unbounded
    """
    if call.detail in (OF_LIMIT, OF_PLACE):
        return ITSELF
    if call.name in OF_RANK:
        return Frame("range", None, 0)
    return WHOLE if call.name in OF_PARTITION or vague(call) else call.frame


def vague(call: WindowCall) -> str | None:
    """Why the rows of the frame may be more than those that count."""
    if call.name in ("Lag", "Lead") and "ignoreNulls=true" in call.detail:
        return f"{call.name.lower()} that ignores nulls: the answer has the whole partition instead of the row that"
        " it found"
    return None
