"""Pictures of graphs, segments and summaries: SVG, PNG, Mermaid and DOT, with the shapes and colours of PROV."""

from whence.graph.picture.drawable import Drawable

__all__ = ["Drawable"]
