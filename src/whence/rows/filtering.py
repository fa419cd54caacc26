"""Filters that whence adds to a plan, so that Spark computes nothing for rows that the pipeline removed.

Spark moves a filter down as far as it can, and substitutes the expressions of columns. This causes two problems. An
expression that may fail may see rows that a join or a Python function removed. And an expression that was built up
step by step (`x = CASE WHEN x > 1 THEN x + 1 ELSE x`, many times) doubles with every step. Spark moves no filter
below a nondeterministic column, so whence adds such a column as a barrier:

    before: Filter int(s) = 5         after: Filter int(s) = 5
              Filter is_number(s)              Project s, (nondeterministic) as barrier
                Source t                         Filter is_number(s)
                                                   Source t
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from whence.rows import operators as o
from whence.rows.expressions import (
    TRUE,
    Attr,
    Call,
    Compare,
    Expr,
    Literal,
    Or,
    conjunction,
    conjuncts,
    disjunction,
    fresh,
)
from whence.rows.fallible import calls_user_code, may_fail
from whence.rows.tree import walk

LARGEST = 1000  # the most nodes of an expression that is written into a filter
ALL_ROWS = (o.Project, o.Sort, o.Arrange, o.Union, o.Expand, o.Window, o.Aggregate)  # these remove no input row


def with_barrier(rows: o.Operator) -> o.Operator:
    """Return the same rows; Spark moves no filter from above below this.

    >>> a = Attr(1, "a", "long")
    >>> print(with_barrier(o.Source("t", 0, (a,))))
    Project a#1
      Filter _here#-... >= 0
        Project a#1, monotonically_increasing_id() as _here#-...
          Source t (memory): a#1
    """
    here = fresh("_here", "long", nullable=False)
    number = Call("monotonically_increasing_id", (), "long", pure=False)
    columns = tuple(dict.fromkeys(rows.output))
    with_number = o.Project(rows, (*o.keep(*columns), o.Named(here, number)))
    # This condition is always true. Without it, Spark would drop the unused column.
    return o.Project(o.Filter(with_number, Compare(">=", here, Literal(0, "long"))), o.keep(*rows.output))


def settled(rows: o.Operator, condition: Expr) -> o.Operator:
    """Add a barrier over the rows if Spark must not move a filter with this condition further down."""
    found = _survey(rows)
    return with_barrier(rows) if condition.attrs & found.exposed or _harmful(condition, found) else rows


def filtered(rows: o.Operator, condition: Expr) -> o.Operator:
    """The rows for which the condition holds."""
    return in_steps(settled(rows, condition), condition, o.Filter)


def in_steps(rows: o.Operator, condition: Expr, select: Callable[[o.Operator, Expr], o.Operator]) -> o.Operator:
    """Apply `select` to the rows, for each step of the condition. Parts that may fail see only rows that pass the rest.

    The conjuncts of a condition are in the order in which the pipeline evaluates them.
    """
    for index, step in enumerate(steps(condition)):
        rows = select(with_barrier(rows) if index else rows, step)
    return rows


def steps(condition: Expr, *, of_pairs: bool = False) -> list[Expr]:
    """Split the condition into parts that are evaluated one after another.

    A filter evaluates its conjuncts in order. A join (`of_pairs`) evaluates those about one side before it looks for
    pairs.
    """
    choices = condition.args if isinstance(condition, Or) else (condition,)
    parts = [_steps_of(choice, of_pairs) for choice in choices]
    count = max(map(len, parts))
    if len(parts) == 1:
        return parts[0]
    # A row satisfies one of the choices, so each step repeats the earlier steps of the same choice.
    sums = [list(accumulate(part, conjunction)) for part in parts]
    return [disjunction(*(each[min(step, len(each) - 1)] for each in sums)) for step in range(count)]


def _steps_of(condition: Expr, of_pairs: bool) -> list[Expr]:
    """Split a conjunction: first the conjuncts that never fail, then each call of a user's function by itself."""
    facts = conjuncts(condition)
    sure = [fact for fact in facts if not may_fail(fact)]
    groups: list[list[Expr]] = [sure] if sure else []
    users = of_pairs
    for fact in facts:
        if not may_fail(fact):
            continue
        user = calls_user_code(fact)
        if not groups or user or users:
            groups.append([])
        groups[-1].append(fact)
        users = user
    return [conjunction(*group) for group in groups] or [TRUE]


def grows(plan: o.Operator) -> bool:
    """Whether the expression of some column becomes very large when other columns are replaced by their expressions."""
    return any(size > LARGEST for size in _survey(plan).sizes.values())


def too_large(expr: Expr, values: Mapping[Attr, Expr]) -> bool:
    """Whether the expression becomes very large when columns are replaced, because some occur in it more than once."""
    if all(isinstance(values.get(attr, attr), Attr) for attr in expr.attrs):
        return False
    count = Counter(part for part in walk(expr) if isinstance(part, Attr))
    changed = {attr: times for attr, times in count.items() if not isinstance(values.get(attr, attr), Attr)}
    repeated = expr.size + sum(times * values[attr].size for attr, times in changed.items())
    return repeated > LARGEST and any(times > 1 for times in changed.values())


@dataclass
class _Survey:
    """Facts about a plan: the columns that a filter must not be moved below, and the sizes of their expressions."""

    exposed: set[Attr] = field(default_factory=set)
    sizes: dict[Attr, int] = field(default_factory=dict)
    guarded: bool = False  # an operator removes rows
    moving: bool = False  # and a filter from above would be evaluated before it


def _survey(plan: o.Operator) -> _Survey:
    found = _Survey()
    below = [_survey(child) for child in plan.children]
    for each in below:
        found.exposed |= each.exposed
        found.sizes |= each.sizes
        found.guarded |= each.guarded
        found.moving |= each.moving
    if isinstance(plan, o.Union):
        for child in plan.inputs:
            pairs = zip(plan.columns, child.output, strict=True)
            found.exposed |= {new for new, old in pairs if old in found.exposed}
    own: set[Attr] = set()
    for attr, expr in _made(plan):
        size = sum(found.sizes.get(part, 1) if isinstance(part, Attr) else 1 for part in walk(expr))
        if size > 1:
            found.sizes[attr] = size
        if size > LARGEST or expr.attrs & found.exposed or _harmful(expr, found):
            own.add(attr)
    found.exposed |= own
    if not isinstance(plan, (*ALL_ROWS, o.Source, o.Values)):
        found.guarded = True
        # A filter is evaluated after the filters below it, except those that call a user's function: Spark runs them
        # last.
        found.moving |= not isinstance(plan, o.Filter) or calls_user_code(plan.condition)
    return found


def _made(plan: o.Operator) -> list[tuple[Attr, Expr]]:
    """The columns that Spark replaces by expressions when it moves a filter down, with these expressions."""
    if isinstance(plan, o.Project):
        return [(column.attr, column.expr) for column in plan.columns if column.attr != column.expr]
    if isinstance(plan, o.Aggregate):
        return [(attr, expr) for attr, expr in plan.key_outputs.items() if attr != expr]
    if isinstance(plan, o.Expand):
        return [(attr, expr) for row in plan.projections for attr, expr in zip(plan.columns, row, strict=True)]
    return []


def _harmful(expr: Expr, below: _Survey) -> bool:
    """Whether it may fail for rows that an operator below removes."""
    return below.guarded and may_fail(expr) and (below.moving or calls_user_code(expr))
