"""Pictures of graphs, segments and summaries: SVG, PNG, Mermaid and DOT, with PROV's own shapes and colours."""

from whence.graph.picture.drawable import Drawable

__all__ = ["Drawable"]
