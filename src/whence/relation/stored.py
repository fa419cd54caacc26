"""Read the file of a relation. docs/reference/format.md is its specification.

Opening reads only the header. The directory (the offset of each block, its checksum, and the bounds of its rows on
every axis) and the blocks are read when a question needs them. Each is validated before it is used: by its checksum,
and the first time by checking that its rows are inside the arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.errors import Damaged, FutureVersion, TooLarge
from whence.relation import columns
from whence.relation.blocks import Ints, unpack_into
from whence.relation.codec import MAGIC, PREFIX, VERSION, Part
from whence.relation.columns import GAPS, RUNNING, Column
from whence.relation.header import Described, parse
from whence.relation.layout import Shape

RESTORE = "restore the file from a copy, or capture the lineage again"

PIECE = 1 << 20
"""The number of rows in memory at a time if not all of them fit."""

FEW_TUPLES = 1 << 20
"""The most tuples that are compared one by one, if comparing rows would take too long."""

NEIGHBOURS = 8
"""If not all rows fit into memory, each piece is compared with at most this many others, on average."""


@dataclass(frozen=True, slots=True)
class Directory:
    """The offsets and checksums of the blocks of a part, and the bounds of their rows on each axis."""

    spans: Ints  # (2, columns, blocks): start and end in the file
    checks: NDArray[np.uint32]
    bounds: Ints | None  # (axes, 2, blocks), in the coordinates of the views


class Stored:
    """A relation's file, opened: only the header is read."""

    def __init__(self, data: bytes | memoryview, name: str) -> None:
        given = memoryview(data)
        # Writable memory is copied, because it must not change after it was validated.
        self._data = given if given.readonly else memoryview(bytes(given))
        self._name = name
        if len(self._data) < PREFIX.size or bytes(self._data[:4]) != MAGIC:
            raise Damaged(f"{name} is not a stored relation, or its beginning is damaged; {RESTORE}")
        _, version, check, length = PREFIX.unpack(self._data[: PREFIX.size])
        if version > VERSION:
            raise FutureVersion(f"{name} has format {version}; this whence reads up to {VERSION}: upgrade whence")
        header = bytes(self._data[PREFIX.size : PREFIX.size + length])
        if version == 0 or len(header) != length or columns.checksum(header) != check:
            raise Damaged(f"the header of {name} is damaged; {RESTORE}")
        try:
            self._header = parse(header)
        except Damaged as error:
            raise self._damaged(str(error)) from error
        self._start: int = PREFIX.size + length
        self._directory_end = self._start + sum(part.directory_size for part in self.parts)
        blocked = any(part.blocked for part in self.parts)
        if self._directory_end > len(self._data) or (not blocked and self._directory_end != len(self._data)):
            raise Damaged(f"{name} is longer or shorter than its header says; {RESTORE}")
        self._valid = [np.zeros(part.blocks if part.blocked else 1, dtype=bool) for part in self.parts]
        self._disjoint: bool | None = None  # not known yet

    @property
    def out_shape(self) -> Shape:
        """The shape of the output."""
        return self._header.out_shape

    @property
    def in_shape(self) -> Shape:
        """The shape of the input."""
        return self._header.in_shape

    @property
    def out_view(self) -> Shape:
        """The view in which the output's cells are stored."""
        return self._header.out_view

    @property
    def in_view(self) -> Shape:
        """The view in which the input's cells are stored."""
        return self._header.in_view

    @property
    def parts(self) -> tuple[Described, ...]:
        """The parts as the header describes them."""
        return self._header.parts

    @property
    def rows(self) -> int:
        """The number of rows of all parts."""
        return sum(part.rows for part in self.parts)

    @property
    def numbers(self) -> int:
        """The number of integers that the whole relation needs in memory."""
        return sum(part.numbers for part in self.parts)

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        return bytes(self._data)

    def _damaged(self, reason: str) -> Damaged:
        return Damaged(f"{self._name} is damaged: {reason}; {RESTORE}")

    @cached_property
    def _directory(self) -> list[Directory]:
        end = self._directory_end
        raw = self._data[self._start : end]
        if len(raw) and columns.checksum(raw) != self._header.directory_check:
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

    def _read_into(self, out: Ints, part: int, column: int, block: int) -> None:
        entry = self._directory[part]
        start, stop = (int(x) for x in entry.spans[:, column, block])
        data = bytes(self._data[start:stop])
        if columns.checksum(data) != int(entry.checks[column, block]):
            raise Damaged(f"block {block} of {self._name} is damaged; {RESTORE}")
        try:
            unpack_into(data, out)
        except Damaged as error:
            raise self._damaged(str(error)) from error

    def load(self, index: int, blocks: Ints | None = None) -> Part:
        """Load a part, or only the rows of some of its blocks."""
        part = self.parts[index]
        count = len(part.axes)
        wanted = range(part.blocks) if blocks is None else [int(b) for b in blocks]
        spans = [(b, b * part.block, min((b + 1) * part.block, part.rows)) for b in wanted] if part.blocked else []
        starts = [0, *accumulate(b - a for _, a, b in spans)]
        place = {column: i for i, column in enumerate(part.blocked)}
        loaded: list[Column] = []
        # widths first, because a `lo` stored as gaps depends on them
        for column in [*range(count, 2 * count), *range(count)]:
            known = part.columns[column]
            if part.codes[column] == RUNNING and isinstance(known, tuple):
                loaded.append(self._run_on(index, column, known[0], loaded[column], spans))
                continue
            if known is not None:
                loaded.append(known if blocks is None else _rows_in(known, spans))
                continue
            values = np.empty(starts[-1], np.int64)
            for (block, _, _), (start, stop) in zip(spans, pairwise(starts), strict=True):
                self._read_into(values[start:stop], index, place[column], block)
            if part.codes[column] == GAPS:  # `loaded` begins with the widths, in the order of the axes
                columns.fill(values, loaded[column], starts[:-1])
            loaded.append(values)
        rows = starts[-1] if blocks is not None else part.rows
        return Part(rows, part.axes, tuple(loaded[count:]), tuple(loaded[:count]))

    def _run_on(self, part: int, axis: int, first: int, width: Column, spans: Sequence[tuple[int, int, int]]) -> Ints:
        """Return a running column, from its first value or from the beginning of each block."""
        if [block for block, _, _ in spans] == list(range(len(spans))):
            stop = spans[-1][2] if spans else self.parts[part].rows
            return columns.run_on(first, columns.spread(width, 0, stop))
        bounds = self._directory[part].bounds
        pieces, at = [], 0
        for block, a, b in spans:
            start = first if bounds is None else int(bounds[axis, 0, block])
            pieces.append(columns.run_on(start, columns.spread(width, at, at + b - a)))
            at += b - a
        return _concatenated(pieces)

    def meeting(self, index: int, boxes: Ints, first: int) -> Ints | None:
        """Return the blocks of a part that may have rows in these boxes, on the axes from `first` on; None means
        all.
        """
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

    def table(self, needed: Mapping[int, Ints | None] | None = None) -> _core.Table:
        """Return the relation in memory, or the given blocks of the given parts (None means all blocks)."""
        table = _core.Table(self.out_shape, self.in_shape, self.out_view, self.in_view)
        for index, blocks in (dict.fromkeys(range(len(self.parts))) if needed is None else needed).items():
            if blocks is None or len(blocks):
                self._add(table, index, blocks)
        return table

    def _add(self, table: _core.Table, index: int, blocks: Ints | None) -> None:
        part, described = self.load(index, blocks), self.parts[index]
        valid = self._valid[index]
        some: slice | Ints = slice(None) if blocks is None else blocks
        try:
            if valid[some].all():  # validated before
                table.add(part.rows, part.axes, list(part.lo), list(part.width))
                return
            block = described.block if described.blocked else part.rows
            bounds = table.add_validated(part.rows, part.axes, list(part.lo), list(part.width), block)
        except ValueError as error:
            raise self._damaged(str(error)) from error
        declared = self._directory[index].bounds
        if declared is not None and not np.array_equal(bounds, declared[:, :, some]):
            raise self._damaged("its rows are outside the bounds of its directory")
        valid[some] = True

    def pieces(self, needed: Mapping[int, Ints | None] | None = None) -> Iterator[_core.Table]:
        """Yield the rows of `table` in several tables that need little memory."""
        for index, blocks in self._cut(needed):
            yield self.table({index: blocks})

    def _cut(self, needed: Mapping[int, Ints | None] | None = None) -> Iterator[tuple[int, Ints | None]]:
        """Yield the parts, or the given blocks of them, in pieces of at most PIECE rows."""
        for index, blocks in (dict.fromkeys(range(len(self.parts))) if needed is None else needed).items():
            part = self.parts[index]
            if not part.blocked:
                yield index, None
                continue
            every = np.arange(part.blocks) if blocks is None else blocks
            step = max(1, PIECE // part.block)
            for start in range(0, len(every), step):
                yield index, every[start : start + step]

    # Whether rows are disjoint

    def check_disjoint(self, table: _core.Table | None) -> bool:
        """Whether no two rows share a tuple. Raise Damaged if two do; return False if it would take too long to decide.

        `table` has all rows; if it is None, they are read piece by piece.
        """
        if self._disjoint is None:
            tables = [table] if table is not None else self._neighbours()
            verdicts = {None if each is None else self._apart(each) for each in tables}
            self._disjoint = None not in verdicts
        return self._disjoint

    def _apart(self, table: _core.Table) -> bool | None:
        disjoint = table.disjoint()
        if disjoint is None:
            try:
                tuples = table.expand(FEW_TUPLES * max(1, len(self.out_view) + len(self.in_view)))
            except TooLarge:
                return None
            disjoint = len(np.unique(tuples, axis=0)) == len(tuples)
        if not disjoint:
            raise self._damaged("two of its rows hold the same tuple")
        return True

    def _neighbours(self) -> Iterator[_core.Table | None]:
        """Yield tables in which any two rows whose blocks overlap occur together at least once; None if there are too
        many.
        """
        pieces = list(self._cut())
        bounds = np.stack([self._bounds(*piece) for piece in pieces])
        met = 0
        for i, (index, blocks) in enumerate(pieces):
            yield self.table({index: blocks})
            meets = (bounds[:i, :, 0] <= bounds[i, :, 1]) & (bounds[:i, :, 1] >= bounds[i, :, 0])
            for j in np.flatnonzero(meets.all(axis=1)).tolist():
                met += 1
                if met > NEIGHBOURS * len(pieces):
                    yield None
                    return
                other, others = pieces[j]
                if other != index:
                    yield self.table({other: others, index: blocks})
                elif blocks is not None and others is not None:
                    yield self.table({index: np.concatenate([others, blocks])})

    def _bounds(self, index: int, blocks: Ints | None) -> Ints:
        """Return the bounds (axes, 2) of some blocks of a part; of the whole view if the file has no bounds."""
        declared = self._directory[index].bounds
        if declared is None or blocks is None:
            return np.array([(0, size - 1) for size in (*self.out_view, *self.in_view)], np.int64).reshape(-1, 2)
        return np.stack([declared[:, 0, blocks].min(axis=1), declared[:, 1, blocks].max(axis=1)], axis=1)


def _rows_in(column: Column, spans: Sequence[tuple[int, int, int]]) -> Column:
    """Return the rows of a column in some blocks; blocks one after the other stay a first value and a step."""
    if isinstance(column, tuple) and spans and all(a[2] == b[1] for a, b in pairwise(spans)):
        first, step = column
        start = first + step * spans[0][1]
        return (start + (1 << 63)) % (1 << 64) - (1 << 63), step  # wraps like the core, whose validation detects it
    return _concatenated([columns.spread(column, a, b) for _, a, b in spans])


def _concatenated(pieces: Sequence[Ints]) -> Ints:
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
