"""Draw a scene with its layout as PNG, with Pillow at twice the size, so that it is sharp."""

from __future__ import annotations

import io
import itertools
import math

from whence.errors import TooLarge
from whence.graph.picture import style
from whence.graph.picture.layout import Layout, Point
from whence.graph.picture.nodes import Scene

SCALE = 2
MOST_PIXELS = 100_000_000


def png(picture: tuple[Scene, Layout]) -> bytes:
    """Return the bytes of the file."""
    from PIL import Image, ImageDraw, ImageFont

    scene, layout = picture
    said = style.legend(scene)
    wide = 20 + sum(46 + 6.2 * len(words) for _, words in said)
    high = layout.height + style.LEGEND * bool(said)
    size = max(1, round(max(layout.width, wide) * SCALE)), max(1, round(high * SCALE))
    if size[0] * size[1] > MOST_PIXELS:
        raise TooLarge(f"a picture of {size[0]:,} x {size[1]:,} pixels: draw it as .svg instead")
    image = Image.new("RGB", size, "#FFFFFF")
    pen = ImageDraw.Draw(image)
    font, small = (ImageFont.load_default(points * SCALE) for points in (12, 10))

    def at(point: Point) -> Point:
        return point[0] * SCALE, point[1] * SCALE

    for line, route in zip(scene.lines, layout.routes, strict=True):
        kinds = scene.nodes[line.source].kind, scene.nodes[line.target].kind
        source, target = ((layout.centres[end], layout.sizes[end]) for end in (line.source, line.target))
        points = style.run(kinds, (source, target), route)
        colour = style.LINE.get(line.relation, style.OTHER_LINE)
        curve = [at(point) for point in _curve(points)]
        if len(curve) > 1:
            pen.line(curve, fill=colour, width=max(1, round(style.width_of(line.weight) * SCALE)), joint="curve")
            pen.polygon(_head(*(curve[1::-1] if line.relation in style.FLOW else curve[-2:])), fill=colour)
        if line.label and len(points) > 1:
            (ax, ay), (bx, by) = points[len(points) // 2 - 1], points[len(points) // 2]
            place = at(((ax + bx) / 2, (ay + by) / 2 - 8))
            # With a white outline, because other lines may pass below the letters.
            pen.text(
                place, line.label, fill=colour, font=small, anchor="mm", stroke_width=2 * SCALE, stroke_fill="#ffffff"
            )
    for node, centre, extent in zip(scene.nodes, layout.centres, layout.sizes, strict=True):
        (x, y), (width, height) = centre, extent
        fill, stroke = style.look_of(node)
        look = {"fill": fill, "outline": stroke, "width": 6 if node.strong else 4 if node.failed else 2}
        box = [at((x - width / 2, y - height / 2)), at((x + width / 2, y + height / 2))]
        if node.kind == "entity":
            pen.rounded_rectangle(box, height / 2 * SCALE, **look)  # type: ignore[arg-type] # a dict of several types
        elif node.kind == "activity":
            pen.rounded_rectangle(box, 6 * SCALE, **look)  # type: ignore[arg-type] # likewise
        else:
            pen.polygon([at(point) for point in style.house(centre, extent)], **look)  # type: ignore[arg-type] # likewise
        pen.text(at((x, y - 7 if node.note else y)), node.label, fill=style.INK, font=font, anchor="mm")
        if node.note:
            pen.text(at((x, y + 9)), node.note, fill=stroke if node.failed else style.FAINT, font=small, anchor="mm")
    left, y = 20.0, layout.height + style.LEGEND / 2
    for mark, words in said:
        if mark.startswith("#"):
            pen.line([at((left, y)), at((left + 22, y))], fill=mark, width=2 * SCALE)
        else:
            fill, stroke = style.FAILED if mark == "failed" else (style.FILL[mark], style.STROKE[mark])  # type: ignore[index] # a kind
            box = [at((left, y - 7)), at((left + 22, y + 7))]
            pen.rounded_rectangle(box, (7 if mark == "entity" else 2) * SCALE, fill=fill, outline=stroke, width=2)
        pen.text(at((left + 28, y)), words, fill=style.FAINT, font=small, anchor="lm")
        left += 46 + 6.2 * len(words)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _curve(points: list[Point]) -> list[Point]:
    found = points[:1]
    for one, other in itertools.pairwise(points):
        a, b = style.bend(one, other)
        for step in range(1, 13):
            t = step / 12
            weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            x, y = (sum(w * p[i] for w, p in zip(weights, (one, a, b, other), strict=True)) for i in (0, 1))
            found.append((x, y))
    return found


def _head(before: Point, tip: Point) -> list[Point]:
    angle, length = math.atan2(tip[1] - before[1], tip[0] - before[0]), 8.0 * SCALE
    sides = (angle + math.pi - 0.46, angle + math.pi + 0.46)
    return [tip, *((tip[0] + length * math.cos(side), tip[1] + length * math.sin(side)) for side in sides)]
