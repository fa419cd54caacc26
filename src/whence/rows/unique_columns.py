"""Give every column a unique id, as Spark's analyzer requires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from whence.rows.expressions import Attr, like
from whence.rows.operators import (
    Aggregate,
    Arrange,
    Cogroup,
    Expand,
    Generate,
    GroupedMap,
    Named,
    Opaque,
    Operator,
    Project,
    Sample,
    Source,
    Union,
    Window,
)
from whence.rows.tree import Tree, transform

# Spark runs these from Catalyst's own node, in which the ids of columns are fixed.
WRITTEN = (Arrange, Cogroup, GroupedMap, Opaque, Sample)
Moved = dict[Attr, Attr]


def unique_column_ids(plan: Operator) -> Operator:
    """Return the plan with new ids for columns whose id another operator below already defines.

    Lineage is computed by operators that replace others and give their columns the same ids. If such an id also exists
    below, Spark renames one of the two, but not in expressions that it has not resolved yet.

    >>> from whence.rows import Attr, Call, Project, Source
    >>> a = Attr(1, "a", "long")
    >>> print(unique_column_ids(Project(Source("t", 0, (a,)), (Named(a, Call("abs", (a,), "long")),))))
    Project abs(a#1) as a#-...
      Source t (memory): a#1
    """
    return _renumbered(plan, set())[0]


def _renumbered(plan: Operator, made: set[int]) -> tuple[Operator, Moved]:
    if isinstance(plan, Source) and any(attr.id < 0 and attr.id in made for attr in plan.output):
        # A stored plan reads this table twice. Spark would rename its columns in one of the two, as above.
        moved = {attr: like(attr) for attr in plan.output}
        return Project(plan, tuple(Named(new, old) for old, new in moved.items())), moved
    children = [_renumbered(child, made) for child in plan.children]
    if any(moved for _, moved in children) and isinstance(plan, WRITTEN):
        children = [(_with_old_columns(child, moved), {}) for child, moved in children]
    changed = _over(plan, children)
    changed = _with_renamed_columns(changed, lambda attr: _unmade(attr, made))
    made.update(attr.id for attr in changed.output)
    return changed, {old: new for old, new in zip(plan.output, changed.output, strict=True) if old != new}


def _over(plan: Operator, children: list[tuple[Operator, Moved]]) -> Operator:
    """Return the operator over its changed inputs."""
    news = {id(old): new for old, (new, _) in zip(plan.children, children, strict=True)}
    moved: Moved = {}
    for _, each in children:
        moved |= each

    def change(part: Tree) -> Tree:
        if isinstance(part, Operator):
            return news.get(id(part), part)
        return (
            transform(part, lambda each: moved.get(each, each) if isinstance(each, Attr) else each) if moved else part
        )

    return plan.map_parts(change)


def _with_old_columns(child: Operator, moved: Mapping[Attr, Attr]) -> Operator:
    back = {new: old for old, new in moved.items()}
    return Project(child, tuple(Named(back.get(attr, attr), attr) for attr in child.output)) if moved else child


def _unmade(attr: Attr, made: set[int]) -> Attr:
    return like(attr) if attr.id in made else attr


def _with_renamed_columns(plan: Operator, name: Callable[[Attr], Attr]) -> Operator:
    """Return the operator with new attributes for the columns that it computes itself."""
    known: Moved = {}

    def named(columns: tuple[Named, ...]) -> tuple[Named, ...]:
        return tuple(each if each.expr == each.attr else Named(once(each.attr), each.expr) for each in columns)

    def once(attr: Attr) -> Attr:
        if attr not in known:
            known[attr] = name(attr)
        return known[attr]

    new: Any = plan
    if isinstance(plan, Project):
        new = replace(plan, columns=named(plan.columns))
    elif isinstance(plan, Aggregate):
        new = replace(plan, outputs=named(plan.outputs))
    elif isinstance(plan, Window):
        new = replace(plan, calls=named(plan.calls))
    elif isinstance(plan, Expand | Generate):
        new = replace(plan, columns=tuple(map(once, plan.columns)))
    elif isinstance(plan, Union):
        pairs = zip(plan.columns, plan.inputs[0].output, strict=True)
        new = replace(plan, columns=tuple(attr if attr == first else once(attr) for attr, first in pairs))
    assert isinstance(new, Operator)
    return new
