"""The class `Relation`: which input cells contributed to which output cells, stored as boxes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.errors import BadCells, ShapeMismatch, TooLarge
from whence.relation import codec, compress, files, sources
from whence.relation.asking import ask_table
from whence.relation.blocks import Ints
from whence.relation.engines import require_engine
from whence.relation.layout import Shape
from whence.relation.stored import Stored
from whence.relation.views import as_shape, boxes_around, under_shape
from whence.selection import Selection

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

EXPAND_LIMIT = 1 << 28
"""The most integers that expanding a relation may make (2 GiB)."""

LOAD_LIMIT = 1 << 28
"""The most integers of a stored relation that are read into memory at once (2 GiB)."""

FEW_ROWS = 1 << 24
"""The most rows that are read at once for one question; more are read piece by piece."""

SELECTIVE = 4
"""Stored rows are read block by block if at most one in this many is needed."""


class Relation:
    """Output cells <- input cells, immutable.

    >>> import whence as wh
    >>> rel = wh.compress([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], out_shape=(2,), in_shape=(2, 2))
    >>> rel
    Relation((2,) <- (2, 2), 4 tuples in 1 box)
    >>> rel.backward([(1,)])
    Selection(shape=(2, 2), 2 cells: [1, 0:2])
    """

    __slots__ = ("_count", "_in_shape", "_out_shape", "_stored", "_table")

    def __init__(self, out_shape: Shape, in_shape: Shape, held: _core.Table | Stored) -> None:
        self._out_shape = out_shape
        self._in_shape = in_shape
        self._stored = held if isinstance(held, Stored) else None
        self._table = None if isinstance(held, Stored) else held
        self._count: int | None = None

    # Properties

    @property
    def out_shape(self) -> Shape:
        """The shape of the output."""
        return self._out_shape

    @property
    def in_shape(self) -> Shape:
        """The shape of the input."""
        return self._in_shape

    def __len__(self) -> int:
        """How many boxes are stored."""
        return self._table.rows if self._table is not None else self._held.rows

    def count(self) -> int:
        """How many tuples there are, without expanding them."""
        if self._count is None:
            self.verify()
            halves = [table.count() for table in self._tables()]
            self._count = sum((high << 64) + low for high, low in halves)
        return self._count

    def verify(self) -> bool:
        """Read all of a stored relation and validate it. Raise Damaged if anything is wrong.

        Questions validate what they read, except that no two rows hold the same tuple, which does not change an answer.
        This method checks that, too, and so do `count`, `to_array`, `parts`, `compose` and `inverse`. Return False if
        it could not be decided, because too many rows overlap.

        >>> Relation.identity(5).verify()
        True
        """
        return self._stored is None or self._stored.check_disjoint(self._in_memory() if self._fits else None)

    def __repr__(self) -> str:
        boxes = len(self)
        return (
            f"Relation({self._out_shape} <- {self._in_shape}, {self.count():,} tuples "
            f"in {boxes:,} box{'' if boxes == 1 else 'es'})"
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        from whence.shown import bundle

        return bundle(self)

    def _repr_html_(self) -> str:
        from whence.relation._shown import html_of

        return html_of(self)

    # Relations made without tuples

    @classmethod
    def identity(cls, shape: Sequence[int] | int) -> Relation:
        """The relation in which each cell comes from the cell at the same index.

        >>> len(Relation.identity((1000, 1000)))
        1
        """
        dims = as_shape(shape)
        n = len(dims)
        axes = [(-1, 0, 0)] * n + [(v, 1, 1) for v in range(n)]
        return cls.from_rows(dims, dims, [(axes, [(0, d - 1) for d in dims] + [(0, 0)] * n)])

    @classmethod
    def whole(cls, out_shape: Sequence[int] | int, in_shape: Sequence[int] | int) -> Relation:
        """The relation in which each output cell comes from every input cell."""
        out, into = as_shape(out_shape), as_shape(in_shape)
        dims = out + into
        return cls.from_rows(out, into, [([(-1, 0, 0)] * len(dims), [(0, d - 1) for d in dims])])

    @classmethod
    def empty(cls, out_shape: Sequence[int] | int, in_shape: Sequence[int] | int) -> Relation:
        """The relation without tuples."""
        return cls.from_rows(as_shape(out_shape), as_shape(in_shape), [])

    @classmethod
    def from_rows(
        cls,
        out_shape: Shape,
        in_shape: Shape,
        rows: Sequence[tuple[Sequence[codec.Axis], Sequence[tuple[int, int]]]],
    ) -> Relation:
        """Make a relation from disjoint rows: (parent, p, q) and (lo, hi) of each axis, output axes first."""
        table = _core.Table(out_shape, in_shape, out_shape, in_shape)
        if 0 not in out_shape + in_shape:
            for axes, bounds in rows:
                table.add(1, axes, [(lo, 0) for lo, _ in bounds], [(hi - lo, 0) for lo, hi in bounds])
        return cls(out_shape, in_shape, table)

    # Questions

    def backward(self, cells: Any, *, engine: str = "auto") -> Selection:
        """The input cells that the given output cells came from.

        >>> Relation.identity(5).backward([(3,)])
        Selection(shape=(5,), 1 cell: [3])

        For a Spark frame of cells or boxes, return a frame of boxes. `engine` is for relations of many parts, of which
        Spark may read the parts; this process reads any other relation, as `explain` says.
        """
        return self._answer(cells, True, engine)

    def forward(self, cells: Any, *, engine: str = "auto") -> Selection:
        """The output cells that the given input cells went into."""
        return self._answer(cells, False, engine)

    def explain(self, cells: Any, *, forward: bool = False, engine: str = "auto") -> str:
        """Describe how a question would be answered: in this process or by Spark, and why.

        >>> Relation.identity(5).explain([(3,)])
        'local: the relation is not in parts'
        """
        require_engine(engine)
        self._given(cells, not forward)
        return "local: the relation is not in parts"

    def _given(self, cells: Any, backward: bool) -> Selection:
        """Return the cells of a question, also of one in a Spark frame."""
        shape = self._out_shape if backward else self._in_shape
        if sources.module_of(cells) != "pyspark":
            return Selection.of(cells, shape)
        found: Selection = import_module("whence.spark.scale").selected_of(cells, shape)
        return found

    def _answer(self, cells: Any, backward: bool, engine: str) -> Selection:
        require_engine(engine)
        if sources.module_of(cells) != "pyspark":
            return self._ask(self._given(cells, backward), backward)
        # Imported by name, because lower layers do not import higher ones.
        frame: Selection = import_module("whence.spark.scale").ask_frame(self, cells, backward, engine)
        return frame  # really a Spark frame

    def _ask(self, given: Selection, backward: bool) -> Selection:
        wanted = self._in_shape if backward else self._out_shape
        if self._table is not None:
            return Selection._trusted(ask_table(self._table, given, backward), wanted)
        answer: Selection | None = None
        for table in self._touched(given, backward):
            found = Selection._trusted(ask_table(table, given, backward), wanted)
            answer = found if answer is None else answer | found
        return Selection.empty(wanted) if answer is None else answer

    @property
    def _held(self) -> Stored:
        assert self._stored is not None  # a relation is in memory, stored, or both
        return self._stored

    def _in_memory(self) -> _core.Table:
        if self._table is None:
            if not self._fits:
                raise TooLarge(
                    f"the relation has {len(self):,} rows, which take {self._held.numbers * 8 / 2**30:,.1f} GiB in "
                    "memory; use backward or forward, which read them piece by piece"
                )
            self._table = self._held.table()
        return self._table

    @property
    def _fits(self) -> bool:
        """Whether all rows are in memory, or fit into it."""
        return self._table is not None or self._held.numbers <= LOAD_LIMIT

    @property
    def numbers(self) -> int:
        """The number of integers that all rows need in memory, at most.

        >>> Relation.identity((3, 2)).numbers
        8
        """
        if self._stored is not None:
            return self._stored.numbers
        return 2 * len(self) * sum(map(len, self._views))

    def _tables(self, needed: dict[int, Ints | None] | None = None) -> Iterator[_core.Table]:
        """Yield all rows, or those of the given blocks, in one table if they fit into memory."""
        if self._fits:
            yield self._in_memory()
        else:
            yield from self._held.pieces(needed)

    def _touched(self, given: Selection, backward: bool) -> Iterator[_core.Table]:
        """Return tables that together answer this question: of the few blocks that it needs, or of all."""
        stored = self._held
        view = stored.out_view if backward else stored.in_view
        shape = self._out_shape if backward else self._in_shape
        boxes = boxes_around(given, shape, view)
        if boxes is None or not shape or not given or max((part.blocks for part in stored.parts), default=0) <= 1:
            return self._tables()
        first = 0 if backward else len(stored.out_view)
        needed = {i: stored.meeting(i, boxes, first) for i in range(len(stored.parts))}
        parts = zip(needed.values(), stored.parts, strict=True)
        read = sum(part.rows if some is None else len(some) * part.block for some, part in parts)
        if read * SELECTIVE > stored.rows:
            return self._tables(needed)
        if read > FEW_ROWS:
            return stored.pieces(needed)
        return iter([stored.table(needed)])

    # Combining

    def compose(self, other: Relation, *, engine: str = "auto", path: str | os.PathLike[str] | None = None) -> Relation:
        """Compose two relations: self is C <- B, other is B <- A, the result is C <- A.

        >>> Relation.identity(4).compose(Relation.whole(4, 2))
        Relation((4,) <- (2,), 8 tuples in 1 box)

        Spark composes relations that do not fit into memory, or all with engine="spark". The result is saved to `path`,
        if given. On a cluster it is required: a result of more than a few boxes is written to that directory in parts.
        """
        require_engine(engine)
        if not isinstance(other, Relation):
            raise BadCells(f"compose takes a Relation, got {type(other).__name__}")
        if self._in_shape != other._out_shape:
            raise ShapeMismatch(
                f"cannot compose: the first relation's input is {self._in_shape}, "
                f"the second one's output is {other._out_shape}"
            )
        large = max(each.numbers for each in (self, other)) > LOAD_LIMIT
        if engine == "spark" or (engine == "auto" and large and (self._in_parts or other._in_parts)):
            found: Relation = import_module("whence.spark.scale").compose_parts(self, other, path)
            return found
        from whence.relation.compose import compose

        found = compose(self, other)
        if path is not None:
            found.save(path)
        return found

    @property
    def _in_parts(self) -> bool:
        return False

    @property
    def inverse(self) -> Relation:
        """The same tuples with the sides swapped."""
        outs, ins = len(self._views[0]), len(self._views[1])
        order = [*range(outs, outs + ins), *range(outs)]
        place = {v: i for i, v in enumerate(order)}
        table = _core.Table(self._in_shape, self._out_shape, self._views[1], self._views[0])
        for part in self.parts():
            axes = [(place[part.axes[v][0]] if part.axes[v][0] >= 0 else -1, *part.axes[v][1:]) for v in order]
            table.add(part.rows, axes, [part.lo[v] for v in order], [part.width[v] for v in order])
        return Relation(self._in_shape, self._out_shape, table)

    @property
    def _views(self) -> tuple[Shape, Shape]:
        held = self._table if self._table is not None else self._held
        return tuple(held.out_view), tuple(held.in_view)

    def parts(self) -> list[codec.Part]:
        """The disjoint rows, grouped by pattern, as in the file format."""
        table = self._in_memory()
        self.verify()
        return [codec.Part(rows, tuple(axes), tuple(lo), tuple(width)) for rows, axes, lo, width in table.parts()]

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same tuples, however they are stored."""
        from whence.relation.compose import same_rows

        if not isinstance(other, Relation):
            return NotImplemented
        if (self._out_shape, self._in_shape) != (other._out_shape, other._in_shape) or self.count() != other.count():
            return False
        return same_rows(self, other) or np.array_equal(self.to_array(), other.to_array())

    __hash__ = None  # type: ignore[assignment]  # equal relations may be stored differently

    # Expanding

    def to_array(self) -> NDArray[np.int64]:
        """The raw tuples, sorted: an array (n, axes of the output + axes of the input).

        >>> Relation.identity(2).to_array().tolist()
        [[0, 0], [1, 1]]
        """
        width = len(self._out_shape) + len(self._in_shape)
        count = self.count()
        if count * max(width, 1) > EXPAND_LIMIT:
            raise TooLarge(
                f"{count:,} tuples of {width} integers would not fit into memory; use backward, forward or parts()"
            )
        tuples = self._in_memory().expand()
        outs, ins = self._views
        if compress.fits_key(self._out_shape, self._in_shape):
            keys = compress.encode(tuples, outs, ins)
            keys = keys[: _core.sort_unique(keys)]
            return _core.decode(keys, self._out_shape + self._in_shape)
        sides = [(tuples[:, : len(outs)], outs, self._out_shape), (tuples[:, len(outs) :], ins, self._in_shape)]
        return compress.sorted_rows(np.hstack([under_shape(*side) for side in sides]))

    def to_arrow(self) -> pa.Table:
        """The raw tuples as an Arrow table with columns b0, b1, ... of the output and a0, a1, ... of the input."""
        import pyarrow as pa

        tuples = self.to_array()
        names = [f"b{i}" for i in range(len(self._out_shape))] + [f"a{i}" for i in range(len(self._in_shape))]
        return pa.table({name: np.ascontiguousarray(tuples[:, i]) for i, name in enumerate(names)})

    def to_pandas(self) -> pd.DataFrame:
        """The raw tuples as a pandas frame, columns as in to_arrow."""
        import pandas as pd

        names = [f"b{i}" for i in range(len(self._out_shape))] + [f"a{i}" for i in range(len(self._in_shape))]
        return pd.DataFrame(self.to_array(), columns=names)

    # Storing

    def to_bytes(self) -> bytes:
        """The relation as the bytes of its file."""
        if self._stored is not None:
            return self._stored.to_bytes()
        return codec.dump(self._out_shape, self._in_shape, *self._views, self.parts())

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, name: str = "the stored relation") -> Relation:
        """Make a relation from the bytes of its file; errors use `name`."""
        stored = Stored(data, name)
        return cls(stored.out_shape, stored.in_shape, stored)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the relation to a file."""
        files.write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Relation:
        """Open a relation's file, or a directory of parts. Data is read when a question needs it."""
        if cls is Relation and os.path.isdir(path):
            from whence.relation.parts import PartedRelation

            return PartedRelation.load(path)
        return cls.from_bytes(files.mapped(path), repr(os.fspath(path)))
