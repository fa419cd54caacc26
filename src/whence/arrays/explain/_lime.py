"""LIME with NumPy: hide random segments of the input, and fit a linear model to the outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.explain._contributions import LEVELS, Contributions, from_weights
from whence.errors import BadType, ShapeMismatch

SEGMENTS = 64


def grid(shape: Sequence[int], most: int = SEGMENTS) -> NDArray[np.int64]:
    """Labels that divide an array into at most `most` blocks of about equal sides; small arrays are divided into cells.

    >>> grid((4, 4), most=4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1],
           [2, 2, 3, 3],
           [2, 2, 3, 3]])
    """
    sides = tuple(shape)
    if math.prod(sides) <= most:
        return np.arange(math.prod(sides)).reshape(sides)
    counts = [1] * len(sides)
    while True:
        longest = max(range(len(sides)), key=lambda i: sides[i] / counts[i])
        tried = [count + (i == longest) for i, count in enumerate(counts)]
        if math.prod(tried) > most or tried[longest] > sides[longest]:
            break
        counts = tried
    labels = np.zeros(sides, np.int64)
    for axis, (side, count) in enumerate(zip(sides, counts, strict=True)):
        block = (np.arange(side) * count // side).reshape([-1 if i == axis else 1 for i in range(len(sides))])
        labels = labels * count + block
    return labels


ROUNDING = 1e-10
"""Weights smaller than this fraction of an output are rounding errors."""


def lime(
    model: Callable[[Any], Any],
    x: Any,
    *,
    samples: int = 1000,
    segments: Any = None,
    baseline: Any = None,
    width: float = 0.25,
    ridge: float = 1e-3,
    levels: Sequence[float] = LEVELS,
    relative: bool = True,
    seed: int = 0,
) -> Contributions:
    """Estimate what each segment of `x` contributes to each output of the model, with a local linear model.

    `segments` labels the cells of `x` from 0 on (default: a grid); `baseline` replaces hidden segments (default: the
    mean of `x`). Samples nearer to `x` weigh more, by exp(-(distance / width)^2).
    """
    given = np.array(x, float)  # a copy, because the model may write into its argument
    labels = grid(given.shape) if segments is None else np.array(segments)
    if labels.shape != given.shape or labels.dtype.kind not in "iu" or labels.size == 0 or labels.min() < 0:
        raise ShapeMismatch(f"segments are labels from 0 on for each cell of an array of shape {given.shape}")
    count = int(labels.max()) + 1
    if samples < 2:
        raise BadType(f"{samples} samples are too few: give some for each of the {count} segments")
    off = np.broadcast_to(np.array(given.mean() if baseline is None else baseline, float), given.shape)
    rng = np.random.default_rng(seed)
    on = rng.random((samples, count)) < 0.5
    on[0] = True
    first = np.asarray(model(given.copy()), float)
    outputs = np.empty((samples, first.size))
    outputs[0] = first.ravel()
    for number in range(1, samples):
        made = np.asarray(model(np.where(on[number][labels], given, off)), float)
        if made.shape != first.shape:
            raise ShapeMismatch(f"the model gave the shape {first.shape} first, and {made.shape} for a perturbed input")
        outputs[number] = made.ravel()
    distance = 1 - np.sqrt(on.mean(axis=1))  # the cosine distance between a sample's mask and all ones
    weight = np.exp(-((distance / width) ** 2))
    columns = np.hstack([on.astype(float), np.ones((samples, 1))])
    gram = columns.T @ (weight[:, None] * columns)
    gram[np.arange(count), np.arange(count)] += ridge  # the last row is the intercept, which is not shrunk
    fitted = np.linalg.solve(gram, columns.T @ (weight[:, None] * outputs))[:count]
    fitted[np.abs(fitted) <= ROUNDING * np.abs(outputs).max(axis=0)] = 0.0  # outputs that no segment influences
    return from_weights(fitted.T, first.shape, given.shape, levels=levels, relative=relative, segments=labels)
