"""Answers to questions about cells: selections by dataset, and what has to be said with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whence.selection import Selection


class Answer(dict[str, Selection]):
    """The cells of each dataset that a question led to. `notes` says where lineage ends unknown, or is no proof.

    >>> Answer({"x": Selection.parse("0", (3,))}, ["'x' starts at a.py:3: nothing is known of how it was made"]).notes
    ("'x' starts at a.py:3: nothing is known of how it was made",)
    """

    notes: tuple[str, ...]

    def __init__(self, found: Mapping[str, Selection], notes: Iterable[str] = ()) -> None:
        super().__init__(found)
        self.notes = tuple(notes)
