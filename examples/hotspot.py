"""The `hotspot` of the DSLog thesis: where the smoothed image is hot, and which pixels made it so.

Which cells of the result come from which pixels depends on the values of the image, so no rule about shapes could tell:
the program itself has to say. It says so twice, once as a function and once as an array of index tuples.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import whence as wh


def smooth(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each pixel and its neighbours."""
    height, width = image.shape
    return np.array([[image[window((y, x))].mean() for x in range(width)] for y in range(height)])


def window(pixel: tuple[int, ...]) -> tuple[slice, slice]:
    """A pixel and its neighbours: slices stop at the border by themselves."""
    y, x = pixel
    return slice(max(y - 1, 0), y + 2), slice(max(x - 1, 0), x + 2)


def main(directory: Path) -> wh.Selection:
    """Find the hot pixels, record how, and ask where the first of them came from."""
    image = np.full((8, 12), 0.2)
    image[2:4, 3:5] = image[6, 9] = 1.0
    warm = smooth(image)
    hot = np.argwhere(warm > 0.5)  # k x 2: one row for each hot pixel

    with wh.open(directory / "hotspot.whence") as log:
        for name, array in {"image": image, "warm": warm, "hot": hot}.items():
            log.array(name, shape=array.shape)
        log.lineage("warm", "image", lambda pixel: wh.Selection.from_slices(clipped(pixel, image.shape), image.shape))
        row, column = np.indices(hot.shape).reshape(2, -1)
        log.lineage("hot", "warm", np.stack([row, column, hot[row, 0], hot[row, 1]], axis=1))

        print(f"{len(hot)} hot pixels; the first is at {hot[0].tolist()}")
        pixels = log.backward("hot", "0,:", to="image")
        print(f"it was made from {len(pixels)} pixels of the image: {pixels}")
        rows = log.forward("image", "3,4", to="hot")
        print(f"the pixel 3,4 made rows {sorted({int(cell[0]) for cell in rows})} of the result hot")
    return pixels


def clipped(pixel: tuple[int, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The window of a pixel, within the image."""
    return tuple(slice(part.start, min(part.stop, side)) for part, side in zip(window(pixel), shape, strict=True))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
