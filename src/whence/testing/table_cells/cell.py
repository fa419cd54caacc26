"""A value that knows where it comes from, and a row of such values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from whence.rows.expressions import Attr

SourceCell: TypeAlias = tuple[int, int, str]  # the use of a source, the row's number, the column's name
Cells: TypeAlias = frozenset[SourceCell]
NONE: Cells = frozenset()


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, the source cells it is computed from, and those that decided about it.

    `items` has the cells of the elements of a list that a pivot makes: each column takes one of them.
    """

    value: Any
    cells: Cells = NONE
    selection: Cells = NONE
    items: tuple[Cell, ...] | None = None

    @property
    def read(self) -> Cells:
        """All of them: what a condition that reads this value depends on."""
        return self.cells | self.selection

    def selected(self, by: Cells) -> Cell:
        """The same, with more that decided about it."""
        items = None if self.items is None else tuple(each.selected(by) for each in self.items)
        return replace(self, selection=self.selection | by, items=items)


@dataclass(frozen=True, slots=True)
class CellRow:
    """A row: its cells, what decided that it is there, and the source rows that it is made of, whole."""

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
    """All cells of all sets."""
    return NONE.union(*sets)
