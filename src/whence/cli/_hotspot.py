"""The pipeline of `whence demo`: find hot spots in a thermal image, and say cell for cell how each step did it.

It is the `hotspot` of the DSLog thesis (smooth, then the locations of what is hot) behind a sensor that is mounted
sideways and looks into a mirror: rotate and flip come first, a table of spots and a small overview come last.
Each step returns its array and its lineage as raw tuples: output indices, then input indices, one row a pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THRESHOLD = 0.62
WINDOW = 3
TILE = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One operation that ran: what it made, from what, and which cells from which."""

    operation: str
    output: str
    input: str
    array: NDArray[np.generic]
    tuples: Ints
    arguments: dict[str, int | float] = field(default_factory=dict)


def thermal(height: int = 480, width: int = 640, seed: int = 11) -> Floats:
    """A made-up thermal image in [0, 1]: warm parts on a cooler ground, and a few spots that are too hot."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / min(height, width)
    image = 0.16 + 0.06 * np.sin(1.7 * x + 0.4) * np.cos(1.3 * y)
    for top, left, tall, wide, heat in (
        (0.10, 0.12, 0.22, 0.34, 0.12),
        (0.52, 0.30, 0.34, 0.20, 0.17),
        (0.16, 0.72, 0.58, 0.10, 0.13),
        (0.66, 0.92, 0.20, 0.28, 0.15),
    ):
        image += heat * _edge(y - top, tall) * _edge(x - left, wide)
    for centre_y, centre_x, radius, heat in (
        (0.19, 0.25, 0.016, 0.75),
        (0.70, 0.39, 0.026, 0.60),
        (0.37, 0.77, 0.013, 0.85),
        (0.75, 1.10, 0.020, 0.62),
        (0.30, 1.14, 0.011, 0.85),
        (0.313, 1.158, 0.010, 0.72),  # close enough to the one before to be one spot with it
    ):
        stretch = 1 + random.uniform(0.0, 0.8)
        distance = (y - centre_y) ** 2 * stretch + (x - centre_x) ** 2
        image += heat * np.exp(-distance / (2 * radius**2))
    image += random.normal(0, 0.003, image.shape)
    clipped: Floats = np.clip(image, 0, 1)
    return clipped


def _edge(offset: Floats, length: float) -> Floats:
    """1 within [0, length], falling off softly at both ends."""
    soft = 0.012
    inside: Floats = 1 / (1 + np.exp(-offset / soft)) / (1 + np.exp((offset - length) / soft))
    return inside


def run(image: Floats) -> Iterator[Step]:
    """Run the pipeline on an image, step by step."""
    rotated = np.rot90(image)
    yield Step("rotate", "rotated", "thermal", rotated, rotate_lineage(rotated.shape))
    upright = np.fliplr(rotated)
    yield Step("flip", "upright", "rotated", upright, flip_lineage(upright.shape))
    smooth, lineage = mean_filter(upright)
    yield Step("smooth", "smooth", "upright", smooth, lineage, {"window": WINDOW})
    hot = np.argwhere(smooth > THRESHOLD)
    yield Step("threshold", "hot", "smooth", hot, argwhere_lineage(hot), {"above": THRESHOLD})
    labels = connected(hot)
    spots = summarise(hot, labels)
    yield Step("group", "spots", "hot", spots, group_lineage(labels))
    overview, lineage = block_mean(smooth)
    yield Step("aggregate", "overview", "smooth", overview, lineage, {"tile": TILE})


def rotate_lineage(shape: tuple[int, ...]) -> Ints:
    """np.rot90 by a quarter turn: out[i, j] = in[j, n - 1 - i]."""
    i, j = _grid(*shape)
    return _tuples(i, j, j, shape[0] - 1 - i)


def flip_lineage(shape: tuple[int, ...]) -> Ints:
    """np.fliplr: out[i, j] = in[i, n - 1 - j]."""
    i, j = _grid(*shape)
    return _tuples(i, j, i, shape[1] - 1 - j)


def mean_filter(image: Floats) -> tuple[Floats, Ints]:
    """The mean of the window around each pixel, cut off at the border."""
    height, width = image.shape
    i, j = _grid(height, width)
    total, count, parts = np.zeros_like(image), np.zeros_like(image), []
    reach = range(-(WINDOW // 2), WINDOW // 2 + 1)
    for down in reach:
        for right in reach:
            inside = (i + down >= 0) & (i + down < height) & (j + right >= 0) & (j + right < width)
            out_i, out_j = i[inside], j[inside]
            total[out_i, out_j] += image[out_i + down, out_j + right]
            count[out_i, out_j] += 1
            parts.append(_tuples(out_i, out_j, out_i + down, out_j + right))
    return total / count, np.concatenate(parts)


def argwhere_lineage(hot: Ints) -> Ints:
    """np.argwhere: both numbers of a row come from the pixel that they locate."""
    row, column = _grid(*hot.shape)
    return _tuples(row, column, hot[row, 0], hot[row, 1])


def connected(hot: Ints) -> Ints:
    """For each hot pixel the number of its spot: pixels that touch, corners included, are one spot."""
    number = {(int(y), int(x)): -1 for y, x in hot}
    spots = 0
    for start in number:
        if number[start] >= 0:
            continue
        number[start], pending = spots, [start]
        while pending:
            y, x = pending.pop()
            for near in ((y + down, x + right) for down in (-1, 0, 1) for right in (-1, 0, 1)):
                if number.get(near) == -1:
                    number[near] = spots
                    pending.append(near)
        spots += 1
    return np.array(list(number.values()), dtype=np.int64)


def summarise(hot: Ints, labels: Ints) -> Floats:
    """One row a spot: the row and the column of its centre, and how many pixels it has."""
    pixels = np.bincount(labels)
    rows = np.bincount(labels, weights=hot[:, 0]) / pixels
    columns = np.bincount(labels, weights=hot[:, 1]) / pixels
    return np.stack([rows, columns, pixels], axis=1)


def group_lineage(labels: Ints) -> Ints:
    """A centre's row comes from the rows of its pixels, its column from their columns, the count from both."""
    row = np.arange(len(labels))
    pairs = ((0, 0), (1, 1), (2, 0), (2, 1))
    return np.concatenate(
        [_tuples(labels, np.full_like(row, out), row, np.full_like(row, into)) for out, into in pairs]
    )


def block_mean(image: Floats) -> tuple[Floats, Ints]:
    """The mean of each tile."""
    height, width = image.shape
    i, j = _grid(height, width)
    mean = image.reshape(height // TILE, TILE, width // TILE, TILE).mean(axis=(1, 3))
    return mean, _tuples(i // TILE, j // TILE, i, j)


def _grid(height: int, width: int) -> tuple[Ints, Ints]:
    i, j = np.divmod(np.arange(height * width), width)
    return i, j


def _tuples(*columns: Ints) -> Ints:
    return np.stack(columns, axis=1)


def follow(tuples: Ints, asked: set[tuple[int, ...]], axes: int, *, forward: bool) -> set[tuple[int, ...]]:
    """Lineage by looking at every tuple: slow, obvious, and what the log's answer is compared with."""
    near, far = tuples[:, :axes], tuples[:, axes:]
    if forward:
        near, far = far, near
    wanted = np.array(sorted(asked), dtype=np.int64).reshape(len(asked), near.shape[1])
    side = int(near.max(initial=0)) + 1
    weights = side ** np.arange(near.shape[1])  # two axes of a few hundred: far from any overflow
    matches = np.isin(near @ weights, wanted @ weights)
    return {tuple(cell) for cell in far[matches].tolist()}
