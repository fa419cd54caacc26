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

LARGEST = 1000  # parts of an expression that may be written into a filter
ALL_ROWS = (o.Project, o.Sort, o.Arrange, o.Union, o.Expand, o.Window, o.Aggregate)  # what leaves no input row out


def with_barrier(rows: o.Operator) -> o.Operator:
    """The same rows; no filter above moves below this.

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
    # A condition that always holds: a column that nothing reads would be left out.
    return o.Project(o.Filter(with_number, Compare(">=", here, Literal(0, "long"))), o.keep(*rows.output))


def settled(rows: o.Operator, condition: Expr) -> o.Operator:
    """The rows, ready for a filter by the condition: it stays above where moving it down would do harm."""
    found = _survey(rows)
    return with_barrier(rows) if condition.attrs & found.exposed or _harmful(condition, found) else rows


def filtered(rows: o.Operator, condition: Expr) -> o.Operator:
    """The rows for which the condition holds."""
    return in_steps(settled(rows, condition), condition, o.Filter)


def in_steps(rows: o.Operator, condition: Expr, select: Callable[[o.Operator, Expr], o.Operator]) -> o.Operator:
    """`select` with the condition, or one step after another: what may fail is computed for what the rest lets through.

    The conjuncts of a condition stand in the order in which the pipeline asks them.
    """
    for index, step in enumerate(steps(condition)):
        rows = select(with_barrier(rows) if index else rows, step)
    return rows


def steps(condition: Expr, *, of_pairs: bool = False) -> list[Expr]:
    """The condition in parts, to be asked one after the other.

    A filter asks its conjuncts in their order. A join (`of_pairs`) asks those about one side before it looks for pairs.
    """
    choices = condition.args if isinstance(condition, Or) else (condition,)
    parts = [_steps_of(choice, of_pairs) for choice in choices]
    count = max(map(len, parts))
    if len(parts) == 1:
        return parts[0]
    # Each row satisfies one of the choices, so each step asks for all that was asked before in the same choice.
    sums = [list(accumulate(part, conjunction)) for part in parts]
    return [disjunction(*(each[min(step, len(each) - 1)] for each in sums)) for step in range(count)]


def _steps_of(condition: Expr, of_pairs: bool) -> list[Expr]:
    """The parts of a conjunction: what never fails first, then each call of a user's function by itself."""
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
    """Whether writing out the expression behind some column would make it very large."""
    return any(size > LARGEST for size in _survey(plan).sizes.values())


def too_large(expr: Expr, values: Mapping[Attr, Expr]) -> bool:
    """Whether the expression with columns replaced is very large because some of them stand in it more than once."""
    if all(isinstance(values.get(attr, attr), Attr) for attr in expr.attrs):
        return False
    count = Counter(part for part in walk(expr) if isinstance(part, Attr))
    repeated = sum(1 for _ in walk(expr))
    for attr, times in count.items():
        if attr in values and not isinstance(values[attr], Attr):
            repeated += times * sum(1 for _ in walk(values[attr]))
    return repeated > LARGEST and any(
        times > 1 and not isinstance(values.get(attr, attr), Attr) for attr, times in count.items()
    )


@dataclass
class _Survey:
    """What is known of a plan: exposed columns, and how large the expressions behind its columns are."""

    exposed: set[Attr] = field(default_factory=set)
    sizes: dict[Attr, int] = field(default_factory=dict)
    guarded: bool = False  # something leaves rows out
    moving: bool = False  # and a filter from above would be asked before it does


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
        # A filter is asked after the filters below it, unless one of them calls a user's function: that is done last.
        found.moving |= not isinstance(plan, o.Filter) or calls_user_code(plan.condition)
    return found


def _made(plan: o.Operator) -> list[tuple[Attr, Expr]]:
    """The columns that a filter can be moved down by, and what they are made of."""
    if isinstance(plan, o.Project):
        return [(column.attr, column.expr) for column in plan.columns if column.attr != column.expr]
    if isinstance(plan, o.Aggregate):
        return [(attr, expr) for attr, expr in plan.key_outputs.items() if attr != expr]
    if isinstance(plan, o.Expand):
        return [(attr, expr) for row in plan.projections for attr, expr in zip(plan.columns, row, strict=True)]
    return []


def _harmful(expr: Expr, below: _Survey) -> bool:
    """Whether it may fail for rows that something below leaves out."""
    return below.guarded and may_fail(expr) and (below.moving or calls_user_code(expr))
