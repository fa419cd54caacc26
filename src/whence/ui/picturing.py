"""Scenes with a layout as JSON, for the page to draw."""

from __future__ import annotations

import itertools
from typing import Any

from whence.graph.picture import style
from whence.graph.picture.nodes import Scene
from whence.graph.picture.scene import laid_out

SHOWN_IDS = 400  # ids of one node that are sent


def picture(scene: Scene) -> dict[str, Any]:
    """Return nodes with their positions, lines with the points of their curves, and the size of the picture."""
    scene, layout = laid_out(scene)
    nodes = [
        {
            "kind": node.kind, "label": node.label, "note": node.note, "title": node.title, "count": node.stands_for,
            "strong": node.strong, "failed": node.failed, "ids": list(node.ids[:SHOWN_IDS]),
            "x": round(x, 1), "y": round(y, 1), "w": round(w, 1), "h": round(h, 1),
        }
        for node, (x, y), (w, h) in zip(scene.nodes, layout.centres, layout.sizes, strict=True)
    ]  # fmt: skip
    lines = []
    for line, route in zip(scene.lines, layout.routes, strict=True):
        ends = tuple((layout.centres[end], layout.sizes[end]) for end in (line.source, line.target))
        kinds = (scene.nodes[line.source].kind, scene.nodes[line.target].kind)
        points = style.run(kinds, (ends[0], ends[1]), route)
        curve = [points[0]]
        for one, other in itertools.pairwise(points):
            curve += [*style.bend(one, other), other]
        lines.append(
            {
                "source": line.source, "target": line.target, "relation": line.relation,
                "weight": round(line.weight, 3), "label": line.label,
                "points": [round(side, 1) for point in curve for side in point],
            }
        )  # fmt: skip
    return {"nodes": nodes, "lines": lines, "width": round(layout.width), "height": round(layout.height)}
