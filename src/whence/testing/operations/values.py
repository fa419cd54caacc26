"""Operations whose lineage depends on the values: sort, filter, bins, groups, joins. Values are drawn from a seed."""

from __future__ import annotations

import math

import numpy as np

from ._raw import Ints, Raw, Shape, linked, moved, numbered


def sort(shape: Shape, axis: int = -1, seed: int = 0) -> Raw:
    """`np.sort` of random values: a permutation in every lane.

    >>> sorted(sort((4,)).tuples[:, 1].tolist())
    [0, 1, 2, 3]
    """
    values = np.random.default_rng(seed).random(shape)
    return moved(np.take_along_axis(numbered(shape), np.argsort(values, axis, kind="stable"), axis), shape)


def filter_rows(shape: Shape, keep: float = 0.5, seed: int = 0) -> Raw:
    """`a[mask]` with a mask over the first axis that keeps random rows."""
    mask = np.random.default_rng(seed).random(shape[0]) < keep
    return moved(numbered(shape)[mask], shape)


def filter_correlated(shape: Shape, keep: float = 0.5, spread: float = 0.1, seed: int = 0) -> Raw:
    """`a[mask]` where values grow with the position, with noise, so that the mask is nearly one run (CorrFilter)."""
    rows = shape[0]
    values = np.random.default_rng(seed).normal(np.arange(rows), max(rows * spread, 1e-9))
    return moved(numbered(shape)[values < rows * keep], shape)


def filter_cells(shape: Shape, keep: float = 0.5, seed: int = 0) -> Raw:
    """`a[mask]` with a mask of the array's own shape: the kept cells as a vector."""
    mask = np.random.default_rng(seed).random(shape) < keep
    return moved(numbered(shape)[mask], shape)


def where_disc(shape: Shape, radius: float = 0.3) -> Raw:
    """`np.where(picture > 0, picture, 0)` of a picture of a bright disc: the cells of the disc come from themselves."""
    grids = np.meshgrid(*(np.linspace(-0.5, 0.5, side) for side in shape), indexing="ij", sparse=True)
    distance = np.zeros(shape) + sum(grid**2 for grid in grids)
    return moved(np.where(distance <= radius**2, numbered(shape), -1), shape)


def bins(shape: Shape, count: int = 4, ordered: bool = False, seed: int = 0) -> Raw:
    """A histogram of random values, or of the same values sorted first (RandBin4, SortedBin4).

    >>> bins((8,), 2, ordered=True).tuples[:, 1].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    values = np.random.default_rng(seed).random(math.prod(shape))
    if ordered:
        values.sort()
    return linked(np.floor(values * count).astype(np.int64), np.arange(len(values)), (count,), shape)


def scatter(shape: Shape, out_side: int, seed: int = 0) -> Raw:
    """`np.add.at(out, codes, a)` with random codes: any output cell comes from any number of input cells."""
    size = math.prod(shape)
    codes = np.random.default_rng(seed).integers(0, out_side, size)
    return linked(codes, np.arange(size), (out_side,), shape)


def group_by(shape: Shape, groups: int, ordered: bool = False, seed: int = 0) -> Raw:
    """Group a table (rows, columns) by a random key, and aggregate each column: (groups, columns).

    >>> group_by((4, 1), 2, ordered=True).out_shape
    (2, 1)
    """
    rows, columns = shape
    keys = np.random.default_rng(seed).integers(0, groups, rows)
    if ordered:
        keys.sort()
    out_shape = (groups, columns)
    return linked(numbered(out_shape)[keys], numbered(shape), out_shape, shape)


def join_left(shape: Shape, other_rows: int, keys: int, other_columns: int = 1, seed: int = 0) -> Raw:
    """The left table (rows, columns) of an inner join on random keys; the right table's columns come after its own."""
    left, _ = _matches(shape[0], other_rows, keys, seed)
    sources = np.full((len(left), shape[1] + other_columns), -1, np.int64)
    sources[:, : shape[1]] = numbered(shape)[left]
    return moved(sources, shape)


def join_right(shape: Shape, other_rows: int, keys: int, other_columns: int = 1, seed: int = 0) -> Raw:
    """The right table (rows, columns) of an inner join on random keys; its columns come after the left table's."""
    left, right = _matches(other_rows, shape[0], keys, seed)
    sources = np.full((len(left), other_columns + shape[1]), -1, np.int64)
    sources[:, other_columns:] = numbered(shape)[right]
    return moved(sources, shape)


def _matches(left_rows: int, right_rows: int, keys: int, seed: int) -> tuple[Ints, Ints]:
    """The rows of a left and a right table whose random keys are equal, in the left table's order."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, keys, left_rows), rng.integers(0, keys, right_rows)
    order = np.argsort(right, kind="stable")
    start = np.searchsorted(right[order], left, "left")
    count = np.searchsorted(right[order], left, "right") - start
    first = np.repeat(np.cumsum(count) - count, count)
    within = np.arange(int(count.sum())) - first
    return np.repeat(np.arange(left_rows), count), order[np.repeat(start, count) + within]


def segments(shape: Shape, count: int, seed: int = 0) -> Raw:
    """One weight for each of `count` segments of a picture (rows, columns), as an explainer returns them (Lime)."""
    rows, columns = shape
    rng = np.random.default_rng(seed)
    centres = rng.random((count, 2)) * (rows, columns)
    owner = np.zeros(shape, np.int64)
    nearest = np.full(shape, np.inf)
    for number, (row, column) in enumerate(centres):
        distance = (np.arange(rows)[:, None] - row) ** 2 + (np.arange(columns)[None, :] - column) ** 2
        owner[distance < nearest] = number
        nearest = np.minimum(nearest, distance)
    return linked(owner, numbered(shape), (count,), shape)
