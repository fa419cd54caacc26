"""How one column of a part is written: the smallest of a few codes, in blocks that can be read alone.

CONSTANT and AFFINE columns are two numbers, whatever their length; so is a RUNNING one, a `lo` whose rows each begin
where the one before ends. INLINE ones are short lists in the header. BLOCKS and GAPS are compressed in blocks of rows;
GAPS holds, for the `lo` of an axis, the distance from the end of the row before, which is what runs of a sorted axis
have little of (see docs/reference/format.md).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whence.errors import Damaged
from whence.relation import varint
from whence.relation.blocks import Ints, pack

Stepped = tuple[int, int]
"""A column that is first + step * row."""
Column = Stepped | Ints

USUAL, SMALL, LARGE = 1 << 16, 1 << 13, 1 << 18
"""Sizes of blocks, in rows: small blocks suit columns that change on the way, large ones regular columns."""

CLEARLY = 0.999
"""Another block size is used only if it needs less than this fraction of the bytes: reading one row of a large block
costs more, and so does finding a row of a small one."""

SAMPLE = 1 << 15
"""Rows from the middle of a column on which codes are compared."""

WHOLE = 1 << 19
"""The most rows for which codes are compared on the whole column; otherwise on a large block from its middle."""

INLINE_ROWS = 1 << 10

CONSTANT, AFFINE, INLINE, BLOCKS, GAPS, RUNNING = range(6)


@dataclass(frozen=True, slots=True)
class Coded:
    """A column ready to be written: its description in the header and its blocks in the body."""

    header: bytes
    blocks: tuple[bytes, ...]


def encode(column: Column, width: Column | None, block: int, *, root: bool = False) -> Coded:
    """The shortest code of a column; `width` is that of its axis if it is a `lo`; `root`: the axis has no parent."""
    if isinstance(column, tuple):
        first, step = column
        out = bytearray([CONSTANT if step == 0 else AFFINE])
        varint.write_signed(out, first)
        if step != 0:
            varint.write_signed(out, step)
        return Coded(bytes(out), ())
    if root and width is not None and _runs_on(column, width):
        out = bytearray([RUNNING])
        varint.write_signed(out, int(column[0]))
        return Coded(bytes(out), ())
    best = _coded(best_code(column, width), column, width, block)
    if len(column) <= INLINE_ROWS:
        best = min(best, _inline(column), key=_size)
    return best


def block_size(lo: Sequence[Column], width: Sequence[Column], rows: int) -> int:
    """The rows a block that make a part the smallest."""
    if rows <= SMALL:
        return USUAL
    part = slice(0, rows) if rows <= WHOLE else slice(rows // 2 - LARGE // 2, rows // 2 + LARGE // 2)
    pairs: list[tuple[Column, Column | None]] = [*zip(lo, width, strict=True), *((column, None) for column in width)]
    dense = [
        (_rows_of_column(c, part), None if w is None else _rows_of_column(w, part))
        for c, w in pairs
        if not isinstance(c, tuple)
    ]
    codes = [best_code(column, wide) for column, wide in dense]

    def cost(block: int) -> float:
        columns = zip(codes, dense, strict=True)
        size = sum(_size(_coded(code, column, wide, block)) for code, (column, wide) in columns)
        blocks = -(-(part.stop - part.start) // block)
        return size + (16 * len(lo) * blocks if blocks > 1 else 0)

    best, least = USUAL, cost(USUAL) * CLEARLY
    for block in (SMALL, LARGE) if USUAL < rows <= WHOLE else (SMALL,):
        size = cost(block)
        if size < least:
            best, least = block, size
    return best


def best_code(column: Ints, width: Column | None) -> int:
    """Whether a column is shorter as it is or, if it is a `lo`, as gaps: judged on rows from the middle."""
    if width is None:
        return BLOCKS
    start = max(0, len(column) // 2 - SAMPLE // 2)
    part = slice(start, min(start + SAMPLE, len(column)))
    some, wide = column[part], _rows_of_column(width, part)
    return min((BLOCKS, GAPS), key=lambda code: _size(_coded(code, some, wide, SAMPLE)))


def _rows_of_column(column: Column, rows: slice) -> Ints:
    return spread(column, rows.start, rows.stop)


def _coded(code: int, column: Ints, width: Column | None, block: int) -> Coded:
    pieces = []
    for start, stop in block_rows(len(column), block):
        values = column[start:stop]
        if code == GAPS and width is not None:
            values = gaps(values, spread(width, start, stop))
        pieces.append(pack(values))
    return Coded(bytes([code]), tuple(pieces))


def gaps(lo: Ints, width: Column) -> Ints:
    """From each row of a block to the next, how many indices lie between them; the first row as it is.

    >>> gaps(np.array([3, 7, 8]), (1, 0)).tolist()
    [3, 2, -1]
    """
    out = lo.copy()
    out[1:] -= lo[:-1] + spread(width, 0, len(lo))[:-1] + 1
    return out


def _runs_on(lo: Ints, width: Column) -> bool:
    """Whether each row begins where the one before ends; looked at piece by piece, to stop early in little memory."""
    for start, stop in block_rows(len(lo), USUAL):
        piece = lo[start : stop + 1]  # with the first row of the next piece
        if gaps(piece, spread(width, start, start + len(piece)))[1:].any():
            return False
    return True


def fill(gap: Ints, width: Ints) -> Ints:
    """One block of `lo` again from its gaps.

    >>> fill(np.array([3, 2, -1]), np.array([1, 1, 1])).tolist()
    [3, 7, 8]
    """
    steps = gap.copy()
    steps[1:] += width[:-1] + 1
    return np.cumsum(steps)


def run_on(first: int, width: Ints) -> Ints:
    """A running `lo`: each row begins where the one before ends.

    >>> run_on(3, np.array([1, 0, 4])).tolist()
    [3, 5, 6]
    """
    steps = np.empty(len(width), dtype=np.int64)
    steps[0] = first
    steps[1:] = width[:-1] + 1
    return np.cumsum(steps)


def spread(column: Column, start: int, stop: int) -> Ints:
    """Rows start..stop of a column as an array."""
    if isinstance(column, tuple):
        first, step = column
        return first + step * np.arange(start, stop, dtype=np.int64)
    return column[start:stop]


def read_header(reader: varint.Reader, rows: int) -> tuple[int, Column | None]:
    """The code of a column, and the column itself unless it lies in blocks."""
    code = reader.read()
    if code in (CONSTANT, RUNNING):  # of a running column, its first value: the rest follows from the widths
        return code, (reader.read_signed(), 0)
    if code == AFFINE:
        return code, (reader.read_signed(), reader.read_signed())
    if code == INLINE:
        steps = [reader.read_signed() for _ in range(rows)]
        return code, np.cumsum(np.array(steps, dtype=np.int64))  # a sum that does not fit becomes a row out of bounds
    if code in (BLOCKS, GAPS):
        return code, None
    raise Damaged(f"a column has the unknown code {code}")


def checksum(data: bytes | bytearray | memoryview) -> int:
    """What guards a block or a header against damage."""
    return zlib.crc32(data)


def block_rows(rows: int, block: int) -> Iterator[tuple[int, int]]:
    """The row ranges of the blocks of a part."""
    return ((start, min(start + block, rows)) for start in range(0, rows, block))


def _size(coded: Coded) -> int:
    return len(coded.header) + sum(len(block) + 8 for block in coded.blocks)


def _inline(values: Ints) -> Coded:
    out = bytearray([INLINE])
    before = 0
    for value in values.tolist():
        varint.write_signed(out, value - before)
        before = value
    return Coded(bytes(out), ())
