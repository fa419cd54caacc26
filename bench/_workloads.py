"""The operations whose lineage is compressed: the papers' sixteen and a few more, each at any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bench import _relational
from numpy.typing import NDArray

from whence.testing import generators, operations
from whence.testing.generators import GENRES, TITLE_COLUMNS
from whence.testing.operations import Raw

Ints = NDArray[np.int64]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Lineage:
    """One relation: its shapes, and its sorted tuples in chunks that are generated again on each call."""

    out_shape: Shape
    in_shape: Shape
    chunks: Callable[[], Iterator[Ints]]

    @classmethod
    def of(cls, raw: Raw) -> Lineage:
        """Make a relation that fits into memory."""
        return cls(raw.out_shape, raw.in_shape, lambda: iter([raw.tuples]))


@dataclass(frozen=True)
class Workload:
    """One operation: a relation for each input, and the target for its compressed size.

    `kind` is "regular" (a constant size), "sort" (the bits of a permutation) or "other" (smaller than every baseline).
    `paper` has the authors' own sizes in MB at their full size.
    """

    name: str
    kind: str
    relations: Callable[[], list[Lineage]]
    paper: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """The sizes of the operations: the side of square arrays, of the matrix product, a frame, rows of tables."""

    side: int
    product: int
    frame: tuple[int, int]
    group_rows: int
    titles: int


SCALES = {
    "tiny": Scale(side=40, product=12, frame=(54, 96), group_rows=2_000, titles=1_000),
    "small": Scale(side=400, product=100, frame=(270, 480), group_rows=100_000, titles=60_000),
    "full": Scale(side=1000, product=1000, frame=(1080, 1920), group_rows=7_840_000, titles=9_240_000),
}


def paper(*sizes: float) -> dict[str, float]:
    """Return a row of the paper's Table VII, in MB."""
    systems = ("Raw", "Array", "Parquet", "Parquet-GZip", "Turbo-RC", "ProvRC", "ProvRC-GZip")
    return dict(zip(systems, sizes, strict=True))


def thesis(raw: float, columnar: float, provrc: float) -> dict[str, float]:
    """Return a row of the thesis's Table 6.1, in MB."""
    return {"Raw": raw, "Columnar": columnar, "ProvRC": provrc}


def one(make: Callable[..., Raw], *arguments: Any, **options: Any) -> Callable[[], list[Lineage]]:
    """Return the relations of a workload with one input."""
    return lambda: [Lineage.of(make(*arguments, **options))]


def products(side: int) -> list[Lineage]:
    """Return the relations of both operands of a square matrix product, two million tuples at a time."""
    shape, rows = (side, side), max(1, 2_000_000 // (side * side))
    return [
        Lineage(shape, shape, lambda: operations.matmul_left_chunks(shape, side, rows)),
        Lineage(shape, shape, lambda: operations.matmul_right_chunks(shape, side, rows)),
    ]


def masked(mask: NDArray[np.bool_]) -> Raw:
    """Cells outside a mask are set to zero; those inside come from themselves."""
    return operations.moved(np.where(mask, operations.numbered(mask.shape), -1), mask.shape)


def explained(mask: NDArray[np.bool_], channels: int = 3) -> Raw:
    """One score of a model comes from all channels of the pixels that an explainer selects."""
    shape = (*mask.shape, channels)
    cells = operations.numbered(shape)[mask].ravel()
    return operations.linked(np.zeros(len(cells), dtype=np.int64), cells, (1,), shape)


def compacted(mask: NDArray[np.bool_]) -> Raw:
    """`x[mask]` of a single column."""
    sources = np.flatnonzero(mask)
    return operations.moved(sources[:, None], (len(mask), 1))


def grouped(scale: Scale, key: str) -> list[Lineage]:
    """Runtimes of titles, aggregated by an unsorted column."""
    table = generators.titles(scale.group_rows)
    keys, groups = (table.is_adult, 2) if key == "isAdult" else (table.genre, GENRES)

    def chunks() -> Iterator[Ints]:
        return _relational.group_by(keys, _relational.RUNTIME, groups, len(TITLE_COLUMNS))[0]

    return [Lineage((groups, 1), (len(table), len(TITLE_COLUMNS)), chunks)]


def joined(scale: Scale) -> list[Lineage]:
    """title.basics and title.episode, joined on tconst."""
    left = generators.titles(scale.titles)
    right = generators.episodes(left)
    rows = _relational.matches(left, right)
    shape = (len(rows[0]), _relational.JOINED)
    return [
        Lineage(shape, (len(left), len(TITLE_COLUMNS)), lambda: _relational.join_titles(rows[0])),
        Lineage(shape, (len(right), len(generators.EPISODE_COLUMNS)), lambda: _relational.join_episodes(rows[1])),
    ]


def workloads(size: str) -> list[Workload]:
    """Return Table VII of the paper, Table 6.1 of the thesis, then our own operations, which have no regularity."""
    scale = SCALES[size]
    side, cells = scale.side, scale.side**2
    square, flat = (side, side), (10, cells // 10)
    rng = np.random.default_rng(7)

    def addition() -> list[Lineage]:
        return [Lineage.of(operations.add(flat, flat)), Lineage.of(operations.add(flat, flat))]

    def matrix_vector() -> list[Lineage]:
        return [Lineage.of(operations.matvec(square)), Lineage.of(operations.matvec_vector((side,), side))]

    def above_mean(values: NDArray[np.float64]) -> Raw:
        return compacted(values > values.mean())

    return [
        Workload("Negative", "regular", one(operations.negative, flat),
                 paper(22.66, 32.00, 5.05, 4.33, 5.11, 0.00978, 0.0103)),
        Workload("Addition", "regular", addition, paper(45.33, 64.00, 10.11, 8.66, 10.23, 0.0195, 0.0207)),
        Workload("Aggregate", "regular", one(operations.sum_over, square, axis=1, keepdims=True),
                 paper(20.55, 32.00, 0.131, 0.0255, 3.73, 0.00978, 0.0103)),
        Workload("Repetition", "regular", one(operations.tile, flat, (2, 2)),
                 paper(98.22, 128.0, 25.20, 14.52, 22.03, 0.00983, 0.0103)),
        Workload("Matrix*Vector", "regular", matrix_vector, paper(39.22, 64.00, 0.254, 0.048, 6.77, 0.0195, 0.0207)),
        Workload("Matrix*Matrix", "regular", lambda: products(scale.product),
                 paper(40127, 64000, 254.8, 48.06, 6770, 0.0198, 0.0210)),
        Workload("Sort", "sort", one(operations.sort, (cells,)),
                 paper(22.66, 32.00, 3.38, 2.76, 6.10, 3.43, 2.79)),
        Workload("ImgFilter", "other", lambda: [Lineage.of(masked(generators.digit(side) > 0))],
                 paper(4.288, 5.632, 1.96, 1.06, 1.05, 0.00999, 0.0104)),
        Workload("Lime", "other", lambda: [Lineage.of(explained(generators.lime_mask(scale.frame)))],
                 paper(24.09, 29.63, 0.529, 0.123, 5.97, 0.0123, 0.0121)),
        Workload("DRISE", "other", lambda: [Lineage.of(explained(generators.drise_mask(scale.frame)))],
                 {"Raw": 8.82, "Array": 11.07, "Parquet": 0.0898, "Turbo-RC": 2.19, "ProvRC": 0.0106,
                  "ProvRC-GZip": 0.0108}),
        Workload("Group By", "other", lambda: grouped(scale, "isAdult"),
                 paper(183.43, 251.00, 32.62, 13.56, 35.97, 29.45, 13.62)),
        Workload("Inner Join", "other", lambda: joined(scale),
                 paper(2330, 2612.13, 195.44, 53.44, 584.98, 14.13, 6.36)),
        Workload("RandFilter", "other", lambda: [Lineage.of(above_mean(rng.random(cells)))],
                 thesis(13.93, 2.364, 21.87)),
        Workload("CorrFilter", "other", lambda: [Lineage.of(above_mean(generators.drifting(cells)))],
                 thesis(13.87, 1.503, 4.940)),
        Workload("RandBin4", "other", one(operations.bins, (cells, 1)), thesis(14.87, 0.8164, 43.32)),
        Workload("SortedBin4", "other", one(operations.bins, (cells, 1), ordered=True),
                 thesis(14.87, 0.3092, 0.000468)),
        Workload("Sort in rows", "other", one(operations.sort, flat)),
        Workload("Group By genres", "other", lambda: grouped(scale, "genres")),
    ]  # fmt: skip


def steady(side: int) -> dict[str, Raw]:
    """Return operations that should need a constant number of boxes at any size; plain ProvRC cannot fold most of
    them.
    """
    square = (side, side)
    fourth = (3, side // 4, 5, side // 2)
    return {
        "flip": operations.flip(square),
        "rot90": operations.rot90(square),
        "[::2]": operations.sliced(square, slice(None, None, 2), slice(None, None, 2)),
        "repeat": operations.repeat(square, 3, axis=1),
        "reshape": operations.reshape((side, 6 * side), (2 * side, 3 * side)),
        "ravel": operations.reshape(square, (side * side,)),
        "transpose of rank 4": operations.transpose(fourth, (2, 0, 3, 1)),
        "diag": operations.diag_extract(square),
        "tril": operations.tril(square),
        "convolution": operations.convolve((side * side,), 5),
        "convolution of an image": operations.convolve_nd(square, (3, 3)),
    }


STEADY = {"tiny": (8, 16), "small": (40, 160), "full": (100, 600)}
