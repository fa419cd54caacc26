"""Selections of tables: cells by row and column, with the names of columns and access to the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.selection import Selection

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Fetch = Callable[[NDArray[np.int64], Sequence[int] | None], Any]
"""Returns rows by row number, and columns by position, as an Arrow table."""


class TableSelection(Selection):
    """Cells of a table. `columns` names those that it has cells in; `arrow()` and `pandas()` fetch its rows.

    >>> cells = Selection.of([(0, 1), (4, 1)], (5, 2))
    >>> found = TableSelection.of_table(cells, ("id", "total"), lambda rows, columns: None)
    >>> found.columns, found.rows.tolist()
    (['total'], [0, 4])
    """

    _names: tuple[str, ...]
    _fetch: Fetch

    @classmethod
    def of_table(cls, cells: Selection, names: Sequence[str], fetch: Fetch) -> TableSelection:
        """Return a selection of a table with these columns; `fetch` reads its rows."""
        made = cls._trusted(cells.boxes, cells.shape)
        made.notes = cells.notes
        made._names, made._fetch = tuple(names), fetch
        return made

    def noted(self, notes: tuple[str, ...]) -> TableSelection:
        made = self.of_table(self, self._names, self._fetch)
        made.notes = notes
        return made

    def _alike(self, cells: Selection) -> TableSelection:
        return self.of_table(cells, self._names, self._fetch)

    def __or__(self, other: object) -> TableSelection:
        return self._alike(super().__or__(other))

    def __and__(self, other: object) -> TableSelection:
        return self._alike(super().__and__(other))

    def __sub__(self, other: object) -> TableSelection:
        return self._alike(super().__sub__(other))

    def __xor__(self, other: object) -> TableSelection:
        return self._alike(super().__xor__(other))

    def __invert__(self) -> TableSelection:
        return self._alike(Selection.all(self.shape) - self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Selection.from_boxes, (self.boxes, self.shape)  # another process cannot fetch rows

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row numbers of its cells."""
        return self.along(0)

    @property
    def columns(self) -> list[str]:
        """The column names of its cells."""
        places = {place for first, last in self.boxes[:, 1].tolist() for place in range(first, last + 1)}
        return [name for place, name in enumerate(self._names) if place in places]

    def arrow(self) -> pa.Table:
        """Return its rows, with all columns of the table."""
        return self._fetch(self.rows, None)

    def pandas(self) -> pd.DataFrame:
        """Return its rows as a pandas frame; the index is the row numbers."""
        frame = self.arrow().to_pandas()
        frame.index = self.rows
        return frame
