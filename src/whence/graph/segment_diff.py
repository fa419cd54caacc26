"""Compare two segments: what only one of them has, and what both have."""

from __future__ import annotations

from dataclasses import dataclass

from whence.graph.segment import Segment

_SHOWN = 12  # printed vertices


@dataclass(frozen=True)
class SegmentDiff:
    """The comparison of two segments, by ids: what only the first has, what only the second has, what both have."""

    only_first: tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]
    only_second: tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]
    common: tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]

    @classmethod
    def of(cls, first: Segment, second: Segment) -> SegmentDiff:
        """Compare two segments, of one graph or of two."""
        vertices, edges = (first.vertices, second.vertices), (first.edges, second.edges)
        sets = [[set(each) for each in pair] for pair in (vertices, edges)]
        (v1, v2), (e1, e2) = sets
        return cls(
            (tuple(v for v in vertices[0] if v not in v2), tuple(e for e in edges[0] if e not in e2)),
            (tuple(v for v in vertices[1] if v not in v1), tuple(e for e in edges[1] if e not in e1)),
            (tuple(v for v in vertices[0] if v in v2), tuple(e for e in edges[0] if e in e2)),
        )

    def __str__(self) -> str:
        lines = []
        for title, (vertices, edges) in (
            ("only in the first", self.only_first), ("only in the second", self.only_second), ("in both", self.common),
        ):  # fmt: skip
            shown = ", ".join(vertices[:_SHOWN]) + (
                f" and {len(vertices) - _SHOWN} more" if len(vertices) > _SHOWN else ""
            )
            lines.append(f"{title}: {len(vertices)} vertices, {len(edges)} edges{': ' + shown if vertices else ''}")
        return "\n".join(lines)
