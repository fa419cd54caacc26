"""Cells of groups without computing the groups: the rows of the group, one by one, with the ids of their cells.

    before: Aggregate by city: city, sum(n) as total, for the row with city = 'Oslo'
    after:  Filter city = 'Oslo': (id, n) for each row

The output row has the keys of its group, so the rows below with these keys are the group. Neither lists of ids nor
sums have to be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from whence.rows.cells.groups import _aggregate_inputs, _entered
from whence.rows.cells.reads import reads
from whence.rows.cells.terms import ROWS, Key, Masks, Noted, Terms, union
from whence.rows.expressions import AggCall, Attr, Expr
from whence.rows.operators import Aggregate, Arrange, Filter, Limit, Operator, Project, Sort
from whence.rows.pushdown.pins import substituted


@dataclass(frozen=True, slots=True)
class Flat:
    """The rows of the groups; the output column of each key; and the terms, with one id per row."""

    plan: Operator
    keys: Mapping[Expr, Attr]
    terms: Terms
    reasons: tuple[str, ...] = ()


def flat_cells(
    plan: Operator, columns: Iterable[Attr], lineage: str, down: Callable[[Operator, Iterable[Key], bool], Noted]
) -> Flat | None:
    """Return the rows of the groups whose output columns are given; None if the plan does not have this form.

    `down` returns the rows below the groups with the cells of some keys.
    """
    selection = lineage != "value"
    shown: dict[Attr, Expr] = {attr: attr for attr in plan.output}
    deciding: list[Expr] = []
    output = plan.output
    while not isinstance(plan, Aggregate):
        if isinstance(plan, Project):
            own = {named.attr: named.expr for named in plan.columns}
            shown = {attr: substituted(expr, own) for attr, expr in shown.items()}
            deciding = [substituted(expr, own) for expr in deciding]
        elif isinstance(plan, Filter):
            deciding.append(plan.condition)
        elif isinstance(plan, Limit) and isinstance(plan.child, Sort):
            deciding += [key.expr for key in plan.child.keys]
        elif not isinstance(plan, Sort | Arrange):
            return None
        (plan,) = plan.children
    if plan.listed is not None or any(call.python for call in plan.calls):
        return None
    own = {named.attr: named.expr for named in plan.outputs}
    shown = {attr: substituted(expr, own) for attr, expr in shown.items()}
    keys = {key: attr for attr in reversed(output) for key in plan.keys if shown[attr] == key}
    if len(keys) < len(dict.fromkeys(plan.keys)):
        return None
    leaves = (*plan.keys, *plan.calls)
    wanted = [reads([shown[attr] for attr in columns], selection, leaves)]
    if selection:
        wanted.append(reads([substituted(expr, own) for expr in deciding], True, leaves))
    if any(read.where is not None for each in wanted for read in each.read):
        return None
    slots = dict.fromkeys(key for each in wanted for key in each.keys)
    called = {slot: _aggregate_inputs(plan, slot, selection) for slot in slots if isinstance(slot, AggCall)}
    if any(each.witnessed for each in called.values()) or not all(isinstance(slot, Expr) for slot in slots):
        return None
    of_keys = [reads([key], selection) for key in plan.keys if selection or key in slots]
    need: list[Key] = [key for each in called.values() for key in each.keys]
    need += [key for each in of_keys for key in each.keys]
    below, masks = down(plan.child, (*need, *((ROWS,) if selection else ())), selection), Masks()
    terms = union(
        *(_entered(each, below, masks) for each in called.values()),
        *(each.terms(below, masks) for each in of_keys),
        below.of(ROWS),
    )
    if any(known.ids.many for known in terms):
        return None
    read = (*wanted, *of_keys, *(each.read for each in called.values()))
    reasons = (*below.reasons, *(reason for each in read for reason in each.reasons))
    return Flat(masks.over(below.plan), keys, terms, tuple(dict.fromkeys(reasons)))
