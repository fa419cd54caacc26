"""The class `Selection`: an immutable set of cells of one dataset, stored as boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whence import _core
from whence.errors import BadType, ShapeMismatch, TooLarge
from whence.selection import _reading
from whence.selection._boxes import cells_of_boxes, read_only, summary
from whence.selection._numbers import distinct

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CELL_LIMIT: Final = 2**28
"""The most indices that `cells()` returns (2 GiB); `mask()` makes an array of at most as many bytes."""

Combine: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]


class Selection:
    """A set of cells of one dataset: a union of integer boxes over its axes.

    >>> sel = Selection.from_cells([(0, 1), (0, 0), (1, 0), (1, 1)], shape=(3, 2))
    >>> sel
    Selection(shape=(3, 2), 4 cells: [0:2, 0:2])
    >>> (1, 1) in sel, len(sel), sel | Selection.parse("2,0", (3, 2))
    (True, 4, Selection(shape=(3, 2), 5 cells: [0:2, 0:2], [2, 0]))

    Selections are immutable, hashable and canonical: if two have the same cells and shape, they are equal and have
    equal boxes. Only `cells()`, `mask()` and iteration expand the cells, so counting or combining 2**80 cells is as
    fast as ten.
    """

    __slots__ = ("_boxes", "_count", "_hash", "_shape", "notes")

    _boxes: NDArray[np.int64]
    _shape: tuple[int, ...]
    _count: int | None
    _hash: int | None
    notes: tuple[str, ...]
    """Notes of an answer: where the recorded lineage ends. They do not count when selections are compared."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise BadType("make a selection with Selection.of(cells, shape), or from_cells, from_slices, from_mask, parse")

    @classmethod
    def _trusted(cls, boxes: NDArray[np.int64], shape: tuple[int, ...]) -> Self:
        """Make a selection of read-only boxes that are known to be canonical and inside the shape."""
        self = object.__new__(cls)
        self._boxes = boxes
        self._shape = shape
        self._count = None
        self._hash = None
        self.notes = ()
        return self

    def noted(self, notes: tuple[str, ...]) -> Self:
        """Return the same cells with notes."""
        made = self._trusted(self._boxes, self._shape)
        made.notes = notes
        return made

    # Making one -------------------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, cells: Any, shape: Any) -> Self:
        """Make a selection from cells in any form.

        Takes a Selection; an index tuple; an integer array (n, axes) or a list of index tuples; a slice or a tuple with
        slices; a boolean mask; or text as for `parse`. With one axis, an integer is a cell and a list of integers is
        several.

        >>> [len(Selection.of(c, (4, 4))) for c in [(1, 2), [(1, 2), (3, 0)], np.s_[:, 1:3], np.eye(4) == 1, "::2,0"]]
        [1, 2, 8, 4, 2]
        """
        if isinstance(cells, cls):
            if cells._shape != shape and cells._shape != _reading.as_shape(shape):
                raise ShapeMismatch(f"the selection has the shape {cells._shape}, and the dataset {shape}")
            return cells
        shape = _reading.as_shape(shape)
        if isinstance(cells, str):
            return cls.parse(cells, shape)
        return cls._trusted(_reading.boxes_of(cells, shape), shape)

    @classmethod
    def from_cells(cls, cells: Any, shape: Any) -> Self:
        """The given cells: an integer array (n, axes), or index tuples, in any order, repeated or not.

        >>> Selection.from_cells(np.array([[2, 1], [0, 0], [2, 0]]), shape=(3, 2))
        Selection(shape=(3, 2), 3 cells: [0, 0], [2, 0:2])
        """
        shape = _reading.as_shape(shape)
        return cls._trusted(_reading.boxes_of_cells(cells, shape), shape)

    @classmethod
    def from_slices(cls, slices: Any, shape: Any) -> Self:
        """The cells that an index of slices, integers and `...` selects, one entry per axis.

        Slices clip as Python's do, and may have steps; negative integers count from the end, as in NumPy.

        >>> Selection.from_slices(np.s_[::2, -1:], shape=(4, 3))
        Selection(shape=(4, 3), 2 cells: [0, 2], [2, 2])
        """
        shape = _reading.as_shape(shape)
        return cls._trusted(_reading.boxes_of_slices(slices, shape), shape)

    @classmethod
    def from_mask(cls, mask: ArrayLike) -> Self:
        """The true cells of a boolean array; its shape is the shape of the dataset.

        >>> Selection.from_mask(np.eye(2, dtype=bool))
        Selection(shape=(2, 2), 2 cells: [0, 0], [1, 1])
        """
        array = np.asarray(mask)
        return cls._trusted(_reading.boxes_of_mask(array), array.shape)

    @classmethod
    def from_boxes(cls, boxes: Any, shape: Any) -> Self:
        """The union of boxes (n, axes, 2) with *inclusive* bounds [lo, hi], in any order, overlapping or not.

        >>> Selection.from_boxes([[[0, 1], [0, 2]], [[1, 2], [0, 2]]], shape=(3, 3)) == Selection.all((3, 3))
        True
        """
        shape = _reading.as_shape(shape)
        return cls._trusted(_reading.boxes_of_boxes(boxes, shape), shape)

    @classmethod
    def parse(cls, text: str, shape: Any) -> Self:
        """Cells written as text: `3,4`, `0:10,5`, `:,0`, `::2`, `...`; several groups separated by `;` or spaces.

        >>> Selection.parse("0:2,1; 2,0", shape=(3, 2))
        Selection(shape=(3, 2), 3 cells: [0:2, 1], [2, 0])
        """
        shape = _reading.as_shape(shape)
        if not isinstance(text, str):
            raise BadType(f"parse takes text; Selection.of takes anything else, such as {text!r}")
        return cls._trusted(_reading.boxes_of_text(text, shape), shape)

    @classmethod
    def all(cls, shape: Any) -> Self:
        """Every cell.

        >>> len(Selection.all((3, 2)))
        6
        """
        shape = _reading.as_shape(shape)
        if 0 in shape:
            return cls.empty(shape)
        boxes = np.array([[[0, size - 1] for size in shape]], dtype=np.int64).reshape(1, len(shape), 2)
        return cls._trusted(read_only(boxes), shape)

    @classmethod
    def empty(cls, shape: Any) -> Self:
        """No cell.

        >>> Selection.empty((3, 2))
        Selection(shape=(3, 2), no cells)
        """
        shape = _reading.as_shape(shape)
        return cls._trusted(read_only(np.empty((0, len(shape), 2), dtype=np.int64)), shape)

    # Contents ---------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the dataset."""
        return self._shape

    @property
    def boxes(self) -> NDArray[np.int64]:
        """Disjoint boxes (n, axes, 2) with inclusive bounds, sorted, read-only; equal selections have equal boxes.

        Axis 0 is cut into the longest intervals over which the rest of the selection stays the same. Each interval
        holds the rest, cut in the same way.
        """
        return self._boxes

    @property
    def count(self) -> int:
        """The number of cells. `len()` is the same, but fails beyond `sys.maxsize`.

        >>> Selection.all((2**40, 2**40)).count == 2**80
        True
        """
        if self._count is None:
            found = _core.count(self._boxes)
            if found is None:  # beyond 128 bits
                lengths = (self._boxes[..., 1] - self._boxes[..., 0] + 1).tolist()
                found = sum(math.prod(box) for box in lengths)
            self._count = found
        return self._count

    def __len__(self) -> int:
        return self.count

    def __bool__(self) -> bool:
        return len(self._boxes) > 0

    def cells(self) -> NDArray[np.int64]:
        """The cells as an array (count, axes), sorted; TooLarge beyond `CELL_LIMIT` indices.

        >>> Selection.parse("0:2,1", (3, 2)).cells().tolist()
        [[0, 1], [1, 1]]
        """
        if self.count * max(len(self._shape), 1) > CELL_LIMIT:
            raise TooLarge(
                f"the selection has {self.count:,} cells, too many to list; .boxes has them as ranges, .count counts"
                " them, and iterating yields them one by one"
            )
        return _core.expand(self._boxes, self.count)

    def along(self, axis: int) -> NDArray[np.int64]:
        """The indices along one axis that have a cell, in order.

        >>> Selection.parse("2:4,1; 7,0:2", (9, 3)).along(0).tolist()
        [2, 3, 7]
        """
        first, last = self._boxes[:, axis, 0], self._boxes[:, axis, 1]
        many = last - first + 1
        places = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        return distinct(np.repeat(first, many) + places)

    def dataframe(self, spark: SparkSession | None = None) -> DataFrame:
        """The cells as a Spark frame of disjoint boxes: first and last index on each axis.

        `spark` is the session; by default the active one.
        """
        found: DataFrame = import_module("whence.spark.scale").frame_of(self, spark)
        return found

    @property
    def columns(self) -> list[str]:
        """For a table, the names of the columns with a cell; an array has none."""
        return []

    def arrow(self) -> pa.Table:
        """For a table, the rows with a cell, as an Arrow table."""
        raise self._no_table()

    def pandas(self) -> pd.DataFrame:
        """For a table, the rows with a cell, as a pandas frame."""
        raise self._no_table()

    def _no_table(self) -> BadType:
        return BadType("these are cells of an array, which has no named columns: use cells() or mask()")

    def mask(self) -> NDArray[np.bool_]:
        """A boolean array of the dataset's shape, true where a cell is selected.

        >>> Selection.parse("0", (3,)).mask().tolist()
        [True, False, False]
        """
        size = math.prod(self._shape)
        if size > 8 * CELL_LIMIT:
            raise TooLarge(
                f"a mask of the shape {self._shape} would have {size:,} cells; .boxes has the cells as ranges"
            )
        mask = np.zeros(self._shape, dtype=np.bool_)
        _core.fill(self._boxes, mask.view(np.uint8))
        return mask

    def slices(self) -> list[tuple[slice, ...]]:
        """An index of slices for each box, to index an array.

        >>> Selection.parse("0:2,1; 2,0", (3, 2)).slices()
        [(slice(0, 2, None), slice(1, 2, None)), (slice(2, 3, None), slice(0, 1, None))]
        """
        return [tuple(slice(lo, hi + 1) for lo, hi in box) for box in self._boxes.tolist()]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The cells as index tuples, sorted, one at a time."""
        if not self or not self._shape:
            return iter([()] * len(self._boxes))
        return cells_of_boxes(self._boxes)

    def __contains__(self, cell: object) -> bool:
        """Whether an index tuple (or, with one axis, an integer) is selected; a cell outside the shape is not."""
        index = cell if isinstance(cell, tuple) else (cell,)
        try:
            found = _reading.boxes_of_one(index, self._shape)
        except IndexError:
            return False
        return bool(_core.contains(self._boxes, np.ascontiguousarray(found[:, :, 0]))[0])

    # Set algebra ------------------------------------------------------------------------------------------------------

    def __or__(self, other: object) -> Self:
        """The cells of either."""
        return self._combined(other, _core.union_)

    def __and__(self, other: object) -> Self:
        """The cells of both."""
        return self._combined(other, _core.intersection)

    def __sub__(self, other: object) -> Self:
        """The cells of the first that are not in the second."""
        return self._combined(other, _core.difference)

    def __xor__(self, other: object) -> Self:
        """The cells of exactly one."""
        return self._combined(other, _core.symmetric_difference)

    def _combined(self, other: object, combine: Combine) -> Self:
        if not isinstance(other, Selection):
            return NotImplemented  # type: ignore[no-any-return]  # Python then tries the other operand
        self._same_shape(other)
        return self._trusted(combine(self._boxes, other._boxes), self._shape)

    def __invert__(self) -> Self:
        """The cells of the dataset that are not selected.

        >>> ~Selection.parse("0,:", (3, 2))
        Selection(shape=(3, 2), 4 cells: [1:3, 0:2])
        """
        return self.all(self._shape) - self

    def issubset(self, other: Selection) -> bool:
        """Whether the other selection has all of these cells."""
        self._same_shape(other)
        return _core.is_subset(self._boxes, other._boxes)

    def isdisjoint(self, other: Selection) -> bool:
        """Whether no cell is in both."""
        self._same_shape(other)
        return _core.is_disjoint(self._boxes, other._boxes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        return self._shape == other._shape and np.array_equal(self._boxes, other._boxes)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self._shape, len(self._boxes), self._boxes.tobytes()))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_boxes, (self._boxes, self._shape)

    def _same_shape(self, other: Selection) -> None:
        if not isinstance(other, Selection):
            raise BadType(f"this takes another Selection; Selection.of(cells, {self._shape}) makes one; got {other!r}")
        if self._shape != other._shape:
            raise ShapeMismatch(f"selections of different datasets: the shapes are {self._shape} and {other._shape}")

    # Display ----------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Selection(shape={self._shape}, {summary(self._boxes, self.count)})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        from whence.shown import bundle

        return bundle(self)

    def _repr_html_(self) -> str:
        from whence.selection import _picture

        return _picture.html_of(self._boxes, self._shape, repr(self))

    def draw(
        self,
        path: str | PathLike[str] | None = None,
        background: ArrayLike | None = None,
    ) -> bytes:
        """Draw one to three axes as a PNG. Return its bytes, and write them to `path` if one is given.

        One axis is a strip, two are an image, three a sheet of slices along axis 0. Large datasets are drawn smaller: a
        pixel is marked if any of its cells is selected. With two axes, `background` is an array of the same shape to
        draw the selection on.

        >>> Selection.parse("0:2,1", (3, 2)).draw()[1:4]
        b'PNG'
        """
        from whence.selection import _picture

        return _picture.png_of(self._boxes, self._shape, path, background)
