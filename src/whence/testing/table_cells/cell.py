"""A value with its source cells, and a row of such values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from whence.rows.expressions import Attr

SourceCell: TypeAlias = tuple[int, int, str]  # the use of a source, the row number, the column name
Cells: TypeAlias = frozenset[SourceCell]
NONE: Cells = frozenset()


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, the source cells that it is computed from, and those that selected it.

    `items` has the cells of the elements of a pivot's list; each column takes one of them.
    """

    value: Any
    cells: Cells = NONE
    selection: Cells = NONE
    items: tuple[Cell, ...] | None = None

    @property
    def read(self) -> Cells:
        """All source cells: what a condition that reads this value depends on."""
        return self.cells | self.selection

    def selected(self, by: Cells) -> Cell:
        """Return the cell with more selection lineage."""
        items = None if self.items is None else tuple(each.selected(by) for each in self.items)
        return replace(self, selection=self.selection | by, items=items)


@dataclass(frozen=True, slots=True)
class CellRow:
    """A row: its cells, the cells that selected it, and all cells of the source rows that it came from."""

    cells: Mapping[Attr, Cell]
    selection: Cells = NONE
    whole: Cells = NONE

    def values(self, columns: Iterable[Attr]) -> tuple[Any, ...]:
        """The values of some columns."""
        return tuple(self.cells[attr].value for attr in columns)

    def lineage(self, attr: Attr, lineage: str = "value+selection") -> Cells:
        """The source cells of one of its cells."""
        cell = self.cells[attr]
        return cell.cells if lineage == "value" else cell.read | self.selection


def united(sets: Iterable[Cells]) -> Cells:
    """The union of all sets."""
    return NONE.union(*sets)
