"""Filter, project, sort, repartition, expand, union: each output row is made from one input row.

before: city <=> :city  on  Filter(n > 5, sales)
after:  n > 5 and city <=> :city  on  sales

before: total <=> :total  on  Project(n * price as total, sales)
after:  n * price <=> :total  on  sales

before: city <=> :city  on  Union(north, south)
after:  city <=> :city  on  north;  city <=> :city  on  south
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.rows.expressions import Attr, Expr, conjunction, conjuncts, disjunction
from whence.rows.filtering import LARGEST, too_large
from whence.rows.operators import Arrange, Expand, Filter, Project, Sort, Union
from whence.rows.pushdown.base import Aim, Pushed, give_up
from whence.rows.pushdown.fold import folded
from whence.rows.pushdown.pins import substituted
from whence.rows.tree import Tree, transform


def push_filter(op: Filter, predicate: Expr, aim: Aim) -> Pushed:
    """Select the rows that satisfy both. A nondeterministic condition gives up."""
    if not op.condition.deterministic:
        return give_up(op, f"the condition {op.condition} is not deterministic")
    # The condition comes first: expressions above were computed only for rows that satisfy it, and may fail for others.
    return Pushed((conjunction(op.condition, predicate),))


def push_same(op: Sort | Arrange, predicate: Expr, aim: Aim) -> Pushed:
    """Select the same rows."""
    return Pushed((predicate,))


def push_project(op: Project, predicate: Expr, aim: Aim) -> Pushed:
    """Replace the columns by their expressions."""
    made = {column.attr: column.expr for column in op.columns}
    if aim is Aim.RESTRICT and not all(expr.deterministic for expr in made.values()):
        return give_up(op, "a value depends on the row's position, which would change with the rows before it")
    kept: list[Expr] = []
    lost: list[Attr] = []
    large: list[Expr] = []
    replaced = _Replacing(made)
    passed = frozenset(attr for attr, expr in made.items() if attr == expr)
    for fact in conjuncts(predicate):
        if fact.attrs <= passed and fact.deterministic:
            kept.append(folded(fact))
            continue
        below = replaced(fact)
        if below.size > LARGEST and too_large(fact, made):
            large.append(fact)
            continue
        changing = [attr for attr in fact.attrs if not made[attr].deterministic]
        lost += changing
        if not changing and fact.deterministic:
            kept.append(folded(below))
    if lost:
        names = ", ".join(sorted({attr.name for attr in lost}))
        return Pushed((conjunction(*kept),), False, f"{names} is not deterministic")
    if large:
        names = ", ".join(sorted({attr.name for fact in large for attr in fact.attrs}))
        why = f"the expression of {names} grew over many steps and is too large to push down to the sources"
        return Pushed((conjunction(*kept),), False, why, large=True)
    return Pushed((conjunction(*kept),))


class _Replacing:
    """Replaces columns by their expressions. Parts that expressions have in common are replaced once, and stay common.

    If each column of many steps is computed from the one before it, the fact about a column is a part of the next.
    """

    def __init__(self, made: Mapping[Attr, Expr]) -> None:
        self._made = made
        self._changing = frozenset(attr for attr, expr in made.items() if attr != expr)
        self._known: dict[int, tuple[Expr, Expr]] = {}  # by the id of a part: the part and its replacement

    def __call__(self, expr: Expr) -> Expr:
        open_ = [expr]  # an explicit stack, because expressions may nest deeper than Python's recursion limit
        while open_:
            each = open_[-1]
            if self._find(each) is not None:
                open_.pop()
                continue
            left = [part for part in each.parts() if isinstance(part, Expr) and self._find(part) is None]
            if left:
                open_ += left
                continue
            made = each.map_parts(self._changed)
            made.settle()
            self._known[id(each)] = (each, made)
            open_.pop()
        return self._find(expr) or expr

    def _find(self, expr: Expr) -> Expr | None:
        if isinstance(expr, Attr):
            return self._made.get(expr, expr)
        if self._changing.isdisjoint(expr.attrs):
            return expr
        known = self._known.get(id(expr))
        return None if known is None else known[1]

    def _changed(self, part: Tree) -> Tree:
        if isinstance(part, Expr):
            found = self._find(part)
            assert found is not None
            return found
        plan: Tree = transform(part, lambda each: self._made.get(each, each) if isinstance(each, Attr) else each)
        return plan


def push_expand(op: Expand, predicate: Expr, aim: Aim) -> Pushed:
    """Select the row if any of its projections is selected."""
    choices = []
    for projection in op.projections:
        made = dict(zip(op.columns, projection, strict=True))
        if not all(expr.deterministic for expr in projection):
            return give_up(op, "a projection is not deterministic")
        choices.append(folded(substituted(predicate, made)))
    return Pushed((disjunction(*choices),))


def push_union(op: Union, predicate: Expr, aim: Aim) -> Pushed:
    """Apply the predicate to every branch, with columns matched by position."""
    places = frozenset(range(len(op.inputs))) if len(op.inputs) > 1 else frozenset[int]()
    inputs = (substituted(predicate, dict(zip(op.columns, child.output, strict=True))) for child in op.inputs)
    return Pushed(tuple(inputs), optional_inputs=places)
