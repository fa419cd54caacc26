"""How one column of a part is written: the smallest of a few codes, in blocks that can be read alone.

CONSTANT and AFFINE columns are two numbers, whatever their length. INLINE ones are short lists in the header. BLOCKS
and GAPS are compressed by pcodec in blocks of rows; GAPS holds, for the `lo` of an axis, the distance from the end of
the row before, which is what runs of a sorted axis have little of (see docs/reference/format.md).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence.errors import Damaged
from whence.relation import varint

Ints = NDArray[np.int64]
Stepped = tuple[int, int]
"""A column that is first + step * row."""
Column = Stepped | Ints

BLOCK_SIZES = (1 << 16, 1 << 13)
"""Rows a block: large ones cost the least where a column is alike throughout, small ones where it changes."""

SAMPLE = 1 << 17
"""Rows from the middle of a column on which codes and block sizes are compared."""

INLINE_ROWS = 1 << 10

CONSTANT, AFFINE, INLINE, BLOCKS, GAPS = range(5)


@dataclass(frozen=True, slots=True)
class Coded:
    """A column ready to be written: its description in the header and its blocks in the body."""

    header: bytes
    blocks: tuple[bytes, ...]


def encode(column: Column, width: Column | None, block: int) -> Coded:
    """The shortest code of a column; `width` is that of its axis if the column is a `lo`."""
    if isinstance(column, tuple):
        first, step = column
        out = bytearray([CONSTANT if step == 0 else AFFINE])
        varint.write_signed(out, first)
        if step != 0:
            varint.write_signed(out, step)
        return Coded(bytes(out), ())
    codes: dict[int, Callable[[], Ints]] = {BLOCKS: lambda: column}
    if width is not None:
        codes[GAPS] = lambda: gaps(column, width, block)
    if len(column) > SAMPLE and len(codes) > 1:
        codes = {code: codes[code] for code in (cheapest(column, width, block)[1],)}
    best = min((_blocks(code, values(), block) for code, values in codes.items()), key=_size)
    if len(column) <= INLINE_ROWS:
        best = min(best, _inline(column), key=_size)
    return best


def block_size(lo: Sequence[Column], width: Sequence[Column], rows: int) -> int:
    """The rows a block that make the columns of a part the smallest, judged on a sample."""
    if rows <= BLOCK_SIZES[-1]:
        return BLOCK_SIZES[0]
    pairs = [*zip(lo, width, strict=True), *((column, None) for column in width)]
    return min(BLOCK_SIZES, key=lambda block: sum(cheapest(c, w, block)[0] for c, w in pairs))


def cheapest(column: Column, width: Column | None, block: int) -> tuple[int, int]:
    """The size of a sample of a column under its best code in blocks, and that code."""
    if isinstance(column, tuple):
        return 0, CONSTANT
    start = max(0, len(column) // 2 - SAMPLE // 2)
    some = column[start : start + SAMPLE]
    sizes = [(_size(_blocks(BLOCKS, some, block)), BLOCKS)]
    if width is not None:
        wide = width if isinstance(width, tuple) and width[1] == 0 else spread(width, start, start + len(some))
        sizes.append((_size(_blocks(GAPS, gaps(some, wide, block), block)), GAPS))
    return min(sizes)


def gaps(lo: Ints, width: Column, block: int) -> Ints:
    """From each row to the next, how many indices lie between them; the first row of a block as it is.

    >>> gaps(np.array([3, 7, 8]), (1, 0), block=8).tolist()
    [3, 2, -1]
    """
    out = lo.copy()
    wide = spread(width, 0, len(lo))
    out[1:] -= lo[:-1] + wide[:-1] + 1
    out[::block] = lo[::block]
    return out


def fill(gap: Ints, width: Ints) -> Ints:
    """One block of `lo` again from its gaps.

    >>> fill(np.array([3, 2, -1]), np.array([1, 1, 1])).tolist()
    [3, 7, 8]
    """
    steps = gap.copy()
    steps[1:] += width[:-1] + 1
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
    if code == CONSTANT:
        return code, (reader.read_signed(), 0)
    if code == AFFINE:
        return code, (reader.read_signed(), reader.read_signed())
    if code == INLINE:
        steps = [reader.read_signed() for _ in range(rows)]
        return code, np.cumsum(np.array(steps, dtype=np.int64))
    if code in (BLOCKS, GAPS):
        return code, None
    raise Damaged(f"a stored relation has a column of unknown code {code}")


def pack(values: Ints) -> bytes:
    """A block of integers as pcodec writes it: the first as it is, the rest near their entropy."""
    from pcodec import ChunkConfig, standalone

    head = bytearray()
    varint.write_signed(head, int(values[0]))
    if len(values) == 1:
        return bytes(head)
    body: bytes = standalone.simple_compress(np.ascontiguousarray(values[1:]), ChunkConfig())
    return bytes(head) + body


def unpack(data: bytes, rows: int) -> Ints:
    """A block of integers again."""
    from pcodec import standalone

    out = np.empty(rows, dtype=np.int64)
    start = 0
    while start < len(data) and data[start] >= 0x80:
        start += 1
    start += 1
    out[0] = varint.Reader(data[:start]).read_signed()
    if rows > 1:
        progress = standalone.simple_decompress_into(data[start:], out[1:])
        if progress.n_processed != rows - 1:
            raise Damaged("a block of a stored relation is shorter than its part")
    return out


def checksum(data: bytes | bytearray | memoryview) -> int:
    """What guards a block or a header against damage."""
    return zlib.crc32(data)


def block_rows(rows: int, block: int) -> Iterator[tuple[int, int]]:
    """The row ranges of the blocks of a part."""
    return ((start, min(start + block, rows)) for start in range(0, rows, block))


def _size(coded: Coded) -> int:
    return len(coded.header) + sum(len(block) + 8 for block in coded.blocks)


def _blocks(code: int, values: Ints, block: int) -> Coded:
    return Coded(bytes([code]), tuple(pack(values[a:b]) for a, b in block_rows(len(values), block)))


def _inline(values: Ints) -> Coded:
    out = bytearray([INLINE])
    before = 0
    for value in values.tolist():
        varint.write_signed(out, value - before)
        before = value
    return Coded(bytes(out), ())
