"""Everyday programs in plain NumPy, not written for lineage, by field, for any size.

Each takes one array. Benchmarks time them with and without lineage; tests compare their lineage with the effect of
changed inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Make = Callable[[int], Floats]


@dataclass(frozen=True, slots=True)
class Program:
    """A function of one array, and a function that makes an input of about so many cells."""

    name: str
    field: str
    function: Callable[[Any], Any]
    make: Make


def _random(*shape: int) -> Floats:
    return np.random.default_rng(7).random(shape)


def square(cells: int) -> Floats:
    """An image whose sides can be halved twice."""
    side = max(12, int(cells**0.5) // 4 * 4)
    return _random(side, side)


def line(cells: int) -> Floats:
    """A signal."""
    return _random(max(24, cells))


def prices(cells: int) -> Floats:
    """Prices of four shares, one row per day."""
    steps = np.random.default_rng(7).normal(0, 0.01, (max(24, cells // 4), 4))
    return np.exp(np.cumsum(steps, axis=0))


def table(cells: int) -> Floats:
    """A survey of six questions; the first column is one of four groups."""
    found = _random(max(12, cells // 6), 6)
    found[:, 0] = np.floor(found[:, 0] * 4)
    return found


# --- images


def photo(x: Any) -> Any:
    """Twelve steps: normalise, pad, blur, gradients, threshold, sum, crop, shrink, standardise, rotate, count."""
    scaled = (x - x.min()) / (x.max() - x.min())
    padded = np.pad(scaled, 2, mode="edge")
    height, width = x.shape
    blurred = np.zeros((height, width))
    for i in range(5):
        for j in range(5):
            blurred = blurred + padded[i : i + height, j : j + width]
    down, right = np.gradient(blurred / 25)
    edges = np.hypot(down, right)
    strong = np.where(edges > edges.mean(), edges, 0.0)
    summed = np.cumsum(strong, axis=1)
    cropped = summed[2:-2, 2:-2]
    small = (cropped[::2, ::2] + cropped[1::2, ::2] + cropped[::2, 1::2] + cropped[1::2, 1::2]) / 4
    standard = (small - small.mean()) / small.std()
    turned = np.flipud(standard).T
    return turned, np.histogram(turned, bins=10)[0]


def sharpen(x: Any) -> Any:
    """The image minus its blur, at every pixel that has all its neighbours."""
    inner = x[1:-1, 1:-1]
    around = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    return np.clip(5 * inner - around, 0, 1)


def thumbnail(x: Any) -> Any:
    """Means of blocks of four by four."""
    height, width = x.shape[0] // 4, x.shape[1] // 4
    return x.reshape(height, 4, width, 4).mean(axis=(1, 3))


def heat(x: Any) -> Any:
    """Ten steps of diffusion, in place."""
    u = x.copy()
    for _ in range(10):
        inner = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = inner + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner)
    return u


def bright(x: Any) -> Any:
    """The bright pixels of a shrunk image, rotated."""
    kept = np.where(x > 0.7, x, 0.0)
    return np.rot90(kept[::2, 1:-1])


# --- signals


def moving_average(x: Any) -> Any:
    """The mean of 15 neighbours, as a sum of slices."""
    return sum(x[i : len(x) - 14 + i] for i in range(15)) / 15


def smoothing(x: Any) -> Any:
    """Exponential smoothing, one cell after another."""
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, min(len(x), 400)):
        out[i] = 0.9 * out[i - 1] + 0.1 * x[i]
    return out


def lowpass(x: Any) -> Any:
    """Remove the high frequencies."""
    spectrum = np.fft.rfft(x)
    spectrum[len(spectrum) // 4 :] = 0
    return np.fft.irfft(spectrum, n=len(x))


def convolved(x: Any) -> Any:
    """Filter with a window."""
    return np.convolve(x - x.mean(), np.hanning(9), mode="same")


def resampled(x: Any) -> Any:
    """Interpolate at other times."""
    times = np.linspace(0, len(x) - 1, 2 * len(x))
    return np.interp(times, np.arange(len(x)), x)


# --- finance


def drawdown(x: Any) -> Any:
    """The distance below the highest value so far, in logarithms."""
    summed = np.cumsum(np.diff(np.log(x), axis=0), axis=0)
    return summed - np.maximum.accumulate(summed, axis=0)


def volatility(x: Any) -> Any:
    """The standard deviation of the last ten returns."""
    returns = x[1:] / x[:-1] - 1
    return sliding_window_view(returns, 10, axis=0).std(axis=-1)


def portfolio(x: Any) -> Any:
    """Weights of least variance."""
    returns = np.diff(np.log(x), axis=0)
    inverse = np.linalg.inv(np.cov(returns, rowvar=False))
    weights = inverse @ np.ones(4)
    return returns @ (weights / weights.sum())


def crossover(x: Any) -> Any:
    """The return of the next day, if the short mean is above the long one."""
    summed = np.cumsum(x[:, 0])
    short, long = (summed[3:] - summed[:-3]) / 3, (summed[12:] - summed[:-12]) / 12
    return np.where(short[9:-1] > long[:-1], x[13:, 0] / x[12:-1, 0] - 1, 0.0)


# --- surveys


def by_group(x: Any) -> Any:
    """Subtract the mean of its group from each answer."""
    member = np.eye(4)[x[:, 0].astype(int)]
    means = (member.T @ x[:, 1:]) / np.maximum(member.sum(axis=0), 1)[:, None]
    return x[:, 1:] - member @ means


def standardised(x: Any) -> Any:
    """Each answer in standard deviations of its question."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def imputed(x: Any) -> Any:
    """Low answers replaced by the mean of the others."""
    missing = x < 0.05
    means = np.where(missing, 0.0, x).sum(axis=0) / (~missing).sum(axis=0)
    return np.where(missing, means, x)


def ranked(x: Any) -> Any:
    """The mean of the middle half of each question's sorted answers."""
    ordered = np.sort(x, axis=0)
    return ordered[len(x) // 4 : -(len(x) // 4)].mean(axis=0)


# --- machine learning by hand


def logistic(x: Any) -> Any:
    """Twenty steps of gradient descent."""
    features, label = x[:, 1:5], (x[:, 5] > 0.5) * 1.0
    weights = np.zeros(4)
    for _ in range(20):
        weights = weights - 0.1 * features.T @ (1 / (1 + np.exp(-features @ weights)) - label) / len(label)
    return 1 / (1 + np.exp(-features @ weights))


def components(x: Any) -> Any:
    """The first two principal components."""
    centred = x - x.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return centred @ directions[:2].T


def layer(x: Any) -> Any:
    """A layer with softmax."""
    weights = np.random.default_rng(1).normal(size=(6, 3))
    scores = np.maximum(x @ weights, 0)
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def neighbours(x: Any) -> Any:
    """The mean answer of the three nearest among the first ten."""
    known = x[:10]
    distance = ((x[:, None, :] - known[None, :, :]) ** 2).sum(axis=2)
    nearest = np.argsort(distance, axis=1)[:, :3]
    return known[nearest, 5].mean(axis=1)


PROGRAMS = tuple(
    Program(function.__name__, field, function, make)
    for field, make, functions in (
        ("image", square, (photo, sharpen, thumbnail, heat, bright)),
        ("signal", line, (moving_average, smoothing, lowpass, convolved, resampled)),
        ("finance", prices, (drawdown, volatility, portfolio, crossover)),
        ("survey", table, (by_group, standardised, imputed, ranked)),
        ("machine learning", table, (logistic, components, layer, neighbours)),
    )
    for function in functions
)
