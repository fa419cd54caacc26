"""Aggregate, distinct and functions of groups: select the rows of the group.

before: city <=> :city and total <=> :total  on  Aggregate(by city: city, sum(n) as total)
after:  city <=> :city

before: city <=> :city and most <=> :most  on  Aggregate(by city: city, max(n) as most)
after:  city <=> :city and n <=> :most        (with witness="group": city <=> :city)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whence.rows.expressions import AggCall, Attr, Compare, Expr, Not, conjunction, conjuncts, disjunction
from whence.rows.operators import Aggregate, Cogroup, Distinct, GroupedMap
from whence.rows.pushdown.base import Aim, Pushed, give_up
from whence.rows.pushdown.pins import pins, substituted


def push_aggregate(op: Aggregate, predicate: Expr, aim: Aim, witness: str = "rows") -> Pushed:
    """Select the group by its keys; for min, max, first, last and any, only the rows that attain the value."""
    keys = {attr: expr for attr, expr in op.key_outputs.items() if expr.deterministic}
    made = {column.attr: column.expr for column in op.outputs}
    about_keys = [fact for fact in conjuncts(predicate) if fact.attrs <= keys.keys() and fact.deterministic]
    group = conjunction(*(substituted(fact, keys) for fact in about_keys))
    known = pins(predicate)
    pinned = {keys[attr] for attr in known if attr in keys}
    one_group = set(op.keys) <= pinned
    decided = one_group or len(about_keys) == len(conjuncts(predicate))
    if not decided:
        return Pushed((group,), False, "the columns asked for do not include every group key")
    of_aggregates = len(about_keys) < len(conjuncts(predicate))
    empty = frozenset[int]() if op.keys else frozenset({0})  # without keys there is one group, even of no rows
    if aim is Aim.LINEAGE and op.listed is not None:
        return _pivoted(
            op, group, known, witness, Pushed((group,), assumes_row_exists=of_aggregates, optional_inputs=empty)
        )
    if aim is Aim.RESTRICT or witness == "group" or not op.witnessed:
        return Pushed((group,), assumes_row_exists=of_aggregates, optional_inputs=empty)
    values = {made[attr]: value for attr, value in known.items() if isinstance(made.get(attr), AggCall)}
    if not one_group or any(call not in values or call.where is not None or not call.args for call in op.calls):
        return Pushed((group,), False, "the columns asked for do not determine which rows attain the aggregates")
    attained = disjunction(*(Compare("<=>", call.args[0], values[call]) for call in op.calls))
    return Pushed((conjunction(group, attained),), assumes_row_exists=of_aggregates, optional_inputs=empty)


def _pivoted(op: Aggregate, group: Expr, known: Mapping[Attr, Expr], witness: str, whole: Pushed) -> Pushed:
    """Select the listed rows of the group, or all if none is listed. The output alone does not say which case it is."""
    flags = [known[column.attr] for column in op.outputs if column.expr == op.any_listed and column.attr in known]
    if not flags or (op.witnessed and witness == "rows"):
        why = "rows whose value the pivot does not list count only in groups without listed values"
        return replace(whole, precise=False, why=why)
    assert op.listed is not None
    return replace(whole, inputs=(conjunction(group, disjunction(op.listed, Not(flags[0]))),))


def push_distinct(op: Distinct, predicate: Expr, aim: Aim) -> Pushed:
    """Select all duplicates, whatever the values of their other columns are."""
    keys = frozenset(op.keys)
    facts = conjuncts(predicate)
    about_keys = [fact for fact in facts if fact.attrs <= keys]
    known = pins(predicate)
    decided = len(about_keys) == len(facts) or all(key in known for key in op.keys)
    why = "" if decided else "Spark takes the value of a column from any one of the duplicates"
    return Pushed((conjunction(*about_keys),), decided, why, assumes_row_exists=len(about_keys) < len(facts))


def push_grouped(op: GroupedMap | Cogroup, predicate: Expr, aim: Aim) -> Pushed:
    """Give up: the output of a Python function does not show which group it came from."""
    return give_up(op, "a Python function returns rows without their group keys")


def key_attrs(op: Aggregate) -> frozenset[Attr] | None:
    """The output columns that are the group keys; None if a key is missing."""
    found = {expr: attr for attr, expr in op.key_outputs.items()}
    return frozenset(found[key] for key in op.keys) if set(op.keys) <= found.keys() else None
