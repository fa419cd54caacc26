"""The picture of an answer: datasets with the cells that were reached, and the activities between them."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from whence.graph.picture import style
from whence.graph.picture.layout import Point, lay_out
from whence.selection import Selection
from whence.selection._picture import SELECTED, thumbnail
from whence.store.answers import Step
from whence.words import counted, one_line

MOST = 60  # drawn steps
READABLE = 0.75  # of its size, to which a page may shrink a picture
SIDE = 96  # largest side of a picture of cells, in pixels
_LINE, _LETTER, _PAD = 16, 6.6, 8  # pixels
_DOUBT = "#A61E1E"
_MARK = bytes(SELECTED).hex()


def drawn(start: str, reached: Mapping[str, Selection], steps: Sequence[Step]) -> str:
    """Draw the steps as SVG, from left to right."""
    left = len(steps) - MOST
    steps = steps[:MOST]
    names = list(dict.fromkeys([start, *(name for step in steps for name in (step.previous, step.dataset))]))
    nodes: dict[tuple[str, str], int] = {("dataset", name): place for place, name in enumerate(names)}
    pairs: dict[tuple[int, int], bool] = {}  # (output, input), and whether the step is exact
    for step in steps:
        ends = [nodes["dataset", step.previous], nodes["dataset", step.dataset]]
        young, old = ends if step.direction == "backward" else ends[::-1]
        way = [young, old]
        if step.activity:
            way.insert(1, nodes.setdefault(("activity", step.activity), len(nodes)))
        for pair in itertools.pairwise(way):
            pairs[pair] = pairs.get(pair, True) and step.reason is None
    looks = [_dataset(name, reached.get(name), name == start) if kind == "dataset" else _activity(name)
             for kind, name in nodes]  # fmt: skip
    layout = lay_out([size for size, _ in looks], list(pairs))
    width, height = (max(1, round(side)) for side in (layout.width, layout.height))
    said = f"{counted(left, 'more step')}: story.answer.steps has all of them" if left > 0 else ""
    if said:
        width, height = max(width, round(_LETTER * len(said)) + 2 * _PAD), height + _LINE + _PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'style="min-width:{round(READABLE * width)}px;max-width:100%;height:auto" '
        'font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>',
    ]
    for (pair, exact), route in zip(pairs.items(), layout.routes, strict=True):
        boxes = [(layout.centres[end], layout.sizes[end]) for end in pair]
        parts.append(_arrow(style.run(("activity", "activity"), (boxes[0], boxes[1]), route), exact))
    for (size, inner), (x, y) in zip(looks, layout.centres, strict=True):
        parts.append(f'<g transform="translate({x - size[0] / 2:.1f},{y - size[1] / 2:.1f})">{inner}</g>')
    if said:
        parts.append(f'<text x="{_PAD}" y="{height - _PAD}" fill="{_DOUBT}">{said}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _arrow(points: list[Point], exact: bool) -> str:
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for one, other in itertools.pairwise(points):
        first, second = style.bend(one, other)
        path += " C" + " ".join(f"{x:.1f},{y:.1f}" for x, y in (first, second, other))
    look = f'stroke="{style.OTHER_LINE}"' if exact else f'stroke="{_DOUBT}" stroke-dasharray="5 4"'
    title = "" if exact else "<title>not exact</title>"
    (x, y), colour = points[0], style.OTHER_LINE if exact else _DOUBT
    head = f'<path d="M{x:.1f},{y:.1f} l-8,-4 v8 z" fill="{colour}"/>'  # the arrow points to the output
    return f'<path d="{path}" fill="none" {look}>{title}</path>{head}'


def _activity(label: str) -> tuple[Point, str]:
    text = _short(label)
    width, height = _LETTER * len(text) + 2 * _PAD, float(_LINE + _PAD)
    look = f'fill="{style.FILL["activity"]}" stroke="{style.STROKE["activity"]}"'
    return (width, height), (
        f'<title>{escape(one_line(label))}</title><rect width="{width:.1f}" height="{height:.1f}" {look}/>'
        + _text(text, width, _LINE)
    )


def _dataset(name: str, cells: Selection | None, strong: bool) -> tuple[Point, str]:
    lines = [_short(name)]
    if cells is not None and cells.shape:
        lines.append(f"{counted(cells.count, 'cell')} of {' x '.join(f'{side:,}' for side in cells.shape)}")
    image, (wide, high) = _cells(cells)
    width = max(_LETTER * max(map(len, lines)), wide) + 2 * _PAD
    height = _LINE * len(lines) + high + 1.5 * _PAD
    look = f'fill="{style.FILL["entity"]}" stroke="{style.STROKE["entity"]}" stroke-width="{3 if strong else 1}"'
    shown = f'<rect width="{width:.1f}" height="{height:.1f}" rx="6" {look}/>'
    shown += "".join(_text(line, width, _LINE * (place + 1)) for place, line in enumerate(lines))
    if image:
        shown += (
            f'<image x="{(width - wide) / 2:.1f}" y="{_LINE * len(lines) + _PAD:.1f}" width="{wide}" height="{high}" '
            f'preserveAspectRatio="none" href="data:image/png;base64,{image}"/>'
        )
        assert cells is not None
        shown += _frame(cells, ((width - wide) / 2, _LINE * len(lines) + _PAD), (wide, high))
    return (width, height), f"<title>{escape(one_line(name))}</title>{shown}"


def _cells(cells: Selection | None) -> tuple[str, tuple[int, int]]:
    """Draw the cells as a small PNG; return it with its size, or an empty string without cells or with over 3 axes."""
    if cells is None or not 1 <= len(cells.shape) <= 3 or 0 in cells.shape:
        return "", (0, 0)
    png, wide, high = thumbnail(cells.boxes, cells.shape, SIDE)
    scale = min(1.0, SIDE / max(wide, high))
    return base64.b64encode(png).decode("ascii"), (max(8, round(wide * scale)), max(8, round(high * scale)))


def _frame(cells: Selection, corner: Point, size: tuple[int, int]) -> str:
    """Draw a frame around the cells if they are too few to be found easily."""
    if not cells:
        return ""
    ends = []
    for axis, side in ((-1, size[0]), (-2, size[1])):
        long, spans = (cells.shape[axis], cells.boxes[:, axis]) if len(cells.shape) >= -axis else (1, np.zeros((1, 2)))
        ends.append((float(spans[:, 0].min()) * side / long, float(spans[:, 1].max() + 1) * side / long))
    (left, right), (top, bottom) = ends
    if max(right - left, bottom - top) > max(size) / 6:
        return ""
    x, y, gap = corner[0] + left, corner[1] + top, 5
    return (
        f'<rect x="{x - gap:.1f}" y="{y - gap:.1f}" width="{right - left + 2 * gap:.1f}" '
        f'height="{bottom - top + 2 * gap:.1f}" rx="2" fill="none" stroke="#{_MARK}" stroke-width="1.5"/>'
    )


def _short(text: str, most: int = 40) -> str:
    text = one_line(text)
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 2 + 3 :]}"


def _text(text: str, width: float, y: float) -> str:
    return f'<text x="{width / 2:.1f}" y="{y:.1f}" text-anchor="middle">{escape(text)}</text>'
