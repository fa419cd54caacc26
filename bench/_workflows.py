"""Chains of operations for questions: image, relational and ResNet workflows, and random NumPy chains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from bench._relational import workflow
from bench._workloads import explained
from numpy.typing import NDArray

from whence.testing import generators, operations
from whence.testing.operations import Raw

Ints = NDArray[np.int64]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Workflow:
    """Steps in the order in which they ran: the input of each is the output of the one before."""

    name: str
    steps: Sequence[Raw]


def taps(before: int, after: int) -> tuple[Ints, Ints]:
    """Return the source cells that a bilinear resize of one axis reads: (target, source) pairs, at most two for each
    target.
    """
    at = np.clip((np.arange(after) + 0.5) * before / after - 0.5, 0, before - 1)
    left = np.floor(at).astype(np.int64)
    between = np.flatnonzero(at > left)
    targets = np.concatenate([np.arange(after), between])
    return targets, np.concatenate([left, left[between] + 1])


def resized(shape: Shape, height: int, width: int) -> Raw:
    """Bilinear resize of an image (height, width, channels)."""
    (down, row), (across, column) = taps(shape[0], height), taps(shape[1], width)
    channel = np.arange(shape[2])
    targets = (down[:, None, None] * width + across[None, :, None]) * shape[2] + channel
    sources = (row[:, None, None] * shape[1] + column[None, :, None]) * shape[2] + channel
    return operations.linked(targets, sources, (height, width, shape[2]), shape)


def image(frame: tuple[int, int], side: int) -> Workflow:
    """Table VIII: resize, brighten, rotate, mirror, and a LIME-like explanation of one detected object."""
    shape = (side, side, 3)
    return Workflow("image", [
        resized((*frame, 3), side, side),
        operations.negative(shape),
        operations.rot90(shape),
        operations.flip(shape, axis=1),
        explained(generators.lime_mask((side, side))),
    ])  # fmt: skip


def relational(rows: int) -> Workflow:
    """Table VIII: join, drop rows with missing values, add columns, encode genres, add a constant."""
    table = generators.titles(rows)
    return Workflow("relational", workflow(table, generators.episodes(table)))


def resnet(channels: int, side: int) -> Workflow:
    """A residual block: two 3x3 convolutions, each with its normalization; the path through the convolutions."""
    shape = (channels, side, side)
    # a window so wide that it covers the whole channel axis from any channel: every channel comes from every channel
    convolution = operations.convolve_nd(shape, (2 * channels - 1, 3, 3))
    same = operations.negative(shape)
    return Workflow("ResNet", [convolution, same, same, convolution, same, operations.add(shape, shape), same])


def regular(rows: int, columns: int) -> Workflow:
    """Return ten regular steps over rows x columns cells."""
    shape, turned = (rows, columns), (columns, rows)
    return Workflow("regular", [
        operations.negative(shape),
        operations.flip(shape, axis=0),
        operations.transpose(shape),
        operations.reshape(turned, shape),
        operations.convolve_nd(shape, (3, 3)),
        operations.rot90(shape),
        operations.add(turned, (1, rows)),
        operations.roll(turned, rows // 3, axis=1),
        operations.repeat(turned, 2, axis=0),
        operations.sliced((2 * columns, rows), slice(None, None, 2)),
    ])  # fmt: skip


def factor(shape: Shape, rng: np.random.Generator) -> Shape:
    """Return two random sides with the same number of cells."""
    size = math.prod(shape)
    sides = [side for side in range(2, int(math.sqrt(size)) + 1) if size % side == 0] or [1]
    side = int(rng.choice(sides))
    return (side, size // side) if rng.random() < 0.5 else (size // side, side)


def any_axis(shape: Shape, rng: np.random.Generator) -> int:
    return int(rng.integers(len(shape)))


# NumPy functions of one float64 array from which the chains are drawn, by their lineage. Most of NumPy's functions are
# elementwise, so most of these are.
ELEMENTWISE = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "conj", "cos", "cosh",
    "deg2rad", "degrees", "exp", "exp2", "expm1", "fabs", "fix", "floor", "i0", "log", "log10", "log1p", "log2",
    "nan_to_num", "negative", "positive", "rad2deg", "radians", "reciprocal", "rint", "sign", "sin", "sinc", "sinh",
    "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
Make = Callable[[Shape, np.random.Generator], Raw]
OTHERS: dict[str, Make] = {
    "transpose": lambda shape, rng: operations.transpose(shape, rng.permutation(len(shape)).tolist()),
    "swapaxes": lambda shape, rng: operations.transpose(shape),
    "flip": lambda shape, rng: operations.flip(shape, any_axis(shape, rng)),
    "flipud": lambda shape, rng: operations.flip(shape, 0),
    "fliplr": lambda shape, rng: operations.flip(shape, len(shape) - 1),
    "rot90": lambda shape, rng: operations.rot90(shape) if len(shape) > 1 else operations.flip(shape),
    "roll": lambda shape, rng: operations.roll(shape, int(rng.integers(1, 50)), any_axis(shape, rng)),
    "reshape": lambda shape, rng: operations.reshape(shape, factor(shape, rng)),
    "ravel": lambda shape, rng: operations.reshape(shape, (math.prod(shape),)),
    "expand_dims": lambda shape, rng: operations.reshape(shape, (1, *shape)),
    "squeeze": lambda shape, rng: operations.reshape(shape, tuple(side for side in shape if side > 1) or (1,)),
    "repeat": lambda shape, rng: operations.repeat(shape, 2, any_axis(shape, rng)),
    "tile": lambda shape, rng: operations.tile(shape, 2),
    "pad": lambda shape, rng: operations.pad(shape, 3, "edge"),
    "tril": lambda shape, rng: operations.tril(shape) if len(shape) > 1 else operations.negative(shape),
    "triu": lambda shape, rng: operations.triu(shape) if len(shape) > 1 else operations.negative(shape),
    "sort": lambda shape, rng: operations.sort(shape, any_axis(shape, rng), seed=int(rng.integers(1 << 30))),
    "partition": lambda shape, rng: operations.sort(shape, -1, seed=int(rng.integers(1 << 30))),
    "diff": lambda shape, rng: operations.diff(shape, any_axis(shape, rng)),
    "gradient": lambda shape, rng: operations.gradient(shape, int(np.argmax(shape))),
    "cumsum": lambda shape, rng: operations.cumsum(shape, int(np.argmin(shape))),
    "cumprod": lambda shape, rng: operations.cumsum(shape, len(shape) - 1),
    "sum": lambda shape, rng: operations.sum_over(shape, any_axis(shape, rng)),
    "max": lambda shape, rng: operations.sum_over(shape, any_axis(shape, rng), keepdims=True),
    "convolve": lambda shape, rng: operations.convolve(shape, 5) if len(shape) == 1 else operations.negative(shape),
    "atleast_2d": lambda shape, rng: operations.reshape(shape, shape if len(shape) > 1 else (1, *shape)),
    "diagonal": lambda shape, rng: operations.diag_extract(shape),
    "delete": lambda shape, rng: operations.sliced(shape, slice(1, None)),
    "trim_zeros": lambda shape, rng: operations.sliced(shape, slice(2, -2)),
    "dot": lambda shape, rng: operations.matmul_left(shape, shape[-1]),
    "matmul": lambda shape, rng: operations.matmul_left(shape, shape[0]),
    "resize": lambda shape, rng: operations.tile(shape, (2,) + (1,) * (len(shape) - 1)),
    "mean": lambda shape, rng: operations.sum_over(shape, any_axis(shape, rng)),
    "moveaxis": lambda shape, rng: operations.transpose(shape, [*range(1, len(shape)), 0]),
    "compress": lambda shape, rng: operations.filter_rows(shape, 0.8, seed=int(rng.integers(1 << 30))),
}
NAMES = (*ELEMENTWISE, *OTHERS)


def expected_tuples(name: str, shape: Shape) -> int:
    """Return an upper bound of the number of tuples of an operation, so that none is built that does not fit."""
    size = math.prod(shape)
    if name in ("cumsum", "cumprod"):
        return size * (min(shape) if name == "cumsum" else shape[-1])
    if name in ("dot", "matmul"):
        return size * (shape[-1] if name == "dot" else shape[0]) if len(shape) > 1 else size * size
    return 9 * size


def random_chain(length: int, cells: int, tuples: int, seed: int) -> Workflow:
    """Return random operations, each on the output of the one before.

    An operation is drawn again if it does not apply, would need more than that many tuples, or would leave less than a
    hundredth or more than four times of the cells: a chain through a single number has no interesting questions.
    """
    rng = np.random.default_rng(seed)
    shape: Shape = (cells,) if rng.random() < 0.25 else factor((cells,), rng)
    steps: list[Raw] = []
    names: list[str] = []
    while len(steps) < length:
        name = str(rng.choice(NAMES))
        if name == "diagonal" and len(shape) != 2:
            continue
        if expected_tuples(name, shape) > max(tuples, 9 * math.prod(shape)):
            continue
        raw = OTHERS[name](shape, rng) if name in OTHERS else operations.negative(shape)
        if not cells / 100 <= math.prod(raw.out_shape) <= 4 * cells or len(raw.tuples) > tuples:
            continue
        steps.append(raw)
        names.append(name)
        shape = raw.out_shape
    return Workflow(" > ".join(names), steps)
