"""Intersection and difference: the cells of all equal rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whence.rows.cells.terms import ROWS, Ask, Key, Noted, Terms, through, union
from whence.rows.eager import sets as eager
from whence.rows.operators import Except, Intersect, Operator


def intersect(plan: Intersect, ask: Ask) -> Noted:
    """The cells of the equal rows on both sides. All their columns are selection lineage."""
    inputs: list[tuple[Operator, Noted]] = []
    for child in (plan.left, plan.right):
        own = [attr for out, attr in zip(plan.output, child.output, strict=True) if out in ask.need or ROWS in ask.need]
        inputs.append((child, ask.down(child, (*own, *ask.rows()))))
    made, moved, reasons = through(eager.intersect, plan, inputs)
    return Noted(made, _notes(plan, ask, inputs, moved), reasons)


def subtract(plan: Except, ask: Ask) -> Noted:
    """The cells of the equal rows on the left. The right contributes nothing."""
    own = [attr for attr in plan.output if attr in ask.need or ROWS in ask.need]
    inputs: list[tuple[Operator, Noted]] = [(plan.left, ask.down(plan.left, (*own, *ask.rows())))]
    made, moved, reasons = through(eager.subtract, plan, inputs)
    return Noted(made, _notes(plan, ask, inputs, moved), reasons)


def _notes(
    plan: Intersect | Except,
    ask: Ask,
    inputs: Sequence[tuple[Operator, Noted]],
    moved: Callable[[Terms], Terms],
) -> dict[Key, Terms]:
    notes: dict[Key, Terms] = {}
    for place, attr in enumerate(plan.output):
        if attr in ask.need or ROWS in ask.need:
            notes[attr] = moved(union(*(noted.of(child.output[place]) for child, noted in inputs)))
    found = {key: notes[key] for key in notes if key in ask.need}
    for key in ask.rows():
        found[key] = moved(union(*(noted.of(key) for _, noted in inputs)))
    if ROWS in ask.need:
        found[ROWS] = union(found[ROWS], *notes.values())
    return found
