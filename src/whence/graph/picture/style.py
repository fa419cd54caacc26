"""PROV's shapes and colours, and where an edge meets a shape."""

from __future__ import annotations

import math

from whence.graph.model import Kind
from whence.graph.picture.layout import Point

FILL: dict[Kind, str] = {"entity": "#FFFC87", "activity": "#9FB1FC", "agent": "#FED37F"}
STROKE: dict[Kind, str] = {"entity": "#808080", "activity": "#0000FF", "agent": "#8C6D3F"}
LINE = {"used": "#8B1A1A", "wasGeneratedBy": "#006400", "wasAssociatedWith": "#B36B00", "wasAttributedTo": "#B36B00"}
OTHER_LINE = "#555555"


def width_of(weight: float) -> float:
    """How wide an edge is drawn: by its frequency."""
    return round(1.0 + 3.5 * weight, 2)


def house(centre: Point, size: Point) -> list[Point]:
    """The corners of an agent's shape."""
    (x, y), (width, height) = centre, size
    left, right, eaves = x - width / 2, x + width / 2, y - height / 4
    return [(left, y + height / 2), (left, eaves), (x, y - height / 2 - 4), (right, eaves), (right, y + height / 2)]


def border(kind: Kind, centre: Point, size: Point, toward: Point) -> Point:
    """Where the line from a shape's centre to a point leaves the shape."""
    dx, dy = toward[0] - centre[0], toward[1] - centre[1]
    if not dx and not dy:
        return centre
    a, b = size[0] / 2, size[1] / 2
    if kind == "entity":
        scale = 1 / math.hypot(dx / a, dy / b)
    else:
        scale = min(a / abs(dx) if dx else math.inf, b / abs(dy) if dy else math.inf)
    x, y = centre[0] + dx * scale, centre[1] + dy * scale
    return x, max(y, centre[1] - b / 2) if kind == "agent" else y  # a house has no corners above its eaves


def run(kinds: tuple[Kind, Kind], ends: tuple[tuple[Point, Point], tuple[Point, Point]], route: tuple[Point, ...]) -> (
    list[Point]
):  # fmt: skip
    """The points of an edge, from the border of one shape to that of the other."""
    if len(route) < 2:
        return list(route)
    first = border(kinds[0], *ends[0], route[1])
    last = border(kinds[1], *ends[1], route[-2])
    return [first, *route[1:-1], last]


def bend(one: Point, other: Point) -> tuple[Point, Point]:
    """The two control points that make a line leave and arrive level."""
    half = (other[0] - one[0]) / 2
    return (one[0] + half, one[1]), (other[0] - half, other[1])
