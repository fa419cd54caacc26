"""Files of relations as an attacker would write them: every checksum is right, but the content can be anything.

A reader that trusts checksums accepts all of these. `file_of` writes a file field by field; `repaired` corrects the
checksums of an altered file.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from whence.errors import Damaged
from whence.relation import columns, varint
from whence.relation.codec import MAGIC, PREFIX, VERSION
from whence.relation.header import parse

Shape = Sequence[int]


def constant(value: int) -> bytes:
    """A column with the same value in all rows."""
    return _varints(0) + _signed(value)


def affine(first: int, step: int) -> bytes:
    """A column with first, first + step, ..."""
    return _varints(1) + _signed(first, step)


def inline(*values: int) -> bytes:
    """A column whose values are in the header."""
    steps = [b - a for a, b in zip([0, *values], values, strict=False)]
    return _varints(2) + _signed(*steps)


def running(first: int) -> bytes:
    """A column of lower bounds, each of which is the end of the row before."""
    return _varints(5) + _signed(first)


BLOCKS, GAPS = b"\x03", b"\x04"
"""Columns whose values are in blocks."""


@dataclass(frozen=True)
class ForgedPart:
    """A part as a forger declares it. `axes` are (parent, p, q); `blocks` has the bytes of each column in blocks."""

    rows: int
    columns: Sequence[bytes]  # lo of each axis, then width of each
    axes: Sequence[tuple[int, int, int]] = ()
    bits: int = 16
    blocks: Sequence[Sequence[bytes]] = field(default=())
    bounds: Sequence[int] = ()


def file_of(
    out_shape: Shape,
    in_shape: Shape,
    parts: Sequence[ForgedPart],
    views: tuple[Shape | None, Shape | None] = (None, None),
) -> bytes:
    """Return a file with these fields and correct checksums.

    >>> from whence import Relation
    >>> Relation.from_bytes(file_of((4,), (4,), [ForgedPart(1, [constant(0), constant(2), constant(0), constant(1)])]))
    Relation((4,) <- (4,), 2 tuples in 1 box)
    """
    header, directory, body = bytearray(), b"", b""
    for shape in (out_shape, in_shape):
        varint.write_all(header, shape)
    for view in views:
        varint.write_all(header, () if view is None else (1, *view))
    axes = sum(len(shape if view is None else view) for shape, view in zip((out_shape, in_shape), views, strict=True))
    varint.write(header, len(parts))
    for part in parts:
        varint.write(header, part.rows)
        varint.write(header, part.bits)
        for parent, p, q in part.axes or [(-1, 0, 0)] * axes:
            varint.write(header, parent + 1)
            if parent >= 0:
                varint.write_signed(header, p)
                varint.write_signed(header, q)
        header += b"".join(part.columns)
        every = [block for column in part.blocks for block in column]
        directory += struct.pack(f"<{len(every)}I", *map(len, every))
        directory += struct.pack(f"<{len(every)}I", *map(columns.checksum, every))
        directory += struct.pack(f"<{len(part.bounds)}q", *part.bounds)
        body += b"".join(every)
    varint.write(header, columns.checksum(directory) if directory else 0)
    return _framed(bytes(header)) + directory + body


def repaired(data: bytes) -> bytes:
    """Return an altered file with all checksums corrected; unchanged, if its header cannot be read.

    >>> from whence import Relation
    >>> altered = bytearray(Relation.identity(9).to_bytes())
    >>> altered[14] = 8  # the length of the output's axis
    >>> repaired(bytes(altered)) == bytes(altered)
    False
    """
    length = PREFIX.unpack(data[: PREFIX.size])[3]
    header, rest = data[PREFIX.size : PREFIX.size + length], data[PREFIX.size + length :]
    try:
        described = parse(header)
    except Damaged:  # only the header's own checksum can be corrected
        return _framed(header) + rest
    size = sum(part.directory_size for part in described.parts)
    directory, body = bytearray(rest[:size]), rest[size:]
    if len(directory) == size and size:
        at = start = 0
        for part in described.parts:
            count = part.blocks * len(part.blocked)
            if not count:
                continue
            lengths = struct.unpack_from(f"<{count}I", directory, at)
            for i, block in enumerate(lengths):
                struct.pack_into("<I", directory, at + 4 * (count + i), columns.checksum(body[start : start + block]))
                start += block
            at += part.directory_size
        before = bytearray()
        varint.write(before, described.directory_check)
        header = header[: len(header) - len(before)] + _varints(columns.checksum(directory))
    return _framed(header) + bytes(directory) + body


def _framed(header: bytes) -> bytes:
    return PREFIX.pack(MAGIC, VERSION, columns.checksum(header), len(header)) + header


def _varints(*values: int) -> bytes:
    out = bytearray()
    for value in values:
        varint.write(out, value)
    return bytes(out)


def _signed(*values: int) -> bytes:
    out = bytearray()
    for value in values:
        varint.write_signed(out, value)
    return bytes(out)
