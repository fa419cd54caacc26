"""Write a scene in the languages of other drawing programs: Mermaid and Graphviz's DOT."""

from __future__ import annotations

from whence.graph.model import Kind
from whence.graph.picture import style
from whence.graph.picture.nodes import Node, Scene

_MERMAID: dict[Kind, tuple[str, str]] = {"entity": ("([", "])"), "activity": ("[", "]"), "agent": ("[/", "\\]")}
_DOT: dict[Kind, str] = {"entity": "ellipse", "activity": "box", "agent": "house"}


def mermaid(scene: Scene) -> str:
    """A flowchart with older vertices to the left."""
    lines = ["flowchart RL"]
    for number, node in enumerate(scene.nodes):
        opening, closing = _MERMAID[node.kind]
        look = "failed" if node.failed else node.kind
        lines.append(f'  n{number}{opening}"{_entities(_words(node))}"{closing}:::{look}')
    lines += [
        f'  n{line.source} -- "{_entities(f"{line.relation} {line.label}".strip())}" --> n{line.target}'
        for line in scene.lines
    ]
    lines += [
        f"  linkStyle {number} stroke-width:{style.width_of(line.weight)}px"
        for number, line in enumerate(scene.lines)
        if line.weight
    ]
    lines += [f"  classDef {kind} fill:{style.FILL[kind]},stroke:{style.STROKE[kind]},color:#000" for kind in _MERMAID]
    fill, stroke = style.FAILED
    lines.append(f"  classDef failed fill:{fill},stroke:{stroke},stroke-dasharray:5 3,color:#000")
    return "\n".join(lines) + "\n"


def dot(scene: Scene) -> str:
    """A digraph with older vertices to the left, and a legend below."""
    lines = ["digraph whence {", "  rankdir=RL;", '  node [style=filled, fontname="Helvetica"];']
    if scene.nodes:
        lines.append(f'  label={_dot_string(_legend(scene))}; labelloc=b; fontname="Helvetica"; fontsize=11;')
    for number, node in enumerate(scene.nodes):
        fill, stroke = style.look_of(node)
        look = f'shape={_DOT[node.kind]}, fillcolor="{fill}", color="{stroke}"'
        look += ', style="filled,dashed"' if node.failed else ""
        lines.append(f"  n{number} [label={_dot_string(_words(node))}, tooltip={_dot_string(node.title)}, {look}];")
    for line in scene.lines:
        colour = style.LINE.get(line.relation, style.OTHER_LINE)
        label = f"{line.relation} {line.label}".strip()
        look = f'color="{colour}", penwidth={style.width_of(line.weight)}'
        lines.append(f"  n{line.source} -> n{line.target} [label={_dot_string(label)}, {look}];")
    return "\n".join([*lines, "}"]) + "\n"


def _legend(scene: Scene) -> str:
    """The legend of shapes. Edges have their own labels."""
    shapes: dict[str, str] = dict([*_DOT.items(), ("failed", "dashed")])
    return "   ".join(f"{shapes[mark]}: {words}" for mark, words in style.legend(scene) if mark in shapes)


def _words(node: Node) -> str:
    return f"{node.label} ({node.note})" if node.note else node.label


def _entities(text: str) -> str:
    """Escape a string for Mermaid: characters that may have a meaning become numeric entities.

    >>> _entities('say "hi" [now]')
    'say #34;hi#34; #91;now#93;'
    """
    return "".join(each if each.isalnum() or each in " ._-/@,:+" else f"#{ord(each)};" for each in text)


def _dot_string(text: str) -> str:
    """Quote a string for DOT. Graphviz interprets backslashes, and `&` as in HTML, so they are escaped.

    >>> print(_dot_string('a\\\\b "c" &lt;'))
    "a\\\\b \\"c\\" &amp;lt;"
    """
    shown = "".join(each if each == "\n" or each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    for special, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("&", "&amp;")):
        shown = shown.replace(special, escaped)
    return f'"{shown}"'
