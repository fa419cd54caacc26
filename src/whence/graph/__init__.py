"""The project graph: W3C PROV in memory, segments, and summaries of segments."""

from whence.graph._graph import Graph
from whence.graph.boundary import Boundary, beyond, on_edges, what, when, where, who
from whence.graph.model import Edge, GraphWarning, Vertex
from whence.graph.segment import Segment
from whence.graph.segment_diff import SegmentDiff
from whence.graph.summary import Summary, SummaryEdge, SummaryVertex, summarize

__all__ = [
    "Boundary", "Edge", "Graph", "GraphWarning", "Segment", "SegmentDiff", "Summary", "SummaryEdge", "SummaryVertex",
    "Vertex", "beyond", "on_edges", "summarize", "what", "when", "where", "who",
]  # fmt: skip
