"""What answers say about results whose lineage is incomplete or not exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from whence.arrays.recording.calls import Captured

NO_VALUES = (
    "holds no value of the inputs; if values only selected it (a mask, a sort key, a comparison), "
    "log.track(..., lineage='value+selection') records which"
)
A_TABLE = "is a table, and whence does not follow how tables are made: it may come from any cell"
THROUGH_TEXT = (
    "may come from other cells, too: cells were written as text, and what is read from text again is not followed"
)
ALL_OF_IT = "is a number that Python computed from numbers taken out of arrays: it may come from any cell"


class Doubt(str):
    """A note that says that the lineage of an output is not exact."""

    __slots__ = ()


def said(found: Captured) -> tuple[str, ...]:
    """Return a note on the lineage of each output, or ""; the note is a `Doubt` if the lineage may not be exact."""
    from_values = {edge.output for edge in found.edges if edge.kind == "value" and len(edge.relation)}
    notes = tuple(Doubt(each) if each else "" for each in found.said or ("",) * len(found.outputs))
    if casts := found.notes.get("casts", 0):
        taken = f"{casts:,} number{'s were' if casts > 1 else ' was'} taken out of arrays as plain numbers"
        return tuple(
            note or Doubt(f"may come from other cells, too: {taken}, which are not followed") for note in notes
        )
    return tuple(
        note or (NO_VALUES if found.inputs and at not in from_values and np.size(each.value) else "")
        for at, (note, each) in enumerate(zip(notes, found.outputs, strict=True))
    )
