"""How one column of a part is encoded: in the shortest of a few codes, in blocks that can be read separately.

CONSTANT and AFFINE columns are two integers, whatever their length. A RUNNING column is a `lo` in which each row begins
where the one before ends, so its first value suffices. INLINE columns are short lists in the header. BLOCKS and GAPS
are compressed in blocks of rows. For the `lo` of an axis, GAPS stores the distance from the end of the row before,
which is small for the runs of a sorted axis (see docs/reference/format.md).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whence import _core
from whence.errors import Damaged
from whence.relation import varint
from whence.relation.blocks import Ints, pack

Stepped = tuple[int, int]
"""A column that is first + step * row."""
Column = Stepped | Ints

USUAL, SMALL, LARGE = 1 << 16, 1 << 13, 1 << 18
"""Sizes of blocks in rows. Small blocks suit columns whose statistics change, large ones suit regular columns."""

CLEARLY = 0.999
"""Another block size is used only if it needs less than this fraction of the bytes: reading one row of a large block
costs more, and so does finding a row of a small one.
"""

SAMPLE = 1 << 15
"""Codes are compared on this many rows from the middle of a column."""

WHOLE = 1 << 19
"""Codes are compared on the whole column if it has at most this many rows; else on a large block from its middle."""

INLINE_ROWS = 1 << 10

CONSTANT, AFFINE, INLINE, BLOCKS, GAPS, RUNNING = range(6)


@dataclass(frozen=True, slots=True)
class Coded:
    """An encoded column: its description in the header, and its blocks in the body."""

    header: bytes
    blocks: tuple[bytes, ...]


def encode(column: Column, width: Column | None, block: int, *, root: bool = False) -> Coded:
    """Encode a column in its shortest code. For a `lo`, `width` is the width of its axis; `root`: the axis has no
    parent.
    """
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
    """Return the number of rows in a block that makes a part smallest."""
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
    """Whether a column is shorter as BLOCKS or, if it is a `lo`, as GAPS; decided on rows from the middle."""
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
    """Return how many indices are between each row of a block and the next; the first row is unchanged.

    >>> gaps(np.array([3, 7, 8]), (1, 0)).tolist()
    [3, 2, -1]
    """
    out = lo.copy()
    out[1:] -= lo[:-1] + spread(width, 0, len(lo))[:-1] + 1
    return out


def _runs_on(lo: Ints, width: Column) -> bool:
    """Whether each row begins where the one before ends. It is checked piece by piece, to stop early and save
    memory.
    """
    for start, stop in block_rows(len(lo), USUAL):
        piece = lo[start : stop + 1]  # includes the first row of the next piece
        if gaps(piece, spread(width, start, start + len(piece)))[1:].any():
            return False
    return True


def fill(gaps: Ints, width: Column, starts: Sequence[int] = (0,)) -> None:
    """Replace the gaps of a column of `lo` with its values. A block begins at each row in `starts`.

    >>> column = np.array([3, 2, -1, 20, 4])
    >>> fill(column, np.array([1, 1, 1, 1, 1]), starts=(0, 3))
    >>> column.tolist()
    [3, 7, 8, 20, 26]
    """
    constant = isinstance(width, tuple) and width[1] == 0
    _core.fill_gaps(gaps, width[0] if constant else spread(width, 0, len(gaps)), np.array(starts, np.int64))


def run_on(first: int, width: Ints) -> Ints:
    """Return a running `lo`: each row begins where the one before ends.

    >>> run_on(3, np.array([1, 0, 4])).tolist()
    [3, 5, 6]
    """
    lo = np.zeros(len(width), dtype=np.int64)
    lo[:1] = first
    fill(lo, width)  # without gaps
    return lo


def spread(column: Column, start: int, stop: int) -> Ints:
    """Return rows start..stop of a column as an array."""
    if isinstance(column, tuple):
        first, step = column
        return first + step * np.arange(start, stop, dtype=np.int64)
    return column[start:stop]


def read_header(reader: varint.Reader, rows: int) -> tuple[int, Column | None]:
    """Read the code of a column, and the column itself, unless it is in blocks."""
    code = reader.read()
    if code in (CONSTANT, RUNNING):  # the rest of a running column follows from the widths
        return code, (reader.read_signed(), 0)
    if code == AFFINE:
        return code, (reader.read_signed(), reader.read_signed())
    if code == INLINE:
        steps = [reader.read_signed() for _ in range(rows)]
        return code, np.cumsum(np.array(steps, dtype=np.int64))  # on overflow, the row is out of bounds
    if code in (BLOCKS, GAPS):
        return code, None
    raise Damaged(f"a column has the unknown code {code}")


def checksum(data: bytes | bytearray | memoryview) -> int:
    """Return the checksum of a block or a header."""
    return zlib.crc32(data)


def block_rows(rows: int, block: int) -> Iterator[tuple[int, int]]:
    """Yield the row ranges of the blocks of a part."""
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
