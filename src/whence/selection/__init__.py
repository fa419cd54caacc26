"""Sets of cells, stored as unions of boxes."""

from whence.selection._numbers import distinct
from whence.selection._reading import as_shape
from whence.selection._selection import CELL_LIMIT, Selection

__all__ = ["CELL_LIMIT", "Selection", "as_shape", "distinct"]
