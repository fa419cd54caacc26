"""Write the file of a relation. docs/reference/format.md is its specification.

    magic, version | checksum and length of the header | header | directory | blocks

Parts are encoded one by one, so that a relation larger than memory can be written part by part.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from whence.relation import columns, varint
from whence.relation.columns import Column
from whence.relation.layout import Shape

MAGIC = b"\x89WHR"
VERSION = 1
PREFIX = struct.Struct("<4sBII")  # magic, version, checksum of the header, length of the header
Axis = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one pattern: (parent, p, q) of each axis, and the columns lo and width of each."""

    rows: int
    axes: tuple[Axis, ...]
    lo: tuple[Column, ...]
    width: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded part: its piece of the header, of the directory and of the blocks."""

    header: bytes
    directory: bytes
    body: bytes


def dump(out_shape: Shape, in_shape: Shape, out_view: Shape, in_view: Shape, parts: Iterable[Part]) -> bytes:
    """Return a relation as the bytes of its file."""
    return assemble(out_shape, in_shape, out_view, in_view, [encode(part) for part in parts])


def encode(part: Part) -> Encoded:
    """Encode a part."""
    header, directory, body = bytearray(), b"", b""
    block = columns.block_size(part.lo, part.width, part.rows)
    varint.write(header, part.rows)
    varint.write(header, block.bit_length() - 1)
    for parent, p, q in part.axes:
        varint.write(header, parent + 1)
        if parent >= 0:
            varint.write_signed(header, p)
            varint.write_signed(header, q)
    axes = zip(part.axes, part.lo, part.width, strict=True)
    coded = [columns.encode(lo, width, block, root=axis[0] < 0) for axis, lo, width in axes]
    coded += [columns.encode(width, None, block) for width in part.width]
    for column in coded:
        header += column.header
    if blocks := [column.blocks for column in coded if column.blocks]:
        directory = _directory_of_part(part, blocks, block)
        body = b"".join(data for column in blocks for data in column)
    return Encoded(bytes(header), directory, body)


def assemble(out_shape: Shape, in_shape: Shape, out_view: Shape, in_view: Shape, parts: Sequence[Encoded]) -> bytes:
    """Return the bytes of a file from its encoded parts."""
    header = bytearray()
    for shape in (out_shape, in_shape):
        varint.write_all(header, shape)
    for view, shape in ((out_view, out_shape), (in_view, in_shape)):
        varint.write_all(header, () if view == shape else (1, *view))
    varint.write(header, len(parts))
    header += b"".join(part.header for part in parts)
    directory = b"".join(part.directory for part in parts)
    varint.write(header, columns.checksum(directory) if directory else 0)
    prefix = PREFIX.pack(MAGIC, VERSION, columns.checksum(header), len(header))
    return b"".join((prefix, header, directory, *(part.body for part in parts)))


def _directory_of_part(part: Part, blocks: Sequence[tuple[bytes, ...]], rows: int) -> bytes:
    """Return the lengths and checksums of the blocks of each blocked column and, if there are several blocks, their
    bounds.
    """
    sizes = np.array([[len(block) for block in column] for column in blocks], dtype="<u4")
    checks = np.array([[columns.checksum(block) for block in column] for column in blocks], dtype="<u4")
    out = sizes.tobytes() + checks.tobytes()
    if sizes.shape[1] > 1:
        bounds = np.array([bounding_box(part, *span) for span in columns.block_rows(part.rows, rows)], dtype="<i8")
        out += np.ascontiguousarray(bounds.transpose(1, 2, 0)).tobytes()  # axes, least and greatest, blocks
    return out


def bounding_box(part: Part, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the smallest box around some rows of a part: the least and the greatest value of each axis."""
    parents = {axis[0] for axis in part.axes}
    lo, hi = [], []
    for v, (low, width) in enumerate(zip(part.lo, part.width, strict=True)):
        if part.axes[v][0] < 0 and v not in parents and isinstance(low, tuple) and isinstance(width, tuple):
            ends = np.array([start, stop - 1])  # both change evenly: the first and the last row have the extremes
            lo.append(low[0] + low[1] * ends)
            hi.append(lo[-1] + width[0] + width[1] * ends)
        else:
            lo.append(columns.spread(low, start, stop))
            hi.append(lo[-1] + columns.spread(width, start, stop))
    done = [axis[0] < 0 for axis in part.axes]
    while not all(done):
        for v, (parent, p, q) in enumerate(part.axes):
            if not done[v] and done[parent]:
                a, b = lo[parent], hi[parent]
                lo[v] = lo[v] + np.minimum(p * a, p * b)
                hi[v] = hi[v] + np.maximum(q * a, q * b)
                done[v] = True
    return [(int(low.min()), int(high.max())) for low, high in zip(lo, hi, strict=True)]
