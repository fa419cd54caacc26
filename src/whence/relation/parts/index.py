"""The index of a relation in parts: which parts there are, and the bounds of the tuples in each.

    magic, version | checksum and length of what follows | shapes, number of parts | one record for each part

docs/reference/format.md is its specification. It is read completely when the relation is opened, and may come from an
untrusted source: each number is checked against the others and the shapes before it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from whence.errors import Damaged, FutureVersion
from whence.relation import columns, header, varint
from whence.relation.blocks import Ints
from whence.relation.codec import PREFIX
from whence.relation.layout import Shape

MAGIC = b"\x89WHP"
VERSION = 1
NAME_BYTES = 32


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of a part in the index: the hash of its file, which is its name, and what it contains.

    `bounds` has the least and the greatest index of its tuples on each axis, output first, in the shapes.
    """

    name: str
    size: int
    boxes: int
    tuples: int
    bounds: tuple[tuple[int, int], ...]

    def to_bytes(self) -> bytes:
        """Return the entry's record.

        >>> Entry("00" * 32, 100, 1, 3, ((0, 2), (0, 2))).to_bytes()[32:].hex()[:16]
        '6400000000000000'
        """
        numbers = [self.size, self.boxes, self.tuples & ((1 << 64) - 1), self.tuples >> 64]
        record = bytes.fromhex(self.name) + np.array(numbers, "<u8").tobytes()
        return record + np.array(self.bounds, "<i8").tobytes()

    @classmethod
    def from_bytes(cls, record: bytes) -> Entry:
        """Read the entry in a record."""
        numbers = np.frombuffer(record, "<u8", 4, NAME_BYTES)
        bounds = np.frombuffer(record, "<i8", offset=NAME_BYTES + 32).reshape(-1, 2)
        size, boxes, low, high = (int(number) for number in numbers)
        pairs = tuple((int(lo), int(hi)) for lo, hi in bounds)
        return cls(record[:NAME_BYTES].hex(), size, boxes, (high << 64) + low, pairs)


@dataclass(frozen=True, slots=True)
class Index:
    """The shapes of a relation and its parts, in the order of the output."""

    out_shape: Shape
    in_shape: Shape
    entries: tuple[Entry, ...]

    @property
    def boxes(self) -> int:
        """The number of boxes of all parts."""
        return sum(entry.boxes for entry in self.entries)

    @property
    def tuples(self) -> int:
        """The number of tuples of all parts."""
        return sum(entry.tuples for entry in self.entries)

    @property
    def size(self) -> int:
        """The size of all parts in bytes."""
        return sum(entry.size for entry in self.entries)

    def bounds(self) -> Ints:
        """Return the bounds of all parts: (parts, axes of the output + axes of the input, 2)."""
        axes = len(self.out_shape) + len(self.in_shape)
        return np.array([entry.bounds for entry in self.entries], np.int64).reshape(len(self.entries), axes, 2)

    def to_bytes(self) -> bytes:
        """Return the index as the bytes of its file."""
        body = bytearray()
        varint.write_all(body, self.out_shape)
        varint.write_all(body, self.in_shape)
        varint.write(body, len(self.entries))
        for entry in self.entries:
            body += entry.to_bytes()
        return PREFIX.pack(MAGIC, VERSION, columns.checksum(bytes(body)), len(body)) + bytes(body)


def index_of(out_shape: Shape, in_shape: Shape, entries: Iterable[Entry]) -> Index:
    """Return the index of these parts, sorted by output."""
    return Index(out_shape, in_shape, tuple(sorted(entries, key=lambda entry: (entry.bounds, entry.name))))


def is_index(data: bytes | memoryview) -> bool:
    """Whether a file begins like an index."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def parse(data: bytes | memoryview, name: str) -> Index:
    """Parse the index from the bytes of its file. Errors call it `name`."""
    remedy = "restore it from a copy, or write the relation again"
    if len(data) < PREFIX.size or not is_index(data):
        raise Damaged(f"{name} is not the index of a relation, or its beginning is damaged; {remedy}")
    _, version, check, length = PREFIX.unpack(data[: PREFIX.size])
    if version > VERSION:
        raise FutureVersion(f"{name} has format {version}; this whence reads up to {VERSION}: upgrade whence")
    body = bytes(data[PREFIX.size :])
    if version == 0 or len(body) != length or columns.checksum(body) != check:
        raise Damaged(f"the index of {name} is damaged; {remedy}")
    try:
        return _parsed(body)
    except Damaged as error:
        raise Damaged(f"the index of {name} is damaged: {error}; {remedy}") from error


def _parsed(body: bytes) -> Index:
    reader = varint.Reader(body)
    out_shape, in_shape = header.checked_shape(reader.read_all()), header.checked_shape(reader.read_all())
    count, records = reader.read(), reader.rest()
    length = NAME_BYTES + 32 + 16 * (len(out_shape) + len(in_shape))
    if count * length != len(records):
        raise Damaged("it is longer or shorter than its number of parts says")
    entries = _entries(records, out_shape + in_shape)
    if len({entry.name for entry in entries}) != len(entries):
        raise Damaged("it names a part twice")
    if sum(entry.tuples for entry in entries) > math.prod(out_shape) * math.prod(in_shape):
        raise Damaged("it declares more tuples than its arrays have pairs of cells")
    return Index(out_shape, in_shape, entries)


def _entries(records: bytes, dims: Shape) -> tuple[Entry, ...]:
    """Read and check all records at once: there may be a million."""
    kind = [("name", f"V{NAME_BYTES}"), ("numbers", "<u8", (4,)), ("bounds", "<i8", (len(dims), 2))]
    found = np.frombuffer(records, np.dtype(kind))
    bounds = found["bounds"]
    lo, hi = bounds[:, :, 0], bounds[:, :, 1]
    if np.any(lo < 0) or np.any(lo > hi) or np.any(hi >= np.array(dims, np.int64)):
        raise Damaged("the bounds of a part lie outside its arrays")
    numbers = zip(found["name"].tolist(), found["numbers"].tolist(), bounds.tolist(), strict=True)
    entries = []
    for name, (size, boxes, low, high), pairs in numbers:
        entry = Entry(name.hex(), size, boxes, (high << 64) + low, tuple(map(tuple, pairs)))
        if not 1 <= entry.boxes <= entry.tuples <= math.prod(last - first + 1 for first, last in entry.bounds):
            raise Damaged("a part has no boxes, or more boxes than tuples, or more tuples than its bounds hold")
        entries.append(entry)
    return tuple(entries)
