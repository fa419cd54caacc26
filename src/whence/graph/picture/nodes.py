"""What pictures are made of: nodes with a few words, and lines between them."""

from __future__ import annotations

from dataclasses import dataclass

from whence.graph.model import Kind


@dataclass(frozen=True, slots=True)
class Node:
    """A shape with its words; `note` is a second, smaller line.

    `stands_for` counts what it stands for, `ids` are these vertices, `strong` marks what was asked about.
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
        """How wide and high it is drawn."""
        wide = max(7.0 * len(self.label), 5.8 * len(self.note)) + 28.0
        return max(64.0, wide), 46.0 if self.note else 38.0


@dataclass(frozen=True, slots=True)
class Line:
    """An edge between nodes by number; `weight` is between 0 and 1, `label` stands beside it."""

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
    ranks: tuple[int, ...] | None = None  # where these are not to be found by the edges
