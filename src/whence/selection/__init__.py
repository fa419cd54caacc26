"""Which cells: a union of integer boxes over the axes of one dataset."""

from whence.selection._reading import as_shape
from whence.selection._selection import CELL_LIMIT, Selection

__all__ = ["CELL_LIMIT", "Selection", "as_shape"]
