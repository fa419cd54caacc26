"""Shapes of PROV, colours that also differ in lightness, and the points where edges meet shapes."""

from __future__ import annotations

import math

from whence.graph.model import Kind
from whence.graph.picture.layout import Point
from whence.graph.picture.nodes import Node, Scene

FILL: dict[Kind, str] = {"entity": "#FDF3CF", "activity": "#E0E9FB", "agent": "#FBE0C8"}
STROKE: dict[Kind, str] = {"entity": "#9B7E12", "activity": "#33559F", "agent": "#9A5B1E"}
FAILED = ("#FBE3E1", "#A8201A")  # fill and outline of a failed activity; the outline is dashed
LINE = {"used": "#8F5A1C", "wasGeneratedBy": "#1C6B54", "wasAssociatedWith": "#9A5B1E", "wasAttributedTo": "#9A5B1E"}
OTHER_LINE = "#5F6673"
FLOW = frozenset({"used", "wasGeneratedBy", "wasDerivedFrom", "wasRevisionOf"})  # arrows show which way data went
INK, FAINT = "#1C2026", "#5F6673"
LEGEND = 34.0  # the height of the legend


def look_of(node: Node) -> tuple[str, str]:
    """The fill and outline colours of a node."""
    return FAILED if node.failed else (FILL[node.kind], STROKE[node.kind])


def legend(scene: Scene) -> list[tuple[str, str]]:
    """The legend of a scene: pairs of a kind of shape, or a line colour, and its description."""
    words = {
        "entity": "data (files, tables, arrays)", "activity": "activities (programs, functions)",
        "agent": "person or program",
    }  # fmt: skip
    kinds = [(kind, words[kind]) for kind in words if any(node.kind == kind for node in scene.nodes)]
    failed = [("failed", "failed")] if any(node.failed for node in scene.nodes) else []
    relations = {"used": "input", "wasGeneratedBy": "output", "wasDerivedFrom": "derived from"}
    lines: dict[str, str] = {}
    for line in scene.lines:
        lines.setdefault(LINE.get(line.relation, OTHER_LINE), relations.get(line.relation, "other relation"))
    return [*kinds, *failed, *lines.items()]


def width_of(weight: float) -> float:
    """The line width of an edge with this weight."""
    return round(1.2 + 2.8 * weight, 2)


def house(centre: Point, size: Point) -> list[Point]:
    """The corners of an agent's shape."""
    (x, y), (width, height) = centre, size
    left, right, eaves = x - width / 2, x + width / 2, y - height / 4
    return [(left, y + height / 2), (left, eaves), (x, y - height / 2 - 4), (right, eaves), (right, y + height / 2)]


def border(kind: Kind, centre: Point, size: Point, toward: Point) -> Point:
    """The point where the line from a shape's centre to a point leaves the shape."""
    dx, dy = toward[0] - centre[0], toward[1] - centre[1]
    if not dx and not dy:
        return centre
    a, b = size[0] / 2, size[1] / 2
    if kind == "entity":
        scale = 1 / math.hypot(dx / a, dy / b)
    else:
        scale = min(a / abs(dx) if dx else math.inf, b / abs(dy) if dy else math.inf)
    x, y = centre[0] + dx * scale, centre[1] + dy * scale
    return x, max(y, centre[1] - b / 2) if kind == "agent" else y  # above the eaves, a house is narrower than its box


def run(kinds: tuple[Kind, Kind], ends: tuple[tuple[Point, Point], tuple[Point, Point]], route: tuple[Point, ...]) -> (
    list[Point]
):  # fmt: skip
    """The points of an edge, from the side of one shape to that of the other."""
    if len(route) < 2:
        return list(route)
    first = side(kinds[0], *ends[0], route[1])
    last = side(kinds[1], *ends[1], route[-2])
    return [first, *route[1:-1], last]


def side(kind: Kind, centre: Point, size: Point, toward: Point) -> Point:
    """Where an edge meets a shape: in the middle of the left or right side; or on the border, if it comes from above or
    below.
    """
    dx = toward[0] - centre[0]
    if abs(dx) <= size[0] / 2:
        return border(kind, centre, size, toward)
    return centre[0] + (size[0] / 2 if dx > 0 else -size[0] / 2), centre[1]


def bend(one: Point, other: Point) -> tuple[Point, Point]:
    """The two control points of a curve that starts and ends horizontally."""
    half = (other[0] - one[0]) / 2
    return (one[0] + half, one[1]), (other[0] - half, other[1])
