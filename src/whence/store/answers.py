"""Answers that print as tables, and are lists and dicts all the same."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from whence.selection import Selection
from whence.words import table

SHOWN_ROWS = 60  # rows that are printed; the answer has all of them
BOXES = 4  # of one selection

Row = Sequence[object]
Each = TypeVar("Each")


class Listed(list[Each]):
    """A list that prints as a table.

    >>> Listed(["a", "b"], ("name", "length"), lambda each: (each, len(each)))
    name  length
    a     1
    b     1
    """

    def __init__(self, found: Iterable[Each], columns: Sequence[str], row: Callable[[Each], Row], empty: str = "none"):
        super().__init__(found)
        self._columns, self._row, self._empty = columns, row, empty

    def __repr__(self) -> str:
        return _table_text(self._columns, [self._row(each) for each in self[:SHOWN_ROWS]], len(self), self._empty)

    def _repr_html_(self) -> str:
        return as_html(self._columns, [self._row(each) for each in self[:SHOWN_ROWS]], len(self), self._empty)

    def rows(self) -> list[dict[str, object]]:
        """The table itself, a dict for each row."""
        return [dict(zip(self._columns, self._row(each), strict=True)) for each in self]


class Answers(dict[str, Selection]):
    """Cells by dataset, which print as a table.

    `notes` say where the recorded lineage ends, and where it is a guess by content. For a file, `how` is a sentence
    about what made or used it.

    >>> Answers({"x": Selection.parse("0", (3,))}, notes=["'x' starts at a.py:3: how it was made was not recorded"])
    dataset  count  cells
    x        1      0
    note: 'x' starts at a.py:3: how it was made was not recorded
    """

    def __init__(
        self, found: Mapping[str, Selection], how: str = "", activities: Sequence[str] = (), notes: Iterable[str] = ()
    ) -> None:
        super().__init__(found)
        self.how = how
        self.activities = tuple(activities)
        self.notes = tuple(notes)

    def _rows(self) -> list[Row]:
        return [(name, f"{each.count:,}", boxes(each)) for name, each in list(self.items())[:SHOWN_ROWS]]

    def __repr__(self) -> str:
        parts = [self.how] if self.how else []
        if self or not parts:
            parts.append(_table_text(("dataset", "count", "cells"), self._rows(), len(self), "no cells"))
        return "\n".join([*parts, *(f"note: {each}" for each in self.notes)])

    def _repr_html_(self) -> str:
        how = f"<p>{html.escape(self.how)}</p>" if self.how else ""
        notes = "".join(f"<p>note: {html.escape(each)}</p>" for each in self.notes)
        return how + as_html(("dataset", "count", "cells"), self._rows(), len(self), "no cells") + notes


class Blamed(dict[str, list[str]]):
    """Agents with what they are responsible for, which print as a table."""

    def __repr__(self) -> str:
        return _table_text(
            ("agent", "responsible for"), [(who, ", ".join(what)) for who, what in self.items()], len(self), "nobody"
        )

    def _repr_html_(self) -> str:
        rows = [(who, ", ".join(what)) for who, what in self.items()]
        return as_html(("agent", "responsible for"), rows, len(self), "nobody")


def boxes(selection: Selection) -> str:
    """The first boxes of a selection, as questions take them.

    >>> boxes(Selection.of("0:2,1", (3, 2)))
    '0:2,1'
    """
    if not selection.shape:
        return "whole" if selection.count else "none"
    spans = [[(first, last + 1) for first, last in box] for box in selection.boxes[:BOXES].tolist()]
    texts = [",".join(str(a) if b == a + 1 else f"{a}:{b}" for a, b in box) for box in spans]
    more = len(selection.boxes) - len(texts)
    return "; ".join(texts) + (f"; and {more:,} more" if more else "") or "none"


def _table_text(columns: Sequence[str], rows: Sequence[Row], count: int, empty: str) -> str:
    if not count:
        return empty
    return table(columns, rows) + (f"\n... and {count - len(rows):,} more" if count > len(rows) else "")


def as_html(columns: Sequence[str], rows: Sequence[Row], count: int, empty: str) -> str:
    """A table for a notebook."""
    if not count:
        return f"<p>{html.escape(empty)}</p>"

    def line(cells: Row, tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    more = f"<p>... and {count - len(rows):,} more</p>" if count > len(rows) else ""
    return f"<table>{line(columns, 'th')}{''.join(line(row, 'td') for row in rows)}</table>{more}"


def size_of(properties: Mapping[str, Any]) -> int | None:
    """How large something is, where its properties say so."""
    size = properties.get("size")
    return size if isinstance(size, int) and not isinstance(size, bool) else None
