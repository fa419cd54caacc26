"""The elements of pictures: nodes with labels, and lines between them."""

from __future__ import annotations

from dataclasses import dataclass

from whence.graph.model import Kind


@dataclass(frozen=True, slots=True)
class Node:
    """A shape with a label; `note` is a second, smaller line.

    `stands_for` counts the vertices that it represents, `ids` are their ids, `strong` marks vertices of the query.
    """

    kind: Kind
    label: str
    title: str
    stands_for: int = 1
    strong: bool = False
    failed: bool = False
    note: str = ""
    ids: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the shape."""
        wide = max(7.0 * len(self.label), 5.8 * len(self.note)) + 28.0
        return max(64.0, wide), 46.0 if self.note else 38.0


@dataclass(frozen=True, slots=True)
class Line:
    """An edge between nodes, given by index. `weight` is between 0 and 1; `label` is drawn next to the line."""

    source: int
    target: int
    relation: str
    weight: float = 0.0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """Nodes and the edges between them."""

    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    ranks: tuple[int, ...] | None = None  # given ranks; None if they follow from the edges
