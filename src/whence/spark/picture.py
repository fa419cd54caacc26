"""Draw the operators of a pipeline, with the sources on the left and the output on the right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whence.graph.picture.labels import shortened
from whence.graph.picture.nodes import Line, Node, Scene
from whence.graph.picture.scene import laid_out
from whence.graph.picture.svg import svg
from whence.rows import Source
from whence.rows.printing import line

if TYPE_CHECKING:
    from whence.rows import Operator

MOST = 150  # the most operators that a picture shows
_HASH = re.compile(r"#-?\d+")


def scene_of_operators(plan: Operator) -> Scene | None:
    """Operators as activities, sources and the output as entities; None if there are too many to draw."""
    nodes: list[Node] = []
    lines: list[Line] = []

    def add(operator: Operator) -> int:
        title = _HASH.sub("", line(operator))
        kind, _, rest = title.partition(" ")
        at = len(nodes)
        if isinstance(operator, Source):
            nodes.append(Node("entity", shortened(operator.name, 28), title))
        else:
            nodes.append(Node("activity", shortened(kind, 28), title, note=shortened(rest, 36)))
        lines.extend([Line(at, add(each), "used") for each in operator.children])
        return at

    add(plan)
    nodes.append(Node("entity", "output", "the output", strong=True))
    lines.append(Line(len(nodes) - 1, 0, "wasGeneratedBy"))
    return Scene(tuple(nodes), tuple(lines)) if len(nodes) <= MOST else None


def svg_of_operators(plan: Operator) -> str | None:
    """The picture as a self-contained SVG; None if there are too many operators."""
    scene = scene_of_operators(plan)
    return None if scene is None else svg(laid_out(scene))
