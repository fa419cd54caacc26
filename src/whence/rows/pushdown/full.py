"""The full outer join: an output row is a match, or a row of one side alone.

before: a <=> :a and c <=> :c  on  Join(t, u, full, a = c)
after:  (:a = :c or NULL <=> :c) and a <=> :a  on  t;  (:a = :c or NULL <=> :a) and c <=> :c  on  u

The conditions on the parameters say which case it is: a match, or a row of one side alone.
"""

from __future__ import annotations

from whence.rows.expressions import TRUE, Attr, Compare, Expr, Literal, conjunction, conjuncts, disjunction
from whence.rows.operators import Join
from whence.rows.pushdown.base import Aim, Pushed
from whence.rows.pushdown.pins import may_replace, pins, substituted

WHY = "a row of a full outer join may be a match or either side alone"


def push_full(op: Join, predicate: Expr, aim: Aim) -> Pushed:
    """Push a predicate through a full outer join. It is precise if all columns of the join condition are pinned.

    Then the values say which of three cases the row is. A match satisfies an `=`, so it has no null in it. Otherwise it
    is a row of the left alone, if the predicate on the right accepts nulls there, or likewise of the right; both are
    selected, if all values are null.
    """
    sides = frozenset(op.left.output), frozenset(op.right.output)
    asked = [fact for fact in conjuncts(predicate) if fact.deterministic]
    own = tuple([fact for fact in asked if fact.attrs and fact.attrs <= side] for side in sides)
    known = tuple({a: v for a, v in pins(*facts).items() if a in side} for facts, side in zip(own, sides, strict=True))
    condition = TRUE if op.condition is None else op.condition
    read = tuple(condition.attrs & side for side in sides)
    pinned = tuple(read[i] <= known[i].keys() and all(may_replace(a, condition) for a in read[i]) for i in (0, 1))
    if aim is Aim.RESTRICT:
        # Keep the rows of a side that its own predicate selects, and those that match selected rows of the other side.
        cut = (
            disjunction(conjunction(*own[i]), substituted(condition, known[1 - i])) if pinned[1 - i] else TRUE
            for i in (0, 1)
        )
        return Pushed(tuple(cut), False, WHY)
    decided = all(pinned) and _needs_equality(condition, sides) and all(any(f.attrs <= s for s in sides) for f in asked)
    if not decided:
        return Pushed((conjunction(*own[0]), conjunction(*own[1])), False, WHY)
    match = substituted(condition, {**known[0], **known[1]})
    alone = tuple(conjunction(*(substituted(fact, _nulls(fact)) for fact in own[1 - i])) for i in (0, 1))
    inputs = tuple(conjunction(disjunction(match, alone[i]), *own[i]) for i in (0, 1))
    return Pushed(inputs, assumes_row_exists=True, optional_inputs=frozenset({0, 1}))


def _needs_equality(condition: Expr, sides: tuple[frozenset[Attr], frozenset[Attr]]) -> bool:
    """Whether a match needs an `=` between the two sides, so that nulls match nothing."""
    return any(
        isinstance(fact, Compare)
        and fact.op == "="
        and any(a in sides[0] and b in sides[1] for a, b in ((fact.left, fact.right), (fact.right, fact.left)))
        for fact in conjuncts(condition)
    )


def _nulls(fact: Expr) -> dict[Attr, Expr]:
    return {attr: Literal(None, attr.dtype) for attr in fact.attrs}
