"""Plans run in Python on annotated cells: slow, obvious, without Spark; the judge of cell questions about tables.

`run` gives every row of a plan's output. Each of its cells has a value and two sets of source cells: those that the
value is computed from, and those that decided that it is there (selection).
"""

from whence.testing.table_cells.cell import Cell, CellRow, SourceCell
from whence.testing.table_cells.operators import run

__all__ = ["Cell", "CellRow", "SourceCell", "run"]
