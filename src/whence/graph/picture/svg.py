"""Draw a scene with its layout as a self-contained SVG without scripts."""

from __future__ import annotations

import itertools
from html import escape

from whence.graph.picture import style
from whence.graph.picture.layout import Layout, Point
from whence.graph.picture.nodes import Line, Node, Scene


def svg(picture: tuple[Scene, Layout]) -> str:
    """Return the document."""
    scene, layout = picture
    legend, wide = _legend(scene, layout.height)
    width, height = round(max(1.0, layout.width, wide)), round(max(1.0, layout.height + style.LEGEND * bool(legend)))
    colours = dict.fromkeys(style.LINE.get(line.relation, style.OTHER_LINE) for line in scene.lines)
    heads = "".join(
        f'<marker id="to-{colour[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
        for colour in colours
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'style="max-width:100%;height:auto" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12" '
        f'fill="{style.INK}">',
        f"<defs>{heads}</defs>",
        f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>',
    ]
    parts += [_line(line, route, scene, layout) for line, route in zip(scene.lines, layout.routes, strict=True)]
    parts += [
        _node(node, centre, size) for node, centre, size in zip(scene.nodes, layout.centres, layout.sizes, strict=True)
    ]
    return "\n".join([*parts, *legend, "</svg>\n"])


def _node(node: Node, centre: Point, size: Point) -> str:
    (x, y), (width, height) = centre, size
    fill, stroke = style.look_of(node)
    look = f'fill="{fill}" stroke="{stroke}" stroke-width="{3 if node.strong else 1}"'
    look += ' stroke-dasharray="5 3"' if node.failed else ""
    if node.kind == "entity":
        corner = f'x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" rx="{height / 2:.1f}"'
        shape = f'<rect {corner} width="{width:.1f}" height="{height:.1f}" {look}/>'
    elif node.kind == "activity":
        corner = f'x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" rx="6"'
        shape = f'<rect {corner} width="{width:.1f}" height="{height:.1f}" {look}/>'
    else:
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in style.house(centre, size))
        shape = f'<polygon points="{points}" {look}/>'
    down = -2 if node.note else 4
    label = f'<text x="{x:.1f}" y="{y + down:.1f}" text-anchor="middle">{_xml_text(node.label)}</text>'
    if node.note:
        colour = stroke if node.failed else style.FAINT
        label += f'<text x="{x:.1f}" y="{y + 13:.1f}" text-anchor="middle" font-size="10" fill="{colour}">'
        label += f"{_xml_text(node.note)}</text>"
    return f'<g class="{node.kind}"><title>{_xml_text(node.title)}</title>{shape}{label}</g>'


def _legend(scene: Scene, top: float) -> tuple[list[str], float]:
    """The elements of the legend, in one line below the picture, and its width."""
    said = style.legend(scene)
    if not said:
        return [], 0.0
    parts, x, y = [], 20.0, top + style.LEGEND / 2
    for mark, words in said:
        if mark.startswith("#"):
            parts.append(f'<path d="M{x:.0f},{y:.0f} h22" stroke="{mark}" stroke-width="2"/>')
        else:
            failed = mark == "failed"
            fill, stroke = style.FAILED if failed else (style.FILL[mark], style.STROKE[mark])  # type: ignore[index] # a kind
            rx = 7 if mark == "entity" else 2
            dashes = ' stroke-dasharray="4 2"' if failed else ""
            parts.append(
                f'<rect x="{x:.0f}" y="{y - 7:.0f}" width="22" height="14" rx="{rx}" fill="{fill}" '
                f'stroke="{stroke}"{dashes}/>'
            )
        parts.append(f'<text x="{x + 28:.0f}" y="{y + 4:.0f}" font-size="11" fill="{style.FAINT}">{words}</text>')
        x += 28 + 6.2 * len(words) + 18
    return ['<g class="legend">', *parts, "</g>"], x


def _line(line: Line, route: tuple[Point, ...], scene: Scene, layout: Layout) -> str:
    kinds = scene.nodes[line.source].kind, scene.nodes[line.target].kind
    source, target = ((layout.centres[end], layout.sizes[end]) for end in (line.source, line.target))
    points = style.run(kinds, (source, target), route)
    colour = style.LINE.get(line.relation, style.OTHER_LINE)
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for one, other in itertools.pairwise(points):
        first, second = style.bend(one, other)
        path += " C" + " ".join(f"{px:.1f},{py:.1f}" for px, py in (first, second, other))
    tip = "start" if line.relation in style.FLOW else "end"
    drawn = (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{style.width_of(line.weight)}" '
        f'marker-{tip}="url(#to-{colour[1:]})"/>'
    )
    title = f"{line.relation} {line.label}".strip()
    label = ""
    if line.label:
        (ax, ay), (bx, by) = points[len(points) // 2 - 1], points[len(points) // 2]
        label = (
            f'<text x="{(ax + bx) / 2:.1f}" y="{(ay + by) / 2 - 4:.1f}" text-anchor="middle" font-size="10" '
            f'fill="{colour}" stroke="#ffffff" stroke-width="3" paint-order="stroke">{_xml_text(line.label)}</text>'
        )
    return f'<g class="{line.relation}"><title>{_xml_text(title)}</title>{drawn}{label}</g>'


def _xml_text(text: str) -> str:
    """Escape a string for XML. Characters that are not printable are replaced."""
    return escape(
        "".join(each if each in "\n\t" or each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    )
