"""Generate data for lineage from a seed: film tables, images, segment weights and saliency maps.

They replace the data of the DSLog papers (IMDB's title tables, an MNIST digit, LIME and D-RISE over a camera frame),
with the same shapes, regularity and noise. Everything is NumPy, and a seed always gives the same data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

TITLE_COLUMNS = (
    "tconst", "titleType", "primaryTitle", "originalTitle", "isAdult", "startYear", "endYear", "runtimeMinutes",
    "genres",
)  # fmt: skip
EPISODE_COLUMNS = ("tconst", "parentTconst", "seasonNumber", "episodeNumber")
GENRES = 28


@dataclass(frozen=True)
class Titles:
    """The columns of a title.basics-like table that operations read.

    `tconst` and `start_year` are sorted, `is_adult` and `genre` are not; a missing year or runtime is NaN.
    """

    tconst: Ints
    is_adult: Ints
    start_year: Floats
    runtime: Floats
    genre: Ints

    def __len__(self) -> int:
        return len(self.tconst)


@dataclass(frozen=True)
class Episodes:
    """The columns of a title.episode-like table: which titles are episodes, and of which season."""

    tconst: Ints
    season: Floats

    def __len__(self) -> int:
        return len(self.tconst)


def bursts(count: int, share: float, length: float, rng: np.random.Generator) -> Mask:
    """Return a random mask with that fraction of True, in runs of that mean length.

    >>> mask = bursts(10_000, 0.1, 5.0, np.random.default_rng(0))
    >>> bool(0.05 < mask.mean() < 0.15)
    True
    """
    gap = length * (1 - share) / share
    pairs = int(count / (gap + length)) + 16
    mask = np.empty(0, dtype=bool)
    while len(mask) < count:
        runs = np.stack([rng.geometric(min(1.0, 1 / gap), pairs), rng.geometric(1 / length, pairs)], axis=1)
        mask = np.concatenate([mask, np.repeat(np.tile([False, True], pairs), runs.ravel())])
    return mask[:count]


def skewed(count: int, kinds: int, length: float, rng: np.random.Generator) -> Ints:
    """Return labels below `kinds`, few of them frequent, in runs of that mean length.

    >>> labels = skewed(1000, 5, 2.0, np.random.default_rng(0))
    >>> len(labels), np.bincount(labels).argmax().item()
    (1000, 0)
    """
    weights = 1 / np.arange(1, kinds + 1)
    runs = rng.geometric(1 / length, count)  # each run has at least one cell, so `count` runs suffice
    stop = min(count, int(np.searchsorted(np.cumsum(runs), count)) + 1)
    values = rng.choice(kinds, size=stop, p=weights / weights.sum())
    return np.repeat(values, runs[:stop])[:count].astype(np.int64)


def titles(rows: int, seed: int = 0) -> Titles:
    """Return a title.basics-like table.

    >>> table = titles(1000)
    >>> bool((np.diff(table.tconst) > 0).all()), bool(0 < table.is_adult.mean() < 0.2)
    (True, True)
    """
    rng = np.random.default_rng(seed)
    years = np.sort(2025 - rng.gamma(2.0, 15.0, rows).clip(0, 130)).round()
    years[rng.random(rows) < 0.08] = np.nan
    runtime = rng.gamma(4.0, 12.0, rows).round()
    runtime[bursts(rows, 0.15, 3.0, rng)] = np.nan
    return Titles(
        tconst=np.cumsum(rng.geometric(0.7, rows)).astype(np.int64),
        is_adult=bursts(rows, 0.03, 2.0, rng).astype(np.int64),
        start_year=years,
        runtime=runtime,
        genre=skewed(rows, GENRES, 1.5, rng),
    )


def episodes(of: Titles, share: float = 0.68, seed: int = 1) -> Episodes:
    """Return a title.episode-like table: a fraction of the titles, in runs, as series are entered.

    >>> table = titles(1000)
    >>> bool(np.isin(episodes(table).tconst, table.tconst).all())
    True
    """
    rng = np.random.default_rng(seed)
    tconst = of.tconst[bursts(len(of), share, 12.0, rng)]
    season = rng.geometric(0.4, len(tconst)).astype(np.float64)
    season[bursts(len(tconst), 0.1, 4.0, rng)] = np.nan
    return Episodes(tconst=tconst, season=season)


def resample(length: int, into: int) -> Floats:
    """Return the matrix (into, length) that interpolates a line of values linearly.

    >>> (resample(2, 3) @ np.array([0.0, 1.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    at = np.linspace(0, length - 1, into)
    left = np.minimum(at.astype(np.int64), max(length - 2, 0))
    matrix = np.zeros((into, length))
    rows = np.arange(into)
    matrix[rows, left] = 1 - (at - left)
    matrix[rows, np.minimum(left + 1, length - 1)] += at - left
    return matrix


def enlarge(image: NDArray[Any], shape: tuple[int, int]) -> Floats:
    """Enlarge the image with bilinear interpolation."""
    rows, columns = (resample(before, after) for before, after in zip(image.shape, shape, strict=True))
    return np.asarray(rows @ image @ columns.T, dtype=np.float64)


def digit(side: int) -> Floats:
    """Return a handwritten-like 3, drawn at 28 x 28 and enlarged. About a fifth is ink; the background is 0.

    >>> image = digit(100)
    >>> image.shape, bool(0.1 < (image > 0).mean() < 0.3)
    ((100, 100), True)
    """
    turn = np.linspace(-0.75 * np.pi, 0.6 * np.pi, 60)
    upper = np.stack([9 - 4.5 * np.sin(-turn), 13 + 4.5 * np.cos(turn)], axis=1)
    lower = np.stack([18.5 + 5 * np.sin(turn[::-1] + 0.15 * np.pi), 13 + 5.5 * np.cos(turn[::-1])], axis=1)
    pen = np.concatenate([upper, lower])
    grid = np.stack(np.meshgrid(np.arange(28), np.arange(28), indexing="ij"), axis=-1).reshape(-1, 1, 2)
    distance = np.sqrt(((grid - pen) ** 2).sum(axis=-1)).min(axis=1).reshape(28, 28)
    ink = np.clip(1.4 - distance, 0, 1)
    return enlarge(ink, (side, side))


def waves(shape: tuple[int, int], size: float, rng: np.random.Generator) -> Floats:
    """Return smooth noise with a standard deviation near 1 and bumps of about that size."""
    coarse = (max(2, int(shape[0] / size)), max(2, int(shape[1] / size)))
    return enlarge(rng.normal(size=coarse), shape)


def segments(shape: tuple[int, int], count: int, seed: int = 0) -> Ints:
    """Return superpixel-like labels: about that many patches with ragged borders.

    >>> labels = segments((60, 80), 20)
    >>> labels.shape, 10 <= len(np.unique(labels)) <= 40
    ((60, 80), True)
    """
    rng = np.random.default_rng(seed)
    height, width = shape
    side = np.sqrt(height * width / count)
    down, across = max(1, round(height / side)), max(1, round(width / side))
    rows = np.arange(height)[:, None] + 0.25 * side * waves(shape, side / 2, rng) + 0.8 * rng.normal(size=shape)
    columns = np.arange(width)[None, :] + 0.25 * side * waves(shape, side / 2, rng) + 0.8 * rng.normal(size=shape)
    seeds = rng.uniform(0.15, 0.85, size=(down, across, 2)) * side
    block_row = np.clip((rows // side).astype(np.int64), 0, down - 1)
    block_column = np.clip((columns // side).astype(np.int64), 0, across - 1)
    best = np.full(shape, np.inf)
    label = np.zeros(shape, dtype=np.int64)
    for step in range(9):  # the nearest seed is in the pixel's own block of the grid or in a neighbour
        near_row = np.clip(block_row + step // 3 - 1, 0, down - 1)
        near_column = np.clip(block_column + step % 3 - 1, 0, across - 1)
        seed_at = seeds[near_row, near_column]
        distance = (near_row * side + seed_at[..., 0] - rows) ** 2
        distance += (near_column * side + seed_at[..., 1] - columns) ** 2
        label = np.where(distance < best, near_row * across + near_column, label)
        best = np.minimum(distance, best)
    return label


def lime_mask(shape: tuple[int, int], share: float = 0.15, count: int = 150, seed: int = 0) -> Mask:
    """Return the pixels that a LIME-like explainer selects: the segments of highest weight.

    A segment's weight decays with its distance from the object, plus noise.

    >>> bool(0.05 < lime_mask((90, 120)).mean() < 0.3)
    True
    """
    rng = np.random.default_rng(seed)
    label = segments(shape, count, seed)
    height, width = shape
    size = np.maximum(np.bincount(label.ravel()), 1)
    rows = np.bincount(label.ravel(), np.repeat(np.arange(height), width)) / size
    columns = np.bincount(label.ravel(), np.tile(np.arange(width), height)) / size
    distance = np.hypot(rows / height - 0.55, columns / width - 0.4)
    weight = np.exp(-6 * distance) + 0.15 * rng.normal(size=len(size))
    weight[np.bincount(label.ravel()) == 0] = -np.inf
    order = np.argsort(-weight)
    chosen = order[: int(np.searchsorted(np.cumsum(size[order]), share * height * width)) + 1]
    return np.isin(label, chosen)


def saliency(shape: tuple[int, int], masks: int = 200, seed: int = 0) -> Floats:
    """Return a D-RISE-like heat map: random masks, each weighted by the fraction of the object that it shows.

    >>> heat = saliency((40, 60))
    >>> heat.shape, bool(heat[22, 24] > heat[0, 59])
    ((40, 60), True)
    """
    rng = np.random.default_rng(seed)
    height, width = shape
    grid = (16, 16)
    rows, columns = resample(grid[0], height + 8), resample(grid[1], width + 8)
    there = np.hypot(np.arange(height)[:, None] / height - 0.55, np.arange(width)[None, :] / width - 0.4) < 0.12
    heat = np.zeros(shape)
    for _ in range(masks):
        up, left = rng.integers(0, 8, size=2)
        seen = rows[up : up + height] @ (rng.random(grid) < 0.5) @ columns[left : left + width].T
        heat += (seen[there].mean() + 0.02 * rng.normal() - 0.5) * seen
    return heat / masks


def drise_mask(shape: tuple[int, int], share: float = 0.06, seed: int = 0) -> Mask:
    """Return the pixels above the threshold of a D-RISE-like heat map.

    >>> float(drise_mask((40, 60)).mean().round(2))
    0.06
    """
    heat = saliency(shape, seed=seed)
    return heat > np.quantile(heat, 1 - share)


def drifting(count: int, seed: int = 0) -> Floats:
    """Return the thesis's correlated array: cell i is drawn around i with a spread of a tenth of the length.

    >>> bool(drifting(1000)[:100].mean() < drifting(1000)[-100:].mean())
    True
    """
    return np.random.default_rng(seed).normal(np.arange(count), max(count, 1) / 10)
