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
OFFSETS = frozenset({"Lag", "Lead"})
PICKING = OFFSETS | {"First", "Last", "AnyValue", "NthValue"}
IGNORING = "ignoreNulls=true"
COUNTS_NULLS = "NullIndex"  # of pandas API on Spark: how many NULLs precede the row. It reads no value
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
    return WHOLE if call.name in OF_PARTITION else call.frame


def picks(call: WindowCall) -> bool:
    """Whether a function returns the value of one row, which it picks by its position.

    >>> picks(WindowCall("Last", (), WHOLE, "long")), picks(WindowCall("Max", (), WHOLE, "long"))
    (True, False)
    """
    return call.name in PICKING and not call.python


def skips_nulls(call: WindowCall) -> bool:
    """Whether a function that picks a row passes over rows in which its argument is NULL.

    Those with the offset 0, the row itself, do not.
    """
    return IGNORING in call.detail and not (call.name in OFFSETS and (call.frame.lower, call.frame.upper) == (0, 0))
