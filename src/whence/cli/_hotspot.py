"""The program of `whence demo`: find hot spots in a thermal image. Its functions do not use whence.

It is the `hotspot` example of the DSLog thesis (smooth, then find hot pixels) for a sensor that is mounted sideways
behind a mirror: it rotates and flips the image first, and computes a table of spots and a small overview last.

`Brute` answers the demo's questions without whence, by moving the number of each pixel in the same way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cells = set[tuple[int, ...]]

THRESHOLD = 0.62
WINDOW = 3
TILE = 8
OUTSIDE = -1  # not the number of a pixel


def thermal(height: int = 480, width: int = 640, seed: int = 11) -> Floats:
    """Generate a thermal image in [0, 1]: a house with windows, a cold sky, people, and parts that are too hot."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / min(height, width)
    image = 0.10 + 0.07 * y + 0.04 * _clouds((height, width), random)
    ground = _soft_edge(y - 0.78, 1.0)
    image += ground * (0.06 + 0.05 * _clouds((height, width), random, finest=6))
    wall = _soft_edge(y - 0.30, 0.50) * _soft_edge(x - 0.34, 0.62)
    image += wall * (0.09 + 0.02 * np.sin(160 * y)) - 0.01 * wall * (np.sin(95 * x) > 0.9)  # courses of bricks
    roof = _soft_edge(y - 0.14, 0.16) * _soft_edge(x - 0.65 + 2.2 * (y - 0.12), 4.4 * (y - 0.12).clip(0.001))
    image += roof * (0.06 + 0.02 * np.sin(70 * (x + y)))
    for left in (0.40, 0.52, 0.64, 0.76, 0.86):
        for top in (0.36, 0.52):
            image += 0.16 * _soft_edge(y - top, 0.09) * _soft_edge(x - left, 0.06)
            image -= 0.05 * _soft_edge(y - top - 0.04, 0.006) * _soft_edge(x - left, 0.06)
    image += 0.05 * _soft_edge(y - 0.62, 0.18) * _soft_edge(x - 0.60, 0.07)
    for left, tall in ((0.14, 0.26), (0.22, 0.21), (1.06, 0.24)):  # people: a body and a head
        image += 0.20 * _soft_edge(y - 0.92 + tall, tall - 0.05) * _soft_edge(x - left, 0.035)
        image += 0.24 * np.exp(-((y - 0.91 + tall) ** 2 + (x - left - 0.018) ** 2) / (2 * 0.013**2))
    for centre_y, centre_x, radius, heat in (
        (0.19, 0.25, 0.016, 0.75),
        (0.70, 0.39, 0.026, 0.60),
        (0.37, 0.77, 0.013, 0.85),
        (0.75, 1.10, 0.020, 0.62),
        (0.30, 1.14, 0.011, 0.85),
        (0.313, 1.158, 0.010, 0.72),  # so close to the one before that both are one spot
    ):
        stretch = 1 + random.uniform(0.0, 0.8)
        distance = (y - centre_y) ** 2 * stretch + (x - centre_x) ** 2
        image += heat * np.exp(-distance / (2 * radius**2))
    image *= 1 - 0.10 * ((y - y.mean()) ** 2 + (x - x.mean()) ** 2)  # darker at the rim of the lens
    image += random.normal(0, 0.004, image.shape) + random.normal(0, 0.002, (height, 1))  # noise of pixels and lines
    clipped: Floats = np.clip(image, 0, 1)
    return clipped


def _clouds(shape: tuple[int, int], random: np.random.Generator, finest: int = 4) -> Floats:
    """Generate noise around 0 at several scales: a sum of random grids, each finer and weaker than the one before."""
    total: Floats = np.zeros(shape)
    for octave in range(1, finest + 1):
        grid = random.normal(0, 0.5**octave, (2**octave + 2, 2**octave + 2))
        rows, columns = (np.linspace(0, 2**octave, side) for side in shape)
        i, j = rows.astype(int), columns.astype(int)
        down, right = (rows - i)[:, None], (columns - j)[None, :]
        top = grid[i][:, j] * (1 - right) + grid[i][:, j + 1] * right
        total += top * (1 - down) + (grid[i + 1][:, j] * (1 - right) + grid[i + 1][:, j + 1] * right) * down
    return total


def _soft_edge(offset: Floats, length: float) -> Floats:
    """Return 1 within [0, length], with a smooth transition to 0 at both ends."""
    soft = 0.005
    inside: Floats = 1 / (1 + np.exp(-offset / soft)) / (1 + np.exp((offset - length) / soft))
    return inside


def smooth(thermal: Floats) -> Floats:
    """Rotate and flip the image, and replace each pixel by the mean of its window, which is smaller at the border."""
    upright = np.fliplr(np.rot90(thermal))
    height, width = upright.shape
    padded, inside = np.pad(upright, WINDOW // 2), np.pad(np.ones((height, width)), WINDOW // 2)
    total, count = np.zeros((height, width)), np.zeros((height, width))
    for down in range(WINDOW):
        for right in range(WINDOW):
            total += padded[down : down + height, right : right + width]
            count += inside[down : down + height, right : right + width]
    return total / count


def spots(smooth: Floats) -> Floats:
    """Return a row for each hot spot: row and column of its centre, weighted by heat, and its greatest heat."""
    hot = np.argwhere(smooth > THRESHOLD)
    labels = connected(hot)
    table = []
    for number in range(labels.max(initial=-1) + 1):
        rows, columns = hot[labels == number].T
        heat = smooth[rows, columns]
        table.append([(heat * rows).sum() / heat.sum(), (heat * columns).sum() / heat.sum(), heat.max()])
    return np.array(table)


def overview(smooth: Floats) -> Floats:
    """Return the mean of each tile."""
    height, width = smooth.shape
    mean: Floats = smooth.reshape(height // TILE, TILE, width // TILE, TILE).mean(axis=(1, 3))
    return mean


def connected(hot: Ints) -> Ints:
    """Return for each hot pixel the number of its spot: pixels that touch, also at corners, are one spot."""
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


class Brute:
    """Computes the lineage of this program by moving pixel numbers as the program moves pixels."""

    def __init__(self, image: Floats) -> None:
        self._shape = image.shape
        numbers = np.arange(image.size).reshape(image.shape)
        padded = np.pad(np.fliplr(np.rot90(numbers)), WINDOW // 2, constant_values=OUTSIDE)
        self._windows = np.lib.stride_tricks.sliding_window_view(padded, (WINDOW, WINDOW))
        self._hot = np.argwhere(smooth(image) > THRESHOLD)
        self._labels = connected(self._hot)

    def backward(self, spot: int) -> Cells:
        """Return the pixels that a row of the spots came from."""
        rows, columns = self._hot[self._labels == spot].T
        numbers = np.unique(self._windows[rows, columns])
        found = np.unravel_index(numbers[numbers != OUTSIDE], self._shape)
        return set(zip(*(axis.tolist() for axis in found), strict=True))

    def forward(self, pixel: tuple[int, ...], end: str) -> Cells:
        """Return the cells of the spots, or of the overview, that a pixel went into."""
        number = np.ravel_multi_index(pixel, self._shape)
        reached: Cells = {(int(y), int(x)) for y, x in np.argwhere((self._windows == number).any(axis=(2, 3)))}
        if end == "overview":
            return {(y // TILE, x // TILE) for y, x in reached}
        hit = [int(label) for (y, x), label in zip(self._hot.tolist(), self._labels, strict=True) if (y, x) in reached]
        return {(row, column) for row in hit for column in range(3)}
