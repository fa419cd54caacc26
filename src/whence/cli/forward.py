"""`whence forward`: which cells a value went to."""

from __future__ import annotations

from whence.cli._ask import question

command = question(
    "forward",
    """Which cells a value went to.

Prints the cells of every final result, or of --to, that CELLS of DATASET contributed to.
CELLS are written as in NumPy: 3,4 is one cell, 0:10,5 ten of them, :,0 a whole column.
For a file, which has no cells, prints what the runs that used it made; `whence descendants` goes further.

\b
  whence forward thermal 150,565
  whence forward thermal 0:10,: --to overview --json""",
)
