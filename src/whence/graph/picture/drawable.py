"""Drawing of graphs, segments and summaries."""

from __future__ import annotations

import html
from os import PathLike
from pathlib import Path

from whence.errors import BadType, StoreError

MOST_SHOWN = 20_000  # the most vertices that a notebook draws by itself
MOST_LISTED = 4_000  # the most vertices of a picture that has a table below it
MOST_ROWS = 60
_ENDINGS = (".svg", ".png", ".mmd", ".mermaid", ".dot", ".gv")


class Drawable:
    """The base class of graphs, segments and summaries, which can be drawn."""

    def __len__(self) -> int:
        raise NotImplementedError

    def to_svg(self) -> str:
        """The picture as SVG: time runs from left to right; large graphs are shown as counts."""
        from whence.graph.picture import scene, svg

        return svg.svg(scene.placed(self))

    def to_png(self) -> bytes:
        """The same picture as PNG."""
        from whence.graph.picture import png, scene

        return png.png(scene.placed(self))

    def to_mermaid(self) -> str:
        """The picture as a Mermaid flowchart, which Markdown pages on many sites draw."""
        from whence.graph.picture import scene, text

        return text.mermaid(scene.scene_of(self))

    def to_dot(self) -> str:
        """The picture in Graphviz's language."""
        from whence.graph.picture import scene, text

        return text.dot(scene.scene_of(self))

    def draw(self, path: str | PathLike[str]) -> None:
        """Write the picture to a file: .svg, .png, .mmd (Mermaid) or .dot."""
        place = Path(path)
        ending = place.suffix.lower()
        if ending not in _ENDINGS:
            raise BadType(f"{place.name}: the file name of a picture must end in {', '.join(_ENDINGS)}")
        if ending == ".png":
            data = self.to_png()
        elif ending == ".svg":
            data = self.to_svg().encode()
        else:
            data = (self.to_mermaid() if ending.startswith(".m") else self.to_dot()).encode()
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        except OSError as error:
            raise StoreError(f"{place} cannot be written: {error.strerror or error}") from error

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        from whence.shown import bundle

        return bundle(self)

    def _repr_svg_(self) -> str | None:
        return self.to_svg() if 0 < len(self) <= MOST_SHOWN else None

    def _repr_html_(self) -> str | None:
        """The picture, and a table of its nodes below it."""
        from whence.graph.picture.scene import scene_of

        picture = self._repr_svg_() if len(self) <= MOST_LISTED else None
        if picture is None:
            return None
        nodes = scene_of(self).nodes
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in (node.kind, node.label, node.note))}</tr>"
            for node in nodes[:MOST_ROWS]
        )
        more = f"<p>... {len(nodes) - MOST_ROWS:,} more</p>" if len(nodes) > MOST_ROWS else ""
        return f"{picture}<details><summary>{html.escape(repr(self))}</summary><table>{rows}</table>{more}</details>"
