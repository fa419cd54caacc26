"""Paths to operators in a plan. An operator alone does not identify its position, because it may occur twice."""

from __future__ import annotations

from typing import TypeAlias

from whence.rows.expressions import Attr, attrs_of
from whence.rows.operators import Aggregate, Arrange, Filter, Join, Operator, Project, Sort
from whence.rows.tree import Tree

PlanPath: TypeAlias = tuple[int, ...]
"""The index of a child at each level, from the root. The root is the empty tuple."""


def operator_at(plan: Operator, place: PlanPath) -> Operator:
    """Return the operator at a path."""
    for index in place:
        plan = plan.children[index]
    return plan


def replaced_at(plan: Operator, place: PlanPath, new: Operator) -> Operator:
    """Return the plan with another operator at the path.

    >>> from whence.rows import Arrange, Attr, Source
    >>> a, b = Source("a", 0, (Attr(1, "x", "long"),)), Source("b", 1, (Attr(1, "x", "long"),))
    >>> operator_at(replaced_at(Arrange(a, "hint"), (0,), b), (0,)).name
    'b'
    """
    if not place:
        return new
    wanted, rest = place[0], place[1:]
    seen = -1

    def change(part: Tree) -> Tree:
        nonlocal seen
        if not isinstance(part, Operator):
            return part
        seen += 1
        return replaced_at(part, rest, new) if seen == wanted else part

    return plan.map_parts(change)


def read_above(plan: Operator, place: PlanPath) -> tuple[Attr, ...]:
    """Return the columns of an operator that the operators above it read; all of its columns, if unknown.

    >>> from whence.rows import Attr, Project, Source, keep
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> [attr.name for attr in read_above(Project(Source("t", 0, (a, b)), keep(b)), (0,))]
    ['b']
    """
    columns, read = operator_at(plan, place).output, set[Attr]()
    for depth in range(len(place) - 1, -1, -1):
        above = operator_at(plan, place[:depth])
        if not isinstance(above, Project | Aggregate | Filter | Join | Sort | Arrange):
            break
        read |= attrs_of(*above.expressions)
        if isinstance(above, Project | Aggregate):  # columns that it does not read go no further up
            return tuple(attr for attr in dict.fromkeys(columns) if attr in read)
    return tuple(dict.fromkeys(columns))
