"""Provenance graphs for tests and benchmarks: generators, an exhaustive search of paths, another way to summarize.

- `pd`, `sd`, `lifecycle`: the graphs of the paper on segmentation and summarization.
- `oracle`: direct and similar paths, found by listing every path.
- `psum`: the summary that the paper compares with; `words`: the words of a summary and of its segments.
"""

from whence.testing.graphs.generators import Arrays, lifecycle, pd, sd

__all__ = ["Arrays", "lifecycle", "pd", "sd"]
