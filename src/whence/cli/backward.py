"""`whence backward`: which cells a value came from."""

from __future__ import annotations

from whence.cli._ask import question

command = question(
    "backward",
    """Which cells a value came from.

Prints the cells of every source of the data, or of --to, that contributed to CELLS of DATASET.
CELLS are written as in NumPy: 3,4 is one cell, 0:10,5 ten of them, :,0 a whole column.
For a table, give rows by their values, with --row. The answer also names the files that hold the cells.

\b
  whence backward spots 0,:
  whence backward report --row city=Oslo --columns total
  whence backward spots 0,: --to thermal --out pixels.png""",
)
