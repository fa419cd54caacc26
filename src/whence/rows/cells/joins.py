"""Joins: a cell comes from its own side; selection lineage adds the keys of both rows.

before: Join inner on a = c: a, b, c, d
after:  b comes from (id1, b); with selection also from (id1, a) and (id2, c)
"""

from __future__ import annotations

from dataclasses import replace

from whence.rows.cells.reads import reads
from whence.rows.cells.rows import decided
from whence.rows.cells.terms import ROWS, WHOLE, Ask, Key, Masks, Noted, Terms, through, union
from whence.rows.eager import joins as eager
from whence.rows.expressions import Attr
from whence.rows.operators import Join


def join(plan: Join, ask: Ask) -> Noted:
    if plan.how in ("semi", "anti", "existence"):
        return _let_through(plan, ask)
    if plan.how == "single":
        return _single(plan, ask)
    condition = reads((plan.condition,) if plan.condition is not None and ROWS in ask.need else (), True)
    left = ask.down(plan.left, (*ask.need, *condition.keys))
    right = ask.down(plan.right, (*ask.need, *condition.keys))
    made, moved, reasons = through(eager.join, plan, [(plan.left, left), (plan.right, right)])
    keys = dict.fromkeys((*left.notes, *right.notes))
    notes = {key: moved(union(left.of(key), right.of(key))) for key in keys}
    own = {key: terms for key, terms in notes.items() if key in ask.need}
    return decided(Noted(made, own, reasons), Noted(made, notes), condition)


def _single(plan: Join, ask: Ask) -> Noted:
    """A scalar subquery: its conditions select its value, but not the row."""
    of_value = [attr for attr in plan.right.output if attr in ask.need]
    condition = reads((plan.condition,) if plan.condition is not None and of_value and ask.selection else (), True)
    left = ask.down(plan.left, (*ask.need, *condition.keys))
    deciding = (*condition.keys, ROWS) if ask.selection and of_value else ()
    right = ask.down(plan.right, (*of_value, *deciding))
    made, moved, reasons = through(eager.join, plan, [(plan.left, left), (plan.right, right)])
    notes = {key: moved(terms) for key, terms in (*left.notes.items(), *right.notes.items()) if key is not ROWS}
    masks = Masks()
    keys = union(condition.terms(Noted(made, notes), masks), moved(right.of(ROWS)))
    own: dict[Key, Terms] = {key: terms for key, terms in notes.items() if key in ask.need}
    own |= {attr: union(notes.get(attr, {}), keys) for attr in of_value}
    own |= {key: moved(left.of(key)) for key in ask.rows()}
    return Noted(masks.over(made), own, (*reasons, *condition.reasons))


def _let_through(plan: Join, ask: Ask) -> Noted:
    """Semi, anti and existence joins: the keys of the row and of its matches are selection lineage."""
    deciding = plan.flag in ask.need if plan.flag is not None else ROWS in ask.need
    asked = deciding and ask.selection
    condition: tuple[Attr, ...] = tuple(plan.condition.attrs) if asked and plan.condition is not None else ()
    left = ask.down(plan.left, (*ask.need, *condition))
    if not asked or plan.how == "anti":
        notes = {key: terms for key, terms in left.notes.items() if key in ask.need}
        keys = left.of(*condition) if asked else {}
        if keys:
            notes[ROWS] = union(notes.get(ROWS, {}), keys)
        return Noted(replace(plan, left=left.plan), notes, left.reasons)
    right = ask.down(plan.right, (*condition, ROWS, *(() if plan.condition is not None else (WHOLE,))))
    made, moved, reasons = through(eager.join, plan, [(plan.left, left), (plan.right, right)])
    notes = {key: moved(terms) for key, terms in left.notes.items() if key in ask.need}
    keys = moved(union(left.of(*condition), right.of(*condition, ROWS, WHOLE)))
    key = ROWS if plan.flag is None else plan.flag
    return Noted(made, {**notes, key: union(notes.get(key, {}), keys)}, reasons)
