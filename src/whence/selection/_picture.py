"""Draw a selection as a picture: boxes are drawn at the size of the picture, never cell by cell."""

from __future__ import annotations

import base64
import html
import io
import math
import os
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whence import _core
from whence.errors import BadCells, OutOfRange, ShapeMismatch, StoreError

if TYPE_CHECKING:
    from PIL import Image

Boxes = NDArray[np.int64]
Pixels = NDArray[np.uint8]  # (height, width, 3)
Shape = tuple[int, ...]

LONGEST: Final = 1024  # the most pixels on a side
SHORTEST: Final = 24  # thin sides are enlarged to this many pixels
ROOMY: Final = 256  # tiny arrays are enlarged to this many pixels
CELL: Final = 24  # the most pixels of a cell
TILES: Final = 64  # the most tiles for three axes
GAP: Final = 12
SMALL: Final = 120  # the most pixels of a small picture

GROUND: Final = (255, 255, 255)
UNSELECTED: Final = (233, 236, 239)
SELECTED: Final = (194, 65, 12)  # the explorer's colour of sources
LINE: Final = (255, 255, 255)
INK: Final = (73, 80, 87)
OPACITY: Final = 0.6  # of selected cells over a background


def png_of(
    boxes: Boxes,
    shape: Shape,
    path: str | PathLike[str] | None,
    background: ArrayLike | None,
) -> bytes:
    """Draw the picture as the bytes of a PNG, and write it to a path if there is one."""
    if not 1 <= len(shape) <= 3:
        raise BadCells(f"a picture needs 1 to 3 axes, but the shape {shape} has {len(shape)}")
    if background is not None and len(shape) != 2:
        raise BadCells(
            f"only a selection of 2 axes can be drawn on a background, but the shape {shape} has {len(shape)}"
        )
    if _core.first_outside(boxes, np.array(shape, dtype=np.int64)) is not None:
        raise OutOfRange(f"a box of the selection lies outside the shape {shape} of its dataset")
    buffer = io.BytesIO()
    _picture(boxes, shape, background).save(buffer, "PNG")
    png = buffer.getvalue()
    if path is not None:
        try:
            with open(path, "wb") as file:
                file.write(png)
        except OSError as error:
            reason = error.strerror or error
            raise StoreError(f"cannot write the picture to {os.fspath(path)!r}: {reason}") from error
    return png


def thumbnail(boxes: Boxes, shape: Shape, side: int) -> tuple[bytes, int, int]:
    """Draw a picture without caption. Return PNG bytes, width and height. Three axes are projected onto one slice."""
    from PIL import Image

    axes = (1, *shape)[-2:]
    flat = boxes[:, -2:] if len(shape) > 1 else np.concatenate([np.zeros((len(boxes), 1, 2), np.int64), boxes], axis=1)
    pixels, _ = _image(flat, axes, (side, side))
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG")
    return buffer.getvalue(), pixels.shape[1], pixels.shape[0]


def html_of(boxes: Boxes, shape: Shape, text: str) -> str:
    """Return the text as HTML, with the picture below it if there can be one."""
    said = f"<code>{html.escape(text)}</code>"
    if not 1 <= len(shape) <= 3 or 0 in shape:
        return f"<div>{said}</div>"
    data = base64.b64encode(png_of(boxes, shape, None, None)).decode("ascii")
    return f'<div>{said}<br><img alt="{html.escape(text)}" src="data:image/png;base64,{data}"></div>'


def small_html(boxes: Boxes, shape: Shape, name: str) -> str:
    """Return a small picture with a name below it, to be shown next to others."""
    png, wide, high = thumbnail(boxes, shape, SMALL)
    scale = min(1.0, SMALL / max(wide, high))
    wide, high = (max(8, round(side * scale)) for side in (wide, high))
    return (
        f'<figure style="display:inline-block;margin:0.5em 1em 0.5em 0"><img alt="" width="{wide}" height="{high}" '
        f'src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">'
        f"<figcaption>{html.escape(name)}</figcaption></figure>"
    )


def _picture(boxes: Boxes, shape: Shape, background: ArrayLike | None) -> Image.Image:
    if 0 in shape:
        return _captioned(_filled(SHORTEST, LONGEST // 4, GROUND), f"shape {shape}: no cells")
    if len(shape) == 3:
        return _sheet(boxes, shape)
    if len(shape) == 1:
        boxes = np.concatenate([np.zeros((len(boxes), 1, 2), dtype=np.int64), boxes], axis=1)
        pixels, each = _image(boxes, (1, *shape), (SHORTEST, LONGEST))
        return _captioned(pixels, f"axis 0: {_span(shape[0])}{_scale(each[1:])}")
    pixels, each = _image(boxes, shape, (LONGEST, LONGEST), background)
    caption = f"axis 0 down: {_span(shape[0])}, axis 1 right: {_span(shape[1])}{_scale(each)}"
    return _captioned(pixels, caption)


def _sheet(boxes: Boxes, shape: Shape) -> Image.Image:
    """Draw slices along axis 0 next to each other, several of them in one tile if there are many."""
    from PIL import Image

    each = -(-shape[0] // TILES)
    tiles = -(-shape[0] // each)
    columns = math.ceil(math.sqrt(tiles))
    most = (max(LONGEST // columns, SHORTEST),) * 2
    images = []
    scale: tuple[int, ...] = ()
    for tile in range(tiles):
        first, last = tile * each, min((tile + 1) * each, shape[0]) - 1
        within = (boxes[:, 0, 0] <= last) & (boxes[:, 0, 1] >= first)
        pixels, scale = _image(boxes[within, 1:], shape[1:], most)
        images.append(_captioned(pixels, str(first) if first == last else _span(last + 1, first)))
    wide, high = max(i.width for i in images) + GAP, max(i.height for i in images) + GAP
    sheet = Image.new("RGB", (wide * columns, high * -(-tiles // columns)), GROUND)
    for i, image in enumerate(images):
        sheet.paste(image, (i % columns * wide, i // columns * high))
    slices = "one slice" if each == 1 else f"{each} slices"
    caption = f"a tile is {slices} of axis 0; axis 1 down: {_span(shape[1])}, axis 2 right: {_span(shape[2])}"
    return _captioned(np.asarray(sheet), caption + _scale(scale))


def _image(
    boxes: Boxes,
    shape: Shape,
    most: tuple[int, int],
    background: ArrayLike | None = None,
) -> tuple[Pixels, tuple[int, ...]]:
    """Draw two axes as pixels, and return how many cells a pixel has on each of them."""
    each = _cells_a_pixel(shape, most)
    rows, columns = (-(-size // step) for size, step in zip(shape, each, strict=True))
    marked = np.zeros((rows, columns), dtype=np.uint8)
    small = boxes // np.array(each, dtype=np.int64)[:, None]
    _core.fill(_core.normalize(np.ascontiguousarray(small)), marked)
    ground = _filled(rows, columns, UNSELECTED) if background is None else _ground(background, shape, each)
    opacity = 1.0 if background is None else OPACITY
    mark = np.array(SELECTED) * opacity + ground * (1 - opacity)
    pixels = np.where(marked[..., None].astype(bool), mark, ground).astype(np.uint8)
    return _enlarged(pixels, most, lines=background is None and max(each) == 1), each


def _cells_a_pixel(shape: Shape, most: tuple[int, int]) -> tuple[int, ...]:
    """Return the cells of a pixel: the same for both axes, unless one of them would become too thin to see."""
    step = max(-(-size // longest) for size, longest in zip(shape, most, strict=True))
    return tuple(
        max(-(-size // longest), min(step, size // SHORTEST), 1) for size, longest in zip(shape, most, strict=True)
    )


def _enlarged(pixels: Pixels, most: tuple[int, int], lines: bool) -> Pixels:
    """Enlarge small arrays, with lines between the cells if these are large enough."""
    height, width = pixels.shape[:2]
    room = max(min(ROOMY // max(height, width), CELL, most[0] // height, most[1] // width), 1)
    tall = max(room, min(SHORTEST // height, most[0] // height))
    wide = max(room, min(SHORTEST // width, most[1] // width))
    pixels = np.repeat(np.repeat(pixels, tall, axis=0), wide, axis=1)
    if lines and min(tall, wide) >= 8:
        pixels[tall::tall] = LINE
        pixels[:, wide::wide] = LINE
    return pixels


def _ground(background: ArrayLike, shape: Shape, each: tuple[int, ...]) -> Pixels:
    """Return a background as pixels: grey from its least to its greatest value, or its own colours."""
    array = np.asarray(background)
    coloured = array.ndim == 3 and array.shape[2] in (3, 4) and array.dtype == np.uint8
    if array.shape[:2] != shape or not (coloured or array.ndim == 2):
        raise ShapeMismatch(f"the background has the shape {array.shape}, and the selection {shape}")
    if array.dtype.kind not in "biuf":
        raise BadCells(f"a background must be an array of numbers, not of {array.dtype}")
    array = array[:: each[0], :: each[1]]
    if coloured:
        return np.ascontiguousarray(array[..., :3])
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    # Halved, because the difference of two finite numbers may overflow.
    span = high / 2 - low / 2
    grey = np.nan_to_num(
        (values / 2 - low / 2) / span if span > 0 else np.full(values.shape, 0.5),
        nan=0.5,
    )
    return np.repeat((np.clip(grey, 0, 1) * 255).astype(np.uint8)[..., None], 3, axis=2)


def _filled(height: int, width: int, colour: tuple[int, int, int]) -> Pixels:
    return np.full((height, width, 3), colour, dtype=np.uint8)


def _captioned(pixels: NDArray[Any], caption: str) -> Image.Image:
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(12)
    line = 16
    width = max(pixels.shape[1], math.ceil(font.getlength(caption)))
    image = Image.new("RGB", (width, pixels.shape[0] + line), GROUND)
    image.paste(Image.fromarray(np.ascontiguousarray(pixels, dtype=np.uint8)), (0, 0))
    ImageDraw.Draw(image).text((0, pixels.shape[0] + 1), caption, INK, font)
    return image


def _span(stop: int, start: int = 0) -> str:
    return f"{start}:{stop}"


def _scale(each: tuple[int, ...]) -> str:
    return "" if max(each) == 1 else f"; a pixel is {' x '.join(map(str, each))} cells"
