"""Previews of arrays: the least, greatest and mean value of each tile, so that a hot spot or a NaN stays visible.

A small array is stored cell by cell, in its own dtype. A larger one is divided into tiles of equal sides.
"""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType, Damaged

MAGIC: Final = b"\x89WHV\x01"
TILES: Final = 1 << 14  # the default for the number of tiles
MOST_TILES: Final = 1 << 22
BINS: Final = 48  # bins of the histogram
HEADER: Final = 1 << 16  # the most bytes of the header
READ: Final = 1 << 22  # cells that are converted to float64 at a time

Show = Literal["min", "mean", "max"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview of an array. A tile has `sides` cells along each axis, fewer at the end of an axis.

    `cells` is the array itself if tiles are single cells, else None. `finite` counts the finite numbers of each tile.
    The grids and the histogram `counts` are of finite numbers only; a tile without any is NaN in the grids.

    >>> made = preview_of(np.arange(64.0).reshape(8, 8), tiles=4)
    >>> made.sides, made.grid("max").tolist(), made.low, made.high
    ((4, 4), [[27.0, 31.0], [59.0, 63.0]], 0.0, 63.0)
    """

    shape: tuple[int, ...]
    dtype: str
    sides: tuple[int, ...]
    low: float
    high: float
    counts: tuple[int, ...]
    finite: NDArray[np.int64]
    cells: NDArray[Any] | None
    grids: tuple[Floats, Floats, Floats]

    @property
    def is_exact(self) -> bool:
        """Whether it contains every cell."""
        return self.cells is not None

    @property
    def not_finite(self) -> int:
        """How many cells are NaN or infinite."""
        return math.prod(self.shape) - int(self.finite.sum())

    def grid(self, show: Show) -> Floats:
        """One number for each tile."""
        return self.grids[("min", "mean", "max").index(show)]

    def to_bytes(self) -> bytes:
        """Return the preview as the bytes of a blob."""
        header = {
            "shape": list(self.shape), "dtype": self.dtype, "sides": list(self.sides), "low": self.low,
            "high": self.high, "counts": list(self.counts), "exact": self.is_exact,
        }  # fmt: skip
        spelled = json.dumps(header, sort_keys=True).encode()
        kept = [self.cells] if self.cells is not None else [self.finite, *self.grids]
        body = b"".join(_little(each) for each in kept)
        return MAGIC + len(spelled).to_bytes(4, "little") + spelled + zlib.compress(body, 6)


def _little(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def preview_of(values: object, tiles: int = TILES) -> Preview:
    """Make the preview of an array of numbers, with at most `tiles` tiles. The array is read once, a part at a time."""
    array: NDArray[Any] = np.asanyarray(values)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise BadType(f"a preview needs an array of numbers, not of {array.dtype}: convert it, or leave out preview=")
    if not 1 <= tiles <= MOST_TILES:
        raise BadType(f"a preview has between 1 and {MOST_TILES:,} tiles, not {tiles!r}")
    sides = _sides(array.shape, tiles)
    finite, grids = _tiled(array, sides)
    low = float(np.nanmin(grids[0])) if finite.any() else 0.0
    high = float(np.nanmax(grids[2])) if finite.any() else 0.0
    counts = histogram(array, low, high)
    cells = np.array(array) if all(side == 1 for side in sides) else None
    return Preview(array.shape, array.dtype.str.lstrip("<>=|"), sides, low, high, counts, finite, cells, grids)


def _sides(shape: tuple[int, ...], tiles: int) -> tuple[int, ...]:
    """Return the sides of the tiles: powers of two that give at most `tiles` tiles.

    >>> _sides((1000, 1000), 1 << 14), _sides((3, 8), 100), _sides((2, 100_000), 1000)
    ((8, 8), (1, 1), (1, 256))
    """
    sides = [1] * len(shape)
    while math.prod(-(-length // side) for length, side in zip(shape, sides, strict=True)) > tiles:
        most = max(range(len(shape)), key=lambda axis: -(-shape[axis] // sides[axis]))
        sides[most] *= 2
    return tuple(sides)


def _parts(array: NDArray[Any], side: int) -> list[NDArray[Any]]:
    """Return slices along the first axis, each of complete tiles and of about READ cells."""
    if array.ndim == 0 or array.size == 0:
        return [array]
    cells = array.size // array.shape[0] or 1
    rows = max(1, READ // cells // side) * side
    return [array[start : start + rows] for start in range(0, array.shape[0], rows)]


def _tiled(array: NDArray[Any], sides: tuple[int, ...]) -> tuple[NDArray[np.int64], tuple[Floats, Floats, Floats]]:
    grid = tuple(-(-length // side) for length, side in zip(array.shape, sides, strict=True))
    if array.size == 0:
        empty = np.zeros(grid)
        return np.zeros(grid, np.int64), (empty, empty, empty)
    found: list[list[NDArray[Any]]] = [[], [], [], []]
    for part in _parts(array, sides[0] if sides else 1):
        numbers = np.asarray(part, dtype=np.float64)
        good = np.isfinite(numbers)
        starts = [np.arange(0, length, side) for length, side in zip(numbers.shape, sides, strict=True)]
        for into, each, reduce in (
            (found[0], good.astype(np.int64), np.add),
            (found[1], np.where(good, numbers, np.inf), np.minimum),
            (found[2], np.where(good, numbers, 0.0), np.add),
            (found[3], np.where(good, numbers, -np.inf), np.maximum),
        ):
            into.append(reduced(each, starts, reduce))
    finite, least, total, most = (np.concatenate(each) if array.ndim else each[0] for each in found)
    with np.errstate(all="ignore"):
        mean = np.clip(total / finite, least, most)  # a sum may be rounded or overflow
        lost = finite == 0
        grids = tuple(np.where(lost, np.nan, each) for each in (least, mean, most))
    return finite, (grids[0], grids[1], grids[2])


def reduced(array: NDArray[Any], starts: list[NDArray[Any]], reduce: np.ufunc) -> NDArray[Any]:
    """Reduce an array along each axis, from each start to the next and from the last to the end."""
    with np.errstate(all="ignore"):
        for axis, each in enumerate(starts):
            array = reduce.reduceat(array, each, axis=axis)
    return array


def histogram(array: NDArray[Any], low: float, high: float) -> tuple[int, ...]:
    """Count the finite numbers of an array in each of BINS equal bins from low to high."""
    counts = np.zeros(BINS, np.int64)
    if array.size:
        span = (high / 2 - low / 2) or 0.5  # halved, because the difference of two finite numbers may overflow
        for part in _parts(array, 1):
            numbers = np.asarray(part, dtype=np.float64).ravel()
            numbers = numbers[np.isfinite(numbers)]
            places = np.minimum((numbers / 2 - low / 2) / span * BINS, BINS - 1).astype(np.int64)
            counts += np.bincount(places, minlength=BINS)
    return tuple(counts.tolist())


def preview_from(data: bytes, title: str) -> Preview:
    """Read the preview in a blob, and raise Damaged if it is not one. Errors call it `title`."""
    try:
        return _read(data)
    except (ValueError, KeyError, TypeError, OverflowError, zlib.error) as error:
        raise Damaged(f"{title} is not readable: {error}; save it again by log.array(..., preview=)") from error


def _read(data: bytes) -> Preview:
    start = len(MAGIC) + 4
    length = int.from_bytes(data[len(MAGIC) : start], "little")
    if data[: len(MAGIC)] != MAGIC or length > min(HEADER, len(data) - start):
        raise ValueError("it does not begin like a preview")
    header = json.loads(data[start : start + length])
    shape, sides, counts = (_lengths(header[name]) for name in ("shape", "sides", "counts"))
    dtype = np.dtype(str(header["dtype"]))
    low, high, exact = float(header["low"]), float(header["high"]), header["exact"] is True
    if len(shape) != len(sides) or len(counts) != BINS or not all(sides) or exact != all(s == 1 for s in sides):
        raise ValueError("its header contradicts itself")
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("its header names a dtype that is not a number")
    grid = tuple(-(-length // side) for length, side in zip(shape, sides, strict=True))
    tiles = math.prod(grid)
    if tiles > MOST_TILES:
        raise ValueError("it has too many tiles")
    size = tiles * (dtype.itemsize if exact else 32)
    unpacking = zlib.decompressobj()
    body = unpacking.decompress(data[start + length :], size + 1)
    if len(body) != size or not unpacking.eof:
        raise ValueError("its length differs from what its header says")
    if exact:
        cells = np.frombuffer(body, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
        finite, grids = _tiled(cells, sides)
    else:
        cells = None
        finite = np.frombuffer(body, "<i8", tiles).astype(np.int64).reshape(grid)
        numbers = np.frombuffer(body, "<f8", 3 * tiles, 8 * tiles).astype(np.float64).reshape(3, *grid)
        grids = (numbers[0], numbers[1], numbers[2])
    if not 0 <= int(finite.sum()) <= math.prod(shape) or (finite < 0).any() or sum(counts) != int(finite.sum()):
        raise ValueError("it counts more cells than the array has")
    return Preview(shape, dtype.str.lstrip("<>=|"), sides, low, high, counts, finite, cells, grids)


def _lengths(given: object) -> tuple[int, ...]:
    if not isinstance(given, list) or not all(type(each) is int and 0 <= each < 2**62 for each in given):
        raise ValueError("its header holds no list of lengths")
    return tuple(given)
