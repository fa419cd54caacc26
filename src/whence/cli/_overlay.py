"""The picture of `whence demo`: two panels of an image with cells marked on them, and a magnified corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

Mask = NDArray[np.bool_]
Colour = tuple[int, int, int]

INK, FAINT, GROUND = (32, 33, 36), (110, 114, 120), (255, 255, 255)
MARK = (0, 229, 255)  # cyan is not a colour of the heat map
SMALLEST_INSET = 60  # pixels of height; a smaller inset would show nothing
LEVELS = 40  # few enough for a small file, enough for smooth colours
HEAT: tuple[Colour, ...] = ((8, 6, 24), (66, 14, 98), (150, 32, 98), (220, 74, 48), (250, 162, 20), (252, 246, 170))


@dataclass(frozen=True, slots=True)
class Panel:
    """An image, the cells to mark on it, and its caption."""

    title: str
    image: NDArray[np.float64]
    marked: Mask
    caption: str


def heat_map(image: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Convert values in [0, 1] to colours, dark to bright.

    >>> heat_map(np.array([[0.0, 1.0]])).tolist()
    [[[8, 6, 24], [252, 246, 170]]]
    """
    level = np.round(np.clip(image, 0, 1) * (LEVELS - 1)) / (LEVELS - 1)
    stops = np.linspace(0, 1, len(HEAT))
    return np.stack([np.interp(level, stops, [c[k] for c in HEAT]) for k in range(3)], axis=-1).astype(np.uint8)


def compose(heading: str, panels: tuple[Panel, Panel]) -> Image.Image:
    """Draw both panels side by side, with the marked cells of the first magnified below it."""
    from PIL import Image, ImageDraw, ImageFont

    gap, line = 24, 20
    heights = [panel.image.shape[0] for panel in panels]
    widths = [panel.image.shape[1] for panel in panels]
    top = gap + 2 * line + 8
    canvas = Image.new("RGB", (sum(widths) + 3 * gap, top + max(heights) + 2 * line + gap), GROUND)
    draw = ImageDraw.Draw(canvas)
    large, small = ImageFont.load_default(18), ImageFont.load_default(13)
    draw.text((gap, gap - 8), heading, INK, large)
    left = gap
    for panel, width, height in zip(panels, widths, heights, strict=True):
        draw.text((left, top - line - 2), panel.title, FAINT, small)
        canvas.paste(Image.fromarray(heat_map(panel.image)), (left, top))
        _draw_outline(draw, panel.marked, (left, top), 1)
        _draw_frame(draw, panel.marked, (left, top))
        draw.text((left, top + height + 6), panel.caption, INK, small)
        left += width + gap
    below = top + heights[0] + line + gap
    room = top + max(heights) - below
    if room >= SMALLEST_INSET and panels[0].marked.any():
        caption = _magnify(canvas, panels[0], (gap, below), (widths[0], room))
        draw.text((gap, below + room + 6), caption, INK, small)
    return canvas.quantize(128, dither=Image.Dither.NONE)


def _magnify(canvas: Image.Image, panel: Panel, corner: tuple[int, int], room: tuple[int, int]) -> str:
    """Draw the marked cells and their surroundings, as large as possible; return the caption."""
    from PIL import Image, ImageDraw

    rows, columns = np.nonzero(panel.marked)
    margin = 2
    need = (np.ptp(columns) + 1 + 2 * margin, np.ptp(rows) + 1 + 2 * margin)
    zoom = max(1, min(12, *(int(have // want) for have, want in zip(room, need, strict=True))))
    height, width = panel.image.shape
    tall, wide = min(room[1] // zoom, height), min(room[0] // zoom, width)
    first_row = int(np.clip((rows.min() + rows.max() + 1) // 2 - tall // 2, 0, height - tall))
    first_column = int(np.clip((columns.min() + columns.max() + 1) // 2 - wide // 2, 0, width - wide))
    window = (slice(first_row, first_row + tall), slice(first_column, first_column + wide))
    pixels = Image.fromarray(heat_map(panel.image[window]))
    canvas.paste(pixels.resize((wide * zoom, tall * zoom), Image.Resampling.NEAREST), corner)
    _draw_outline(ImageDraw.Draw(canvas), panel.marked[window], corner, zoom)
    cells = ", ".join(_range_text(each) for each in window)
    return f"the same, {zoom} times as large: {panel.title.split(':')[0]}[{cells}]"


def _range_text(part: slice) -> str:
    return f"{part.start}:{part.stop}"


def _draw_outline(draw: ImageDraw.ImageDraw, marked: Mask, corner: tuple[int, int], zoom: int) -> None:
    """Draw the border of the marked cells between the pixels."""
    padded = np.pad(marked, 1)
    thick = 2 if zoom > 1 else 1
    x0, y0 = corner
    for y, x in zip(*np.nonzero(padded[1:] != padded[:-1]), strict=True):
        draw.line((x0 + (x - 1) * zoom, y0 + y * zoom, x0 + x * zoom, y0 + y * zoom), MARK, thick)
    for y, x in zip(*np.nonzero(padded[:, 1:] != padded[:, :-1]), strict=True):
        draw.line((x0 + x * zoom, y0 + (y - 1) * zoom, x0 + x * zoom, y0 + y * zoom), MARK, thick)


def _draw_frame(draw: ImageDraw.ImageDraw, marked: Mask, corner: tuple[int, int], margin: int = 14) -> None:
    """Draw a rectangle around the marked cells, so that they are easy to find."""
    rows, columns = np.nonzero(marked)
    if rows.size:
        x0, y0 = corner
        box = (columns.min() - margin, rows.min() - margin, columns.max() + margin, rows.max() + margin)
        height, width = marked.shape
        left, top, right, bottom = box
        inside = (max(left, 0) + x0, max(top, 0) + y0, min(right, width - 1) + x0, min(bottom, height - 1) + y0)
        draw.rectangle(inside, outline=(255, 255, 255))
