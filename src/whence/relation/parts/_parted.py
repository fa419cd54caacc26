"""The class `PartedRelation`: a relation of many parts. A question opens only the parts that it needs."""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import reduce
from importlib import import_module
from itertools import islice
from operator import or_
from typing import Any

import numpy as np

from whence import _core
from whence.errors import Damaged, TooLarge
from whence.relation import codec
from whence.relation._relation import EXPAND_LIMIT, LOAD_LIMIT, Relation
from whence.relation.blocks import Ints
from whence.relation.engines import require_engine
from whence.relation.layout import Shape
from whence.relation.parts.index import Index, parse
from whence.relation.parts.near import near
from whence.relation.parts.places import Directory, Place
from whence.relation.parts.threads import in_threads, processors
from whence.relation.sources import module_of
from whence.selection import Selection
from whence.words import counted, in_units

MANY = 1 << 28
"""If a question needs more bytes than this, Spark reads the parts, if a session is active."""

KEPT = 32
"""The most parts that stay open after a question."""

GATHERED = 1 << 24
"""The most numbers in the boxes of answers that are collected before they are merged."""

SHARED = 1 << 20
"""So many numbers in boxes are sorted by several threads."""


class PartedRelation(Relation):
    """Output cells <- input cells, in many files with one index.

    Opening it reads the index. A question opens the parts whose bounds overlap it; `touched` lists them.

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

    __slots__ = ("_bounds", "_index", "_lock", "_name", "_opened", "_place", "_swapped", "_verified")

    def __init__(self, index: Index, place: Place, name: str, *, swapped: bool = False) -> None:
        self._index, self._place, self._name = index, place, name
        self._swapped = swapped  # whether the stored parts have input and output swapped
        shapes = (index.out_shape, index.in_shape)
        self._out_shape, self._in_shape = shapes[::-1] if swapped else shapes
        self._stored = self._table = None
        self._count = index.tuples
        self._bounds = index.bounds()
        self._opened: OrderedDict[int, Relation] = OrderedDict()
        self._lock = threading.Lock()
        self._verified: bool | None = None

    # Properties

    def __len__(self) -> int:
        return self._index.boxes

    def count(self) -> int:
        """How many tuples there are, as the index says; `verify` compares it with the parts."""
        return self._index.tuples

    @property
    def index(self) -> Index:
        """The parts, and the bounds of their tuples."""
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

    # Questions

    def backward(self, cells: Any, *, engine: str = "auto") -> Selection:
        """The input cells that the given output cells came from.

        This process reads the parts. If they are large and a Spark session is active, or with engine="spark", Spark
        reads them. For a Spark frame of cells, return a frame of boxes, which Spark computes unless engine="local".
        """
        return super().backward(cells, engine=engine)

    def _answer(self, cells: Any, backward: bool, engine: str) -> Selection:
        require_engine(engine)
        if module_of(cells) == "pyspark":
            return super()._answer(cells, backward, engine)
        given = self._given(cells, backward)
        if self._table is None and self._chosen(given, backward, engine)[0] == "spark":
            found: Selection = import_module("whence.spark.scale").ask_selection(self, given, backward)
            return found
        return self._ask(given, backward)

    def _chosen(self, given: Selection, backward: bool, engine: str) -> tuple[str, str]:
        """Return which engine answers, and why."""
        some = [number for number, _ in self._near(given, backward)]
        size = sum(self._index.entries[number].size for number in some)
        whole = counted(len(self._index.entries), "part")
        what = f"{len(some):,} of {whole} ({in_units(size)}) may hold the answer"
        if engine != "auto":
            return engine, f"{what}; engine={engine!r} was given"
        if size <= MANY:
            return "local", what
        if not (self._in_shape if backward else self._out_shape):
            return "local", f"{what}; an answer without axes is one cell"
        running = "pyspark" in sys.modules and import_module("whence.spark.scale").running()
        return ("spark", what) if running else ("local", f"{what}; no Spark session is running")

    def touched(self, cells: Any, *, forward: bool = False) -> tuple[int, ...]:
        """The numbers of the parts that `backward(cells)`, or `forward(cells)`, reads."""
        return tuple(number for number, _ in self._near(self._given(cells, not forward), not forward))

    def explain(self, cells: Any, *, forward: bool = False, engine: str = "auto") -> str:
        """Describe how a question would be answered: in this process or by Spark, how many parts are read, and why.

        >>> PartedRelation(Index((4,), (4,), ()), Directory("nowhere"), "it").explain([1])
        'local: 0 of 0 parts (0 B) may hold the answer'
        """
        require_engine(engine)
        given = self._given(cells, not forward)
        who, why = self._chosen(given, not forward, engine)
        if engine == "auto" and module_of(cells) == "pyspark":
            who, why = "spark", f"{why}; the question is a frame"
        return f"{who}: {why}"

    def part(self, number: int) -> Relation:
        """Open one part."""
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
            raise Damaged(f"{title} differs from the index; restore it from a copy")
        return part

    def _near(self, given: Selection, backward: bool, among: Ints | None = None) -> Iterator[tuple[int, Ints]]:
        outs = len(self._index.out_shape)
        bounds = self._bounds[:, :outs] if backward is not self._swapped else self._bounds[:, outs:]
        if among is None:
            return near(bounds, given.boxes)
        return ((int(among[place]), boxes) for place, boxes in near(bounds[among], given.boxes))

    def asked(self, given: Selection, backward: bool, among: Ints | None = None, *, threads: int = 1) -> Iterator[Ints]:
        """Yield the boxes of the answer of each part that overlaps the question, or of each of the given ones."""

        many = next(islice(self._near(given, backward, among), KEPT, None), None) is not None
        open_part = self._open if many else self.part  # of so many, the first are closed before they are asked again

        def ask(near: tuple[int, Ints]) -> Ints:
            number, boxes = near
            some = Selection._trusted(_core.normalize(np.ascontiguousarray(boxes)), given.shape)
            return open_part(number)._ask(some, backward is not self._swapped).boxes

        yield from in_threads(ask, self._near(given, backward, among), threads)

    def _ask(self, given: Selection, backward: bool) -> Selection:
        wanted = self._in_shape if backward else self._out_shape
        if self._table is not None:
            return super()._ask(given, backward)
        answer, held, numbers = Selection.empty(wanted), list[Ints](), 0
        for boxes in self.asked(given, backward, threads=processors()):
            held.append(boxes)
            numbers += boxes.size
            if numbers >= GATHERED:
                answer, held, numbers = answer | _united(held, wanted), [], 0
        return answer | _united(held, wanted) if held else answer

    @property
    def _in_parts(self) -> bool:
        return True

    # Reading all parts into memory

    @property
    def numbers(self) -> int:
        """The number of integers that all rows need in memory, at most; no part is read for it."""
        return 2 * len(self) * (len(self._out_shape) + len(self._in_shape))

    @property
    def _fits(self) -> bool:
        return self._table is not None or self.numbers <= LOAD_LIMIT

    def _in_memory(self) -> _core.Table:
        if self._table is None:
            if not self._fits:
                raise TooLarge(
                    f"the relation has {len(self):,} boxes in {counted(len(self._index.entries), 'part')}, too many"
                    " to hold in memory; use backward or forward, which read them part by part"
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
        """Combine parts in different views through their tuples."""
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

    def verify(self) -> bool:
        """Read all parts. Raise Damaged if one is missing, altered, differs from the index, or shares a tuple with
        another.

        Return False if the last could not be decided, because too many rows overlap.
        """
        if self._verified is None:
            from whence.relation.parts.checking import check

            self._verified = check(self._index, self._place, self._open, self._name)
        return self._verified


def _united(held: Sequence[Ints], shape: Shape) -> Selection:
    """Unite boxes that are inside the shape. If there are many, each thread sorts a share of them."""
    shares = processors() if sum(boxes.size for boxes in held) >= SHARED else 1

    def unite(share: Sequence[Ints]) -> Selection:
        return Selection._trusted(_core.normalize(np.concatenate(share)), shape)

    return reduce(or_, in_threads(unite, [held[i::shares] for i in range(min(shares, len(held)))], shares))


def asked_how(kind: str, relation: Any, given: Selection, backward: bool) -> str:
    """Describe how a step with this relation is answered; for a relation in parts, also the engine and the reason."""
    if not isinstance(relation, PartedRelation):
        return kind
    return f"{kind}, {relation.explain(given, forward=not backward)}"
