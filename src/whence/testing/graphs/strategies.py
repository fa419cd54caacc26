"""Hypothesis strategies for small provenance graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from whence.testing.graphs.oracle import Edge, Plain

if TYPE_CHECKING:
    from whence.graph import Graph


@dataclass(frozen=True)
class Drawn:
    """A graph as it was drawn: kind and properties by id, and edges."""

    vertices: dict[str, tuple[str, dict[str, Any]]]
    edges: tuple[Edge, ...]

    @property
    def graph(self) -> Graph:
        """The graph of whence."""
        from whence.graph import Graph

        return Graph.build([(name, kind, properties) for name, (kind, properties) in self.vertices.items()], self.edges)

    @property
    def plain(self) -> Plain:
        """The graph of the oracle."""
        return Plain.of({name: kind for name, (kind, _) in self.vertices.items()}, self.edges)

    def of_kind(self, kind: str) -> list[str]:
        """The ids of one kind."""
        return [name for name, (own, _) in self.vertices.items() if own == kind]


@st.composite
def provenance(draw: st.DrawFn, activities: int = 7) -> Drawn:
    """Activities one after another, each using some of what is there and making up to three entities."""
    vertices: dict[str, tuple[str, dict[str, Any]]] = {"u0": ("agent", {}), "u1": ("agent", {})}
    entities = [f"e{i}" for i in range(draw(st.integers(1, 3)))]
    vertices.update({name: ("entity", {}) for name in entities})
    edges: list[Edge] = []
    for number in range(draw(st.integers(1, activities))):
        name = f"a{number}"
        vertices[name] = ("activity", {"command": draw(st.sampled_from("xyz"))})
        used = draw(st.lists(st.sampled_from(entities), max_size=3, unique=True))
        edges += [(name, "used", each) for each in used]
        made = [f"e{len(entities) + i}" for i in range(draw(st.integers(0, 3)))]
        for each in made:
            vertices[each] = ("entity", {"filename": draw(st.sampled_from("pq"))})
            edges.append((each, "wasGeneratedBy", name))
            derived: bool = draw(st.booleans())
            if used and derived:
                edges.append((each, "wasDerivedFrom", used[0]))
            if draw(st.integers(0, 3)) == 0:
                edges.append((each, "wasAttributedTo", "u1"))
        if draw(st.booleans()):
            edges.append((name, "wasAssociatedWith", draw(st.sampled_from(["u0", "u1"]))))
        entities += made
    extra = (entities[-1], "wasGeneratedBy", "a0")
    if len(entities) > 4 and extra not in edges and draw(st.booleans()):  # an entity may be of two activities
        edges.append(extra)
    return Drawn(vertices, tuple(edges))
