"""Lineage by brute force: a relation is the set of its tuples, and an answer is a loop over them.

This is slow and simple on purpose, because the compressed form is compared with it. `RawRelation` contains Python
tuples; the functions below it do the same joins on integer arrays, for tests too large for Python sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Shape = tuple[int, ...]
Cell = tuple[int, ...]
Cells = frozenset[Cell]
Ints = NDArray[np.int64]


def all_cells(shape: Shape) -> Cells:
    """Return every cell of an array of that shape.

    >>> sorted(all_cells((2, 1))), all_cells(()), all_cells((3, 0))
    ([(0, 0), (1, 0)], frozenset({()}), frozenset())
    """
    return frozenset(itertools.product(*(range(side) for side in shape)))


def as_cells(rows: Iterable[Iterable[Any]]) -> Cells:
    """Convert rows of an integer array, or any index tuples, to a set of cells.

    >>> sorted(as_cells(np.array([[1, 2], [0, 5], [1, 2]])))
    [(0, 5), (1, 2)]
    """
    return frozenset(tuple(int(index) for index in row) for row in rows)


@dataclass(frozen=True)
class RawRelation:
    """Output cells <- input cells, with one Python tuple for each pair, output axes first.

    >>> total = RawRelation((2,), (2, 2), frozenset({(0, 0, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1)}))
    >>> sorted(total.backward([(1,)]))
    [(1, 0), (1, 1)]
    >>> sorted(total.forward([(0, 1)]))
    [(0,)]
    """

    out_shape: Shape
    in_shape: Shape
    tuples: frozenset[Cell]

    def __post_init__(self) -> None:
        sides = self.out_shape + self.in_shape
        for row in self.tuples:
            if len(row) != len(sides) or not all(0 <= index < side for index, side in zip(row, sides, strict=True)):
                raise ValueError(f"{row} is not a tuple of {self.out_shape} <- {self.in_shape}")

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[Any]], out_shape: Shape, in_shape: Shape) -> RawRelation:
        """Return the relation whose tuples are the rows of an integer array; order and duplicates do not matter."""
        return cls(out_shape, in_shape, as_cells(rows))

    @classmethod
    def identity(cls, shape: Shape) -> RawRelation:
        """Each cell comes from itself."""
        return cls(shape, shape, frozenset(cell + cell for cell in all_cells(shape)))

    @classmethod
    def whole(cls, out_shape: Shape, in_shape: Shape) -> RawRelation:
        """Each output cell comes from every input cell."""
        return cls(out_shape, in_shape, all_cells(out_shape + in_shape))

    @classmethod
    def empty(cls, out_shape: Shape, in_shape: Shape) -> RawRelation:
        """No tuples."""
        return cls(out_shape, in_shape, frozenset())

    def pairs(self) -> Iterable[tuple[Cell, Cell]]:
        """Split each tuple into its output cell and its input cell."""
        cut = len(self.out_shape)
        return ((row[:cut], row[cut:]) for row in self.tuples)

    def backward(self, cells: Iterable[Cell]) -> Cells:
        """The input cells that contributed to any of these output cells."""
        asked = frozenset(cells)
        return frozenset(source for target, source in self.pairs() if target in asked)

    def forward(self, cells: Iterable[Cell]) -> Cells:
        """The output cells that any of these input cells contributed to."""
        asked = frozenset(cells)
        return frozenset(target for target, source in self.pairs() if source in asked)

    def compose(self, other: RawRelation) -> RawRelation:
        """Return C <- A, from this relation C <- B and another one B <- A.

        >>> step = RawRelation((3,), (3,), frozenset({(0, 1), (1, 2)}))
        >>> sorted(step.compose(step).tuples)
        [(0, 2)]
        """
        if self.in_shape != other.out_shape:
            raise ValueError(f"cannot compose: {self.in_shape} is not {other.out_shape}")
        behind: dict[Cell, list[Cell]] = {}
        for middle, source in other.pairs():
            behind.setdefault(middle, []).append(source)
        joined = frozenset(target + source for target, middle in self.pairs() for source in behind.get(middle, []))
        return RawRelation(self.out_shape, other.in_shape, joined)

    @property
    def inverse(self) -> RawRelation:
        """The same pairs with the sides swapped."""
        return RawRelation(self.in_shape, self.out_shape, frozenset(source + target for target, source in self.pairs()))

    def count(self) -> int:
        """How many tuples there are."""
        return len(self.tuples)

    def to_array(self) -> Ints:
        """The tuples as a sorted integer array of shape (n, output axes + input axes)."""
        width = len(self.out_shape) + len(self.in_shape)
        return np.array(sorted(self.tuples), dtype=np.int64).reshape(len(self.tuples), width)


def walk(steps: Sequence[tuple[RawRelation, str]], cells: Iterable[Cell]) -> Cells:
    """Return the cells at the end of a path whose steps each go "backward" or "forward".

    >>> flip = RawRelation((3,), (3,), frozenset({(0, 2), (1, 1), (2, 0)}))
    >>> sorted(walk([(flip, "backward"), (flip, "forward")], [(0,)]))
    [(0,)]
    """
    reached = frozenset(cells)
    for relation, direction in steps:
        if direction not in ("backward", "forward"):
            raise ValueError(f"a step goes backward or forward, not {direction!r}")
        reached = relation.backward(reached) if direction == "backward" else relation.forward(reached)
    return reached


def sorted_unique(rows: ArrayLike) -> Ints:
    """Return the distinct rows of an integer matrix, sorted.

    >>> sorted_unique([[1, 0], [0, 5], [1, 0]]).tolist()
    [[0, 5], [1, 0]]
    >>> sorted_unique(np.empty((4, 0), int)).shape
    (1, 0)
    """
    matrix = np.asarray(rows, dtype=np.int64)
    if matrix.shape[1] == 0:  # np.unique rejects rows without columns, which are all equal
        return matrix[:1]
    return np.unique(matrix, axis=0)


def flat(cells: Ints, shape: Shape) -> Ints:
    """Return the row-major index of each cell; 0 for the one cell of a 0-d array.

    >>> flat(np.array([[0, 1], [1, 0]]), (2, 3)).tolist(), flat(np.empty((1, 0), int), ()).tolist()
    ([1, 3], [0])
    """
    numbers = np.zeros(len(cells), dtype=np.int64)
    for axis, side in enumerate(shape):
        numbers = numbers * side + cells[:, axis]
    return numbers


def backward_rows(raw: Ints, out_shape: Shape, in_shape: Shape, cells: Ints) -> Ints:
    """`RawRelation.backward` on arrays: the sorted input cells of these output cells.

    >>> backward_rows(np.array([[0, 2], [1, 1], [2, 0]]), (3,), (3,), np.array([[0], [1]])).tolist()
    [[1], [2]]
    """
    cut = len(out_shape)
    return sorted_unique(raw[np.isin(flat(raw[:, :cut], out_shape), flat(cells, out_shape))][:, cut:])


def forward_rows(raw: Ints, out_shape: Shape, in_shape: Shape, cells: Ints) -> Ints:
    """`RawRelation.forward` on arrays: the sorted output cells that these input cells reached."""
    cut = len(out_shape)
    return sorted_unique(raw[np.isin(flat(raw[:, cut:], in_shape), flat(cells, in_shape))][:, :cut])


def compose_rows(first: Ints, second: Ints, out_shape: Shape, middle: Shape, in_shape: Shape) -> Ints:
    """`RawRelation.compose` on arrays: first is C <- B, second is B <- A; the sorted tuples of C <- A.

    >>> step = np.array([[0, 1], [1, 2]])
    >>> compose_rows(step, step, (3,), (3,), (3,)).tolist()
    [[0, 2]]
    """
    left, right = len(out_shape), len(middle)
    wanted = flat(first[:, left:], middle)
    offered = flat(second[:, :right], middle)
    second, offered = second[np.argsort(offered, kind="stable")], np.sort(offered)
    start, stop = np.searchsorted(offered, wanted, "left"), np.searchsorted(offered, wanted, "right")
    matches = stop - start
    targets = np.repeat(first[:, :left], matches, axis=0)
    # the k-th match of a row of `first` is the row start + k of the sorted `second`
    within = np.arange(len(targets)) - np.repeat(np.cumsum(matches) - matches, matches)
    sources = second[np.repeat(start, matches) + within][:, right:]
    return sorted_unique(np.concatenate([targets, sources], axis=1))
