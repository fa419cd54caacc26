"""Python functions of tables and groups: all cells of the table or group, which may be a superset."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whence.rows.cells.reads import reads
from whence.rows.cells.terms import ROWS, WHOLE, Ask, Key, Masks, Noted, Terms, through, union
from whence.rows.eager import opaque as eager
from whence.rows.eager.ids import Tagged
from whence.rows.expressions import Expr
from whence.rows.operators import Cogroup, GroupedMap, Opaque, Operator

GROUP = "a function of groups is assumed to read all cells of its group"


def opaque(plan: Opaque, ask: Ask) -> Noted:
    return _all(eager.opaque, plan, [(child, ()) for child in plan.inputs], ask, ())


def grouped(plan: GroupedMap, ask: Ask) -> Noted:
    return _all(eager.grouped, plan, [(plan.child, plan.keys)], ask, (GROUP,))


def cogrouped(plan: Cogroup, ask: Ask) -> Noted:
    return _all(eager.cogrouped, plan, [(plan.left, plan.left_keys), (plan.right, plan.right_keys)], ask, (GROUP,))


def _all(
    rule: Callable[..., Tagged],
    plan: Opaque | GroupedMap | Cogroup,
    inputs: Sequence[tuple[Operator, Sequence[Expr]]],
    ask: Ask,
    reasons: tuple[str, ...],
) -> Noted:
    own = [attr for attr in plan.columns if attr in ask.need]
    below = []
    every: list[Terms] = []
    for child, keys in inputs:
        read = reads(keys if ROWS in ask.need else (), True)
        noted = ask.down(child, (*(child.output if own else ()), *read.keys, *ask.rows()))
        masks = Masks()
        terms = read.terms(noted, masks)
        notes: dict[Key, Terms] = {**noted.notes, plan: terms}
        below.append((child, Noted(masks.over(noted.plan), notes, noted.reasons)))
        every.append(union(*(noted.of(attr) for attr in child.output)))
    made, moved, more = through(rule, plan, below)
    found: dict[Key, Terms] = dict.fromkeys(own, moved(union(*every)))
    if ROWS in ask.need:
        found[ROWS] = moved(union(*(noted.of(ROWS, plan) for _, noted in below)))
    if WHOLE in ask.need:
        found[WHOLE] = moved(union(*(noted.of(WHOLE) for _, noted in below)))
    return Noted(made, found, (*more, *reasons))
