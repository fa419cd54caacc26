"""Run plans in Python on annotated cells: slow, simple, without Spark; the oracle of cell questions about tables.

`run` returns every row of a plan's output. Each of its cells has a value and two sets of source cells: those that the
value is computed from, and those that only selected it (selection lineage).
"""

from whence.testing.table_cells.cell import Cell, CellRow, SourceCell
from whence.testing.table_cells.operators import run

__all__ = ["Cell", "CellRow", "SourceCell", "run"]
