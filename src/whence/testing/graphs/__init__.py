"""Provenance graphs to test and measure with: generators, an exhaustive search of paths, another way to summarize.

- `pd`, `sd`, `lifecycle`: graphs as the paper on segmentation and summarization makes them.
- `oracle`: direct and similar paths by listing every path; the words of a summary and of its segments.
- `psum`: the summary that the paper compares with.
"""

from whence.testing.graphs.generators import Arrays, lifecycle, pd, sd

__all__ = ["Arrays", "lifecycle", "pd", "sd"]
