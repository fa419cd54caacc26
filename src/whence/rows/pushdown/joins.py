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
    """Each kind of join by its own rule."""
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
    """A pair satisfies condition and predicate.

    Both sides are exact if every fact is about one side: then every row of one side that satisfies its own facts pairs
    with every such row of the other.

    What the condition says goes first: in the pipeline, too, it is asked before what lies above the join.
    """
    facts = (*conjuncts(op.condition), *conjuncts(predicate))
    known = pins(predicate, op.condition)
    sides = frozenset(op.left.output), frozenset(op.right.output)
    left, right = (side(facts, known, columns)[0] for columns in sides)
    precise = all(any(_askable(fact, known, columns) for columns in sides) for fact in facts)
    return Pushed((left, right), precise, "" if precise else MIXED, assumes_row_exists=True)


def _askable(fact: Expr, known: Mapping[Attr, Expr], columns: frozenset[Attr]) -> bool:
    """Whether one side alone can be asked, because what the fact reads of the other is the same in all its rows."""
    return fact.deterministic and all(attr in known and may_replace(attr, fact) for attr in fact.attrs - columns)


def _outer_join(op: Join, predicate: Expr, aim: Aim) -> Pushed:
    """Left rows stay without a match, so the condition says nothing of them; a right row is there by a match.

    Right rows are cut down by the condition alone: taking a match away because of what is asked would turn its left
    row into one without a match, which may be just what is asked for.
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
        if op.condition is None:  # what is asked is all that is known: a value of the one row, perhaps
            values = (substituted(fact, known) for fact in mixed if _askable(fact, known, rights))
            right = conjunction(right, *(fact for fact in values if is_pin(fact)))
        # With one match at most, the same for all selected left rows, a fact about both holds for all of them or none.
        one = op.how == "single" or unique(op.right, frozenset(matched) & rights)
        whole = whole and all(one and _askable(fact, known, rights) for fact in mixed)
    decided = whole and _same_matches(op, known, lefts)
    missing = frozenset[int]() if _always(op) else frozenset({1})
    return Pushed((left, right), decided, "" if decided else MIXED, True, missing)


def _always(op: Join) -> bool:
    """Whether the right side has a row whatever its input holds: a subquery that sums everything up."""
    right = op.right
    while isinstance(right, Project):
        right = right.child
    return op.condition is None and isinstance(right, Aggregate) and not right.keys


def _matching(op: Join, predicate: Expr, aim: Aim) -> Pushed:
    """Semi, anti and existence joins: the outer row, and the inner rows that match it."""
    lefts, rights = frozenset(op.left.output), frozenset(op.right.output)
    asked = tuple(fact for fact in conjuncts(predicate) if fact.attrs <= lefts)
    known = pins(*asked)
    implied = conjuncts(op.condition) if op.how == "semi" else ()
    left, _ = side((*(fact for fact in implied if fact.attrs <= lefts), *asked), known, lefts)
    known_right = {**known, **{a: v for a, v in pins(*asked, op.condition).items() if a in rights}}
    right, whole = side(conjuncts(op.condition), known_right, rights, stated=False)
    # The predicate on the flag is the same for all selected rows, or it distinguishes them.
    flagged = frozenset(attr for fact in conjuncts(predicate) if fact not in asked for attr in fact.attrs & lefts)
    decided = whole and _same_matches(op, known, lefts) and flagged <= known.keys()
    if op.how == "anti" and aim is Aim.LINEAGE:
        right = FALSE
    missing = frozenset({1}) if op.how == "existence" else frozenset[int]()
    return Pushed((left, right), decided, "" if decided else MIXED, True, missing)


def _same_matches(op: Join, known: Mapping[Attr, Expr], lefts: frozenset[Attr]) -> bool:
    """Whether all selected left rows have the same matches: what the condition reads of them is pinned."""
    read = op.condition.attrs & lefts if op.condition is not None else frozenset[Attr]()
    return all(attr in known for attr in read)
