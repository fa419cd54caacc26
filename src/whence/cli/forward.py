"""`whence forward`: which cells a value went to."""

from __future__ import annotations

from whence.cli._ask import question

command = question(
    "forward",
    """Which cells a value went to.

Prints the cells of every final result, or of --to, that CELLS of DATASET contributed to.
CELLS are written as in NumPy: 3,4 is one cell, 0:10,5 ten of them, :,0 a whole column.
For a table, give rows by their values, with --row. The answer also names the files that hold the cells.
With --report, also writes what to do to erase the cells: which rows to recompute, which files to delete.

\b
  whence forward thermal 150,565
  whence forward customers --row id=17 --report erasure.html
  whence forward thermal 0:10,: --to overview --json""",
)
