"""The frame of a window function: which rows of its partition it reads."""

from __future__ import annotations

from whence.rows.expressions import Frame, WindowCall

# The value depends on the number of rows in the partition, whatever Catalyst's frame is.
OF_PARTITION = frozenset({"NTile", "PercentRank", "CumeDist"})
# Tied rows have the same rank, so the frame contains all of them. In Catalyst's frame of rows, ties depend on chance.
OF_RANK = frozenset({"Rank", "DenseRank"})
WHOLE = Frame("rows", None, None)
ITSELF = Frame("rows", 0, 0)
OF_PLACE = "place"  # the detail of a row number in the order of the rows, such as the index of pandas API on Spark
OF_LIMIT = "limit"  # the detail of a row number that only a limit uses: the row's lineage is the row itself


def frame_of(call: WindowCall) -> Frame:
    """Return the frame with the rows that determine a window function's value.

    >>> print(frame_of(WindowCall("NTile", (), Frame("rows", None, 0), "integer")))
    rows unbounded to unbounded
    """
    if call.detail in (OF_LIMIT, OF_PLACE):
        return ITSELF
    if call.name in OF_RANK:
        return Frame("range", None, 0)
    return WHOLE if call.name in OF_PARTITION or vague(call) else call.frame


def vague(call: WindowCall) -> str | None:
    """Say why the frame may have more rows than those that count; None if not."""
    if call.name in ("Lag", "Lead") and "ignoreNulls=true" in call.detail:
        return (
            f"{call.name.lower()} that ignores nulls: the answer has the whole partition instead of the row that it"
            " found"
        )
    return None
