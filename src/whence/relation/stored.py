"""The file of a relation, read. docs/reference/format.md is its specification.

Opening reads the header alone. The directory (where each block lies, its checksum, and the bounds of its rows on every
axis) and the blocks are read when a question needs them, each checked before it is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.errors import Damaged, FutureVersion
from whence.relation import columns, varint
from whence.relation.blocks import Ints, unpack
from whence.relation.codec import MAGIC, PREFIX, VERSION, Axis, Part
from whence.relation.columns import GAPS, RUNNING, Column

RESTORE = "restore the file from a copy, or capture the lineage again"


@dataclass(frozen=True, slots=True)
class Described:
    """A part as the header describes it; a column that lies in blocks is None."""

    rows: int
    block: int  # rows a block
    axes: tuple[Axis, ...]
    codes: tuple[int, ...]  # lo of each axis, then width of each axis
    columns: tuple[Column | None, ...]

    @property
    def blocked(self) -> tuple[int, ...]:
        """Which columns lie in blocks, in the order of their blocks."""
        return tuple(i for i, column in enumerate(self.columns) if column is None)

    @property
    def blocks(self) -> int:
        """How many blocks each blocked column has."""
        return -(-self.rows // self.block)


@dataclass(frozen=True, slots=True)
class Directory:
    """Where the blocks of a part lie, what their checksums are, and the bounds of their rows on each axis."""

    spans: Ints  # (2, columns, blocks): start and end in the file
    checks: NDArray[np.uint32]
    bounds: Ints | None  # (axes, 2, blocks), in the coordinates of the views


class Stored:
    """A relation's file, opened: the header is read, the rest is not."""

    def __init__(self, data: bytes | memoryview, name: str) -> None:
        self._data = memoryview(data)
        self._name = name
        if len(self._data) < PREFIX.size or bytes(self._data[:4]) != MAGIC:
            raise Damaged(f"{name} is not a stored relation, or its beginning is lost; {RESTORE}")
        _, version, check, length = PREFIX.unpack(self._data[: PREFIX.size])
        if version > VERSION:
            raise FutureVersion(f"{name} has format {version}; this whence reads up to {VERSION}: upgrade whence")
        header = bytes(self._data[PREFIX.size : PREFIX.size + length])
        if version == 0 or len(header) != length or columns.checksum(header) != check:
            raise Damaged(f"the header of {name} is damaged; {RESTORE}")
        self._start: int = PREFIX.size + length
        reader = varint.Reader(header)
        self.out_shape, self.in_shape = reader.read_all(), reader.read_all()
        self.out_view = reader.read_all()[1:] or self.out_shape
        self.in_view = reader.read_all()[1:] or self.in_shape
        self.parts = tuple(self._describe(reader) for _ in range(reader.read()))
        self._directory_check = reader.read()
        end = self._directory_end if not any(part.blocked for part in self.parts) else None
        if not reader.at_end or (end is not None and end != len(self._data)):
            raise Damaged(f"{name} is longer or shorter than its header says; {RESTORE}")

    def _describe(self, reader: varint.Reader) -> Described:
        rows, block = reader.read(), 1 << min(reader.read(), 62)
        axes: list[Axis] = []
        for _ in range(len(self.out_view) + len(self.in_view)):
            parent = reader.read() - 1
            axes.append((parent, reader.read_signed(), reader.read_signed()) if parent >= 0 else (-1, 0, 0))
        read = [columns.read_header(reader, rows) for _ in range(2 * len(axes))]
        return Described(rows, block, tuple(axes), tuple(code for code, _ in read), tuple(column for _, column in read))

    @property
    def rows(self) -> int:
        """How many rows all parts have."""
        return sum(part.rows for part in self.parts)

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return len(self._data)

    @property
    def _directory_end(self) -> int:
        size = 0
        for part in self.parts:
            if part.blocked:
                size += 8 * part.blocks * len(part.blocked)
                size += 16 * part.blocks * len(part.axes) if part.blocks > 1 else 0
        return self._start + size

    @cached_property
    def _directory(self) -> list[Directory]:
        end = self._directory_end
        raw = self._data[self._start : end]
        if len(raw) != end - self._start or (len(raw) and columns.checksum(raw) != self._directory_check):
            raise Damaged(f"the directory of {self._name} is damaged; {RESTORE}")
        out, at, body = [], 0, end
        for part in self.parts:
            count, blocked, axes = part.blocks, len(part.blocked), len(part.axes)
            if not blocked:
                out.append(Directory(np.empty((0, 0), np.int64), np.empty((0, 0), np.uint32), None))
                continue
            sizes = np.frombuffer(raw, "<u4", count * blocked, at).reshape(blocked, count).astype(np.int64)
            at += 4 * sizes.size
            checks = np.frombuffer(raw, "<u4", sizes.size, at).reshape(blocked, count)
            at += 4 * sizes.size
            bounds = None
            if count > 1:
                bounds = np.frombuffer(raw, "<i8", 2 * axes * count, at).reshape(axes, 2, count)
                at += 16 * axes * count
            ends = body + np.cumsum(sizes).reshape(sizes.shape)
            body = int(ends[-1, -1])
            out.append(Directory(np.stack([ends - sizes, ends]), checks, bounds))
        if body != len(self._data):
            raise Damaged(f"{self._name} is longer or shorter than its directory says; {RESTORE}")
        return out

    def _read(self, part: int, column: int, block: int, rows: int) -> Ints:
        entry = self._directory[part]
        start, stop = (int(x) for x in entry.spans[:, column, block])
        data = bytes(self._data[start:stop])
        if columns.checksum(data) != int(entry.checks[column, block]):
            raise Damaged(f"block {block} of {self._name} is damaged; {RESTORE}")
        return unpack(data, rows)

    def load(self, index: int, blocks: Ints | None = None) -> Part:
        """A part, or only the rows of some of its blocks."""
        part = self.parts[index]
        count = len(part.axes)
        wanted = range(part.blocks) if blocks is None else [int(b) for b in blocks]
        spans = [(b, b * part.block, min((b + 1) * part.block, part.rows)) for b in wanted]
        place = {column: i for i, column in enumerate(part.blocked)}
        loaded: list[Column] = []
        # widths first: a `lo` stored as gaps is filled in from them
        for column in [*range(count, 2 * count), *range(count)]:
            known = part.columns[column]
            if part.codes[column] == RUNNING and isinstance(known, tuple):
                loaded.append(self._run_on(index, column, known[0], loaded[column], spans))
                continue
            if known is not None:
                loaded.append(known if blocks is None else _join([columns.spread(known, a, b) for _, a, b in spans]))
                continue
            pieces = [self._read(index, place[column], block, b - a) for block, a, b in spans]
            if part.codes[column] == GAPS:
                width = loaded[column]  # loaded begins with the widths, in the order of the axes
                ends = np.cumsum([b - a for _, a, b in spans]).tolist()
                wide = [columns.spread(width, end - len(piece), end) for end, piece in zip(ends, pieces, strict=True)]
                pieces = [columns.fill(piece, w) for piece, w in zip(pieces, wide, strict=True)]
            loaded.append(_join(pieces))
        rows = sum(b - a for _, a, b in spans) if blocks is not None else part.rows
        return Part(rows, part.axes, tuple(loaded[count:]), tuple(loaded[:count]))

    def _run_on(self, part: int, axis: int, first: int, width: Column, spans: Sequence[tuple[int, int, int]]) -> Ints:
        """A running column: from its first value, or from where each block begins."""
        if spans and [block for block, _, _ in spans] == list(range(len(spans))):
            return columns.run_on(first, columns.spread(width, 0, spans[-1][2]))
        bounds = self._directory[part].bounds
        pieces, at = [], 0
        for block, a, b in spans:
            start = first if bounds is None else int(bounds[axis, 0, block])
            pieces.append(columns.run_on(start, columns.spread(width, at, at + b - a)))
            at += b - a
        return _join(pieces)

    def meeting(self, index: int, boxes: Ints, first: int) -> Ints | None:
        """The blocks of a part that may hold rows meeting boxes on the axes from `first` on; None: all of them."""
        if not self.parts[index].blocked or (bounds := self._directory[index].bounds) is None:
            return None
        lo, hi = bounds[first : first + boxes.shape[1], 0], bounds[first : first + boxes.shape[1], 1]
        low, high = boxes[:, :, 0].min(axis=0), boxes[:, :, 1].max(axis=0)
        near = np.flatnonzero(np.all((lo <= high[:, None]) & (hi >= low[:, None]), axis=0))
        if len(near) * len(boxes) > 1 << 22:
            return near
        hit = np.ones((len(boxes), len(near)), dtype=bool)
        for axis in range(boxes.shape[1]):
            hit &= (lo[axis, near] <= boxes[:, axis, 1:]) & (hi[axis, near] >= boxes[:, axis, :1])
        return near[hit.any(axis=0)]

    def table(self, parts: Iterable[Part] | None = None) -> _core.Table:
        """The relation in memory, or the given parts of it."""
        table = _core.Table(self.out_shape, self.in_shape, self.out_view, self.in_view)
        for part in (self.load(i) for i in range(len(self.parts))) if parts is None else parts:
            try:
                table.add(part.rows, part.axes, list(part.lo), list(part.width))
            except ValueError as error:
                raise Damaged(f"{self._name} holds rows that fit no relation ({error}); {RESTORE}") from error
        return table


def _join(pieces: Sequence[Ints]) -> Ints:
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
