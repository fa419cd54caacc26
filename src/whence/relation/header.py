"""Read the header of a relation's file, and check every number before it is used.

A file may be forged, with correct checksums. So sizes are compared with each other and with the length of the file: no
declared number may make a reader use more memory or time than the size of the file justifies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from whence.errors import Damaged
from whence.relation import columns, varint
from whence.relation.codec import Axis
from whence.relation.columns import AFFINE, CONSTANT, GAPS, RUNNING, Column
from whence.relation.layout import Shape

MOST_AXES = 128
"""The most axes of one shape or view: as many as a selection can have."""

MOST_CELLS = 1 << 62
"""A relation's arrays have fewer cells than this, not counting axes of length 0."""

MOST_BLOCK_BITS = 20
"""The binary logarithm of the most rows of a block, because a block of few bytes may decompress to all of them."""

MOST_RUNNING = 1 << 24
"""The most rows of a running column whose widths are two integers: they need no bytes in the file, but memory."""


@dataclass(frozen=True, slots=True)
class Described:
    """A part as the header describes it; a column that is in blocks is None."""

    rows: int
    block: int  # rows in a block
    axes: tuple[Axis, ...]
    codes: tuple[int, ...]  # lo of each axis, then width of each axis
    columns: tuple[Column | None, ...]

    @property
    def blocked(self) -> tuple[int, ...]:
        """The columns that are in blocks, in the order of their blocks."""
        return tuple(i for i, column in enumerate(self.columns) if column is None)

    @property
    def blocks(self) -> int:
        """The number of blocks of each blocked column."""
        return -(-self.rows // self.block)

    @property
    def directory_size(self) -> int:
        """The size of the part's piece of the directory in bytes."""
        if not self.blocked:
            return 0
        return self.blocks * (8 * len(self.blocked) + (16 * len(self.axes) if self.blocks > 1 else 0))

    @property
    def numbers(self) -> int:
        """The number of integers that the part needs in memory."""
        dense = [
            column is None or code == RUNNING or not isinstance(column, tuple)
            for code, column in zip(self.codes, self.columns, strict=True)
        ]
        return self.rows * sum(dense)


@dataclass(frozen=True, slots=True)
class Header:
    """The contents of a file's header."""

    out_shape: Shape
    in_shape: Shape
    out_view: Shape
    in_view: Shape
    parts: tuple[Described, ...]
    directory_check: int


def parse(data: bytes) -> Header:
    """Parse the header; raise Damaged, with only the reason, if it is not valid."""
    reader = varint.Reader(data)
    out_shape, in_shape = checked_shape(reader.read_all()), checked_shape(reader.read_all())
    out_view, in_view = _view(reader.read_all(), out_shape), _view(reader.read_all(), in_shape)
    axes = len(out_view) + len(in_view)
    parts = tuple(_read_part(reader, axes) for _ in range(reader.read()))
    header = Header(out_shape, in_shape, out_view, in_view, parts, reader.read())
    if not reader.at_end:
        raise Damaged("its header has extra bytes")
    if sum(part.rows for part in parts) > math.prod(out_shape) * math.prod(in_shape):
        raise Damaged("it declares more rows than its arrays have pairs of cells")
    return header


def checked_shape(sizes: Shape) -> Shape:
    if len(sizes) > MOST_AXES or math.prod(size for size in sizes if size) >= MOST_CELLS:
        raise Damaged("its arrays have more axes or cells than a relation may have")
    return sizes


def _view(listed: tuple[int, ...], shape: Shape) -> Shape:
    if not listed:
        return shape
    view = checked_shape(listed[1:])
    if listed[0] != 1 or math.prod(view) != math.prod(shape):
        raise Damaged("a view and its array have different numbers of cells")
    return view


def _read_part(reader: varint.Reader, count: int) -> Described:
    rows, bits = reader.read(), reader.read()
    if rows == 0 or bits > MOST_BLOCK_BITS:
        raise Damaged("a part has no rows, or more rows per block than any writer makes")
    axes: list[Axis] = []
    for v in range(count):
        parent = reader.read() - 1
        if parent >= count or parent == v:
            raise Damaged("an axis has a parent that is not another axis")
        axes.append((parent, reader.read_signed(), reader.read_signed()) if parent >= 0 else (-1, 0, 0))
    codes, read = [], []
    for _ in range(2 * count):
        code, column = columns.read_header(reader, rows)
        codes.append(code)
        read.append(column)
    for v, code in enumerate(codes):
        if code in (GAPS, RUNNING) and v >= count:
            raise Damaged("a column of widths has a code for lower bounds")
        if code == RUNNING:
            codes[v], read[v] = _running(rows, axes[v], read[v], read[count + v])
    return Described(rows, 1 << bits, tuple(axes), tuple(codes), tuple(read))


def _running(rows: int, axis: Axis, first: Column | None, width: Column | None) -> tuple[int, Column | None]:
    """Return a running column; if all widths are the same, it is affine."""
    if axis[0] >= 0:
        raise Damaged("an axis with a parent has a running column")
    if isinstance(first, tuple) and isinstance(width, tuple):
        if width[1] == 0:
            step = width[0] + 1
            return (AFFINE if step else CONSTANT), (first[0], step)
        if rows > MOST_RUNNING:
            raise Damaged(f"a running column has {rows:,} rows, more than any writer makes")
    return RUNNING, first
