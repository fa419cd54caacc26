"""D-RISE with NumPy: hide random parts of an image, and see which detections remain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.explain._contributions import LEVELS, Contributions, from_weights
from whence.errors import BadType, ShapeMismatch

Floats = NDArray[np.float64]


def similarity(targets: Any, proposals: Any) -> Floats:
    """How similar each proposal is to the target: overlap x objectness x similarity of the classes.

    A detection is (x0, y0, x1, y1, objectness, one score a class).

    >>> same = [0, 0, 2, 2, 1.0, 1.0, 0.0]
    >>> similarity([same], [same, [0, 0, 2, 1, 1.0, 1.0, 0.0], [0, 0, 2, 2, 1.0, 0.0, 1.0]]).tolist()
    [[1.0, 0.5, 0.0]]
    """
    a, b = _detections(targets, "targets"), _detections(proposals, "proposals")
    if not len(b):
        return np.zeros((len(a), 0))
    if a.shape[1] != b.shape[1]:
        raise ShapeMismatch(f"targets have {a.shape[1] - 5} classes, proposals {b.shape[1] - 5}")
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:4], b[None, :, 2:4])
    shared = np.prod(np.clip(high - low, 0, None), axis=2)
    areas = [np.prod(np.clip(each[:, 2:4] - each[:, :2], 0, None), axis=1) for each in (a, b)]
    union = areas[0][:, None] + areas[1][None, :] - shared
    overlap = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    lengths = np.linalg.norm(a[:, 5:], axis=1)[:, None] * np.linalg.norm(b[:, 5:], axis=1)[None, :]
    alike = np.divide(a[:, 5:] @ b[:, 5:].T, lengths, out=np.zeros_like(shared), where=lengths > 0)
    found: Floats = overlap * alike * b[None, :, 4]
    return found


def _detections(given: Any, what: str) -> Floats:
    array = np.array(given, float)  # a copy, because a detector may reuse its array
    if array.size == 0:
        return np.zeros((0, 6))
    if array.ndim != 2 or array.shape[1] < 6:
        raise ShapeMismatch(f"{what} are rows of (x0, y0, x1, y1, objectness, one score per class), not {array.shape}")
    return array


def _random_mask(rng: np.random.Generator, sides: tuple[int, int], cells: tuple[int, int], keep: float) -> Floats:
    """Make a coarse random grid, enlarged smoothly and shifted by a random part of a cell."""
    coarse = (rng.random((cells[0] + 2, cells[1] + 2)) < keep).astype(float)
    for axis in (0, 1):
        step = sides[axis] / cells[axis]
        at = (np.arange(sides[axis]) + rng.random() * step) / step
        low = at.astype(int)
        part = (at - low).reshape((-1, 1) if axis == 0 else (1, -1))
        coarse = np.take(coarse, low, axis) * (1 - part) + np.take(coarse, low + 1, axis) * part
    return coarse


def drise(
    detector: Callable[[Any], Any],
    image: Any,
    targets: Any = None,
    *,
    masks: int = 1000,
    cells: tuple[int, int] = (16, 16),
    keep: float = 0.5,
    levels: Sequence[float] = LEVELS,
    relative: bool = True,
    seed: int = 0,
) -> Contributions:
    """Estimate what each pixel contributes to each target detection; by default the targets are the image's own
    detections.

    `detector` takes an image (height, width) or (height, width, channels) and returns rows of (x0, y0, x1, y1,
    objectness, one score a class). A pixel's weight is the mean similarity of detections while the pixel is visible,
    minus the mean over all masks.
    """
    picture = np.array(image, float)
    if picture.ndim not in (2, 3):
        raise ShapeMismatch(f"an image is (height, width) or (height, width, channels), not {picture.shape}")
    if masks < 1 or not 0 < keep < 1:
        raise BadType("D-RISE needs at least one mask, and keep must be between 0 and 1")
    wanted = _detections(detector(picture.copy()) if targets is None else targets, "targets")
    if not len(wanted):
        raise BadType("there is no detection to explain: give targets, or an image in which something is detected")
    sides = (picture.shape[0], picture.shape[1])
    few = (min(cells[0], sides[0]), min(cells[1], sides[1]))
    rng = np.random.default_rng(seed)
    weighted = np.zeros((len(wanted), *sides))
    shown = np.zeros(sides)
    scores = np.zeros(len(wanted))
    for _ in range(masks):
        mask = _random_mask(rng, sides, few, keep)
        proposals = detector(picture * (mask if picture.ndim == 2 else mask[:, :, None]))
        score = similarity(wanted, proposals).max(axis=1, initial=0.0)
        weighted += score[:, None, None] * mask
        shown += mask
        scores += score
    mean = np.divide(weighted, shown, out=np.zeros_like(weighted), where=shown > 0)
    weights = np.clip(mean - (scores / masks)[:, None, None], 0, None)
    if picture.ndim == 3:
        weights = np.repeat(weights[..., None], picture.shape[2], axis=3)
    return from_weights(weights, (len(wanted),), picture.shape, levels=levels, relative=relative)
