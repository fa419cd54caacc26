"""A relation of many parts: asked part by part, and only those parts are opened that the question may meet."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from whence import _core
from whence.errors import Damaged, TooLarge
from whence.relation import codec
from whence.relation._relation import EXPAND_LIMIT, LOAD_LIMIT, Relation
from whence.relation.blocks import Ints
from whence.relation.layout import Shape
from whence.relation.parts.index import Index, parse
from whence.relation.parts.near import near
from whence.relation.parts.places import Directory, Place
from whence.selection import Selection
from whence.words import counted, in_units

KEPT = 32
"""So many parts stay open after a question."""

GATHERED = 1 << 22
"""So many boxes of answers are gathered before they are merged."""


class PartedRelation(Relation):
    """Output cells <- input cells, in many files with one index.

    Opening it reads the index. A question opens the parts whose bounds it meets; `touched` says which those are.

    >>> import tempfile, whence as wh
    >>> from whence.relation.parts import publish, write_part, Directory
    >>> directory = tempfile.TemporaryDirectory()
    >>> rows = [wh.compress([[i, 9 - i] for i in part], 10, 10) for part in (range(5), range(5, 10))]
    >>> rel = publish(directory.name, (10,), (10,), [write_part(Directory(directory.name), each) for each in rows])
    >>> rel
    PartedRelation((10,) <- (10,), 10 tuples in 2 boxes, 2 parts)
    >>> rel.touched([3]), rel.backward([3])
    ((0,), Selection(shape=(10,), 1 cell: [6]))
    >>> directory.cleanup()
    """

    __slots__ = ("_bounds", "_index", "_lock", "_name", "_opened", "_place", "_swapped")

    def __init__(self, index: Index, place: Place, name: str, *, swapped: bool = False) -> None:
        self._index, self._place, self._name = index, place, name
        self._swapped = swapped  # the sides of the stored parts are exchanged
        shapes = (index.out_shape, index.in_shape)
        self._out_shape, self._in_shape = shapes[::-1] if swapped else shapes
        self._stored = self._table = None
        self._count = index.tuples
        self._bounds = index.bounds()
        self._opened: OrderedDict[int, Relation] = OrderedDict()
        self._lock = threading.Lock()

    # What it is

    def __len__(self) -> int:
        return self._index.boxes

    def count(self) -> int:
        """How many tuples there are, as the index says; `verify` compares it with the parts."""
        return self._index.tuples

    @property
    def index(self) -> Index:
        """The parts, and where their tuples lie."""
        return self._index

    @property
    def place(self) -> Place:
        """Where the parts are."""
        return self._place

    @property
    def swapped(self) -> bool:
        """Whether this is the inverse of the relation whose parts these are."""
        return self._swapped

    def __repr__(self) -> str:
        return (
            f"PartedRelation({self._out_shape} <- {self._in_shape}, {counted(self.count(), 'tuple')} in "
            f"{counted(len(self), 'box', 'boxes')}, {counted(len(self._index.entries), 'part')})"
        )

    @property
    def inverse(self) -> PartedRelation:
        """The same tuples with the sides swapped; the parts stay as they are."""
        return PartedRelation(self._index, self._place, self._name, swapped=not self._swapped)

    # Asking

    def touched(self, cells: Any, *, forward: bool = False) -> tuple[int, ...]:
        """The numbers of the parts that `backward(cells)`, or `forward(cells)`, opens."""
        shape = self._in_shape if forward else self._out_shape
        return tuple(number for number, _ in self._near(Selection.of(cells, shape), not forward))

    def explain(self, cells: Any, *, forward: bool = False) -> str:
        """How a question would be answered: how many parts it opens, of how many bytes.

        >>> import whence as wh
        >>> PartedRelation(Index((4,), (4,), ()), Directory("nowhere"), "it").explain([1])
        'in this process: 0 of 0 parts (0 B) may hold what is asked'
        """
        some = self.touched(cells, forward=forward)
        size = in_units(sum(self._index.entries[number].size for number in some))
        whole = counted(len(self._index.entries), "part")
        return f"in this process: {len(some)} of {whole} ({size}) may hold what is asked"

    def part(self, number: int) -> Relation:
        """One part, opened."""
        with self._lock:
            found = self._opened.get(number)
            if found is not None:
                self._opened.move_to_end(number)
                return found
        found = self._open(number)
        with self._lock:
            self._opened[number] = found
            while len(self._opened) > KEPT:
                self._opened.popitem(last=False)
        return found

    def _open(self, number: int) -> Relation:
        entry = self._index.entries[number]
        title = f"part {number} of {self._name}"
        part = self._place.open(entry.name, title)
        if (part.out_shape, part.in_shape, len(part)) != (self._index.out_shape, self._index.in_shape, entry.boxes):
            raise Damaged(f"{title} is not the part that the index describes; restore it from a copy")
        return part

    def _near(self, given: Selection, backward: bool) -> Iterator[tuple[int, Ints]]:
        stored_backward = backward is not self._swapped
        outs = len(self._index.out_shape)
        return near(self._bounds[:, :outs] if stored_backward else self._bounds[:, outs:], given.boxes)

    def _ask(self, given: Selection, backward: bool) -> Selection:
        wanted = self._in_shape if backward else self._out_shape
        if self._table is not None:
            return super()._ask(given, backward)
        answer, held = Selection.empty(wanted), []
        for number, boxes in self._near(given, backward):
            part = self.part(number)
            some = Selection._trusted(_core.normalize(np.ascontiguousarray(boxes)), given.shape)
            held.append(part._ask(some, backward is not self._swapped).boxes)
            if sum(map(len, held)) >= GATHERED:
                answer, held = answer | Selection.from_boxes(np.concatenate(held), wanted), []
        if held:
            answer = answer | Selection.from_boxes(np.concatenate(held), wanted)
        return answer

    # All of it in memory, for what needs that

    def _in_memory(self) -> _core.Table:
        if self._table is None:
            numbers = 2 * len(self) * (len(self._out_shape) + len(self._in_shape))
            if numbers > LOAD_LIMIT:
                raise TooLarge(
                    f"the relation has {len(self):,} boxes in {counted(len(self._index.entries), 'part')}, too many to "
                    "hold in memory; ask with backward/forward, which reads them part by part"
                )
            self._table = self._united()
        return self._table

    def _united(self) -> _core.Table:
        parts = [self._open(number) for number in range(len(self._index.entries))]
        if self._swapped:
            parts = [part.inverse for part in parts]
        if not parts:
            return Relation.empty(self._out_shape, self._in_shape)._in_memory()
        if len({part._views for part in parts}) > 1:
            return self._folded(parts)
        table = _core.Table(self._out_shape, self._in_shape, *parts[0]._views)
        for part in parts:
            for each in part.parts():
                table.add(each.rows, each.axes, list(each.lo), list(each.width))
        return table

    def _folded(self, parts: list[Relation]) -> _core.Table:
        """Parts under different views, made one through their tuples."""
        from whence.relation.compress import fold

        width = max(1, len(self._out_shape) + len(self._in_shape))
        if self.count() * width > EXPAND_LIMIT:
            raise TooLarge(f"the parts are stored under different views, and {self.count():,} tuples would not fit")
        return fold(np.concatenate([part.to_array() for part in parts]), self._out_shape, self._in_shape)

    @property
    def _views(self) -> tuple[Shape, Shape]:
        table = self._in_memory()
        return tuple(table.out_view), tuple(table.in_view)

    # Storing

    def to_bytes(self) -> bytes:
        """The relation as the bytes of one file, if it fits into memory; `save` keeps the parts."""
        return codec.dump(self._out_shape, self._in_shape, *self._views, self.parts())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the relation to a directory, part by part."""
        from whence.relation.parts.writing import publish, write_part

        place = Directory(path)
        place.make()
        entries = []
        for number in range(len(self._index.entries)):
            part = self._open(number)
            entries.append(write_part(place, part.inverse if self._swapped else part))
        publish(path, self._out_shape, self._in_shape, entries)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PartedRelation:
        """Open a directory of parts: the index is read, and a part when a question needs it."""
        place, name = Directory(path), repr(os.fspath(path))
        return cls(parse(place.index(), name), place, name)

    def verify(self) -> None:
        """Read all parts; Damaged if one is missing or altered, or is not what the index says of it."""
        from whence.relation.parts.checking import check

        check(self._index, self._place, self._open, self._name)
