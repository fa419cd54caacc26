"""Joins: predicates on pairs of rows, as predicates on each side.

    before: a <=> :a and d <=> :d  on  Join(t, u, inner, a = c)
    after:  a <=> :a  on  t;  d <=> :d and c <=> :a  on  u

If the output row has no column of the condition (neither `a` nor `c`), the predicates are not precise: they select
rows of `t` and `u` that do not belong together.
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.rows.expressions import FALSE, TRUE, Attr, Expr, conjunction, conjuncts
from whence.rows.operators import Aggregate, Join, Project
from whence.rows.pushdown.base import Aim, Pushed
from whence.rows.pushdown.full import push_full
from whence.rows.pushdown.pins import is_pin, may_replace, pins, side, substituted
from whence.rows.pushdown.unique import unique

MIXED = "the columns asked for do not determine the join condition"


def push_join(op: Join, predicate: Expr, aim: Aim) -> Pushed:
    """Push a predicate through a join, by the rule for its type."""
    if op.condition is not None and not op.condition.deterministic:
        return Pushed((TRUE, TRUE), False, "the join condition is not deterministic")
    if op.how in ("inner", "cross"):
        return _inner_join(op, predicate)
    if op.how == "right":
        mirrored = Join(op.right, op.left, "left", op.condition)
        right, left = (pushed := _outer_join(mirrored, predicate, aim)).inputs
        return Pushed((left, right), pushed.precise, pushed.why, pushed.assumes_row_exists, frozenset({0}))
    if op.how == "full":
        return push_full(op, predicate, aim)
    if op.how in ("left", "single"):
        return _outer_join(op, predicate, aim)
    return _matching(op, predicate, aim)


def _inner_join(op: Join, predicate: Expr) -> Pushed:
    """Push the condition and the predicate to both sides.

    Both sides are exact if each fact is about one side only: then every row of one side that satisfies its facts pairs
    with every such row of the other.

    The condition comes first, because the pipeline also evaluates it before anything above the join.
    """
    facts = (*conjuncts(op.condition), *conjuncts(predicate))
    known = pins(predicate, op.condition)
    sides = frozenset(op.left.output), frozenset(op.right.output)
    left, right = (side(facts, known, columns)[0] for columns in sides)
    precise = all(any(_askable(fact, known, columns) for columns in sides) for fact in facts)
    return Pushed((left, right), precise, "" if precise else MIXED, assumes_row_exists=True)


def _askable(fact: Expr, known: Mapping[Attr, Expr], columns: frozenset[Attr]) -> bool:
    """Whether one side alone can evaluate the fact, because all columns of the other side in it have known values."""
    return fact.deterministic and all(attr in known and may_replace(attr, fact) for attr in fact.attrs - columns)


def _outer_join(op: Join, predicate: Expr, aim: Aim) -> Pushed:
    """Left rows remain without a match, so the condition selects only right rows.

    Only the condition restricts right rows. A predicate on the output must not: without its match, a left row would
    become one without a match, which the question may select.
    """
    lefts, rights = frozenset(op.left.output), frozenset(op.right.output)
    asked = conjuncts(predicate)
    about_left = [fact for fact in asked if fact.attrs <= lefts]
    known = pins(*about_left)
    left, _ = side(asked, known, lefts)
    matched = {**known, **{a: v for a, v in pins(*about_left, op.condition).items() if a in rights}}
    right, whole = side(conjuncts(op.condition), matched, rights, stated=False)
    if aim is Aim.LINEAGE:
        right = conjunction(right, *(fact for fact in asked if fact.attrs and fact.attrs <= rights))
        mixed = [fact for fact in asked if fact.attrs & lefts and fact.attrs & rights]
        if op.condition is None:  # the question is all that is known, perhaps a value of the one row
            values = (substituted(fact, known) for fact in mixed if _askable(fact, known, rights))
            right = conjunction(right, *(fact for fact in values if is_pin(fact)))
        # If the selected left rows share at most one match, a fact about both sides holds for all of them or for none.
        one = op.how == "single" or unique(op.right, frozenset(matched) & rights)
        whole = whole and all(one and _askable(fact, known, rights) for fact in mixed)
    decided = whole and _same_matches(op, known, lefts)
    missing = frozenset[int]() if _always(op) else frozenset({1})
    return Pushed((left, right), decided, "" if decided else MIXED, True, missing)


def _always(op: Join) -> bool:
    """Whether the right side always has a row: a subquery that is a global aggregate."""
    right = op.right
    while isinstance(right, Project):
        right = right.child
    return op.condition is None and isinstance(right, Aggregate) and not right.keys


def _matching(op: Join, predicate: Expr, aim: Aim) -> Pushed:
    """Semi, anti and existence joins: the left row, and the right rows that match it."""
    lefts, rights = frozenset(op.left.output), frozenset(op.right.output)
    asked = tuple(fact for fact in conjuncts(predicate) if fact.attrs <= lefts)
    known = pins(*asked)
    implied = conjuncts(op.condition) if op.how == "semi" else ()
    left, _ = side((*(fact for fact in implied if fact.attrs <= lefts), *asked), known, lefts)
    known_right = {**known, **{a: v for a, v in pins(*asked, op.condition).items() if a in rights}}
    right, whole = side(conjuncts(op.condition), known_right, rights, stated=False)
    # The predicate on the flag must be the same for all selected rows, or it would distinguish them.
    flagged = frozenset(attr for fact in conjuncts(predicate) if fact not in asked for attr in fact.attrs & lefts)
    decided = whole and _same_matches(op, known, lefts) and flagged <= known.keys()
    if op.how == "anti" and aim is Aim.LINEAGE:
        right = FALSE
    missing = frozenset({1}) if op.how == "existence" else frozenset[int]()
    return Pushed((left, right), decided, "" if decided else MIXED, True, missing)


def _same_matches(op: Join, known: Mapping[Attr, Expr], lefts: frozenset[Attr]) -> bool:
    """Whether all selected left rows have the same matches: the condition reads only pinned columns of them."""
    read = op.condition.attrs & lefts if op.condition is not None else frozenset[Attr]()
    return all(attr in known for attr in read)
